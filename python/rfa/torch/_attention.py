"""Attention of one method as a module of PyTorch."""

from __future__ import annotations

import difflib
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._errors import ArgumentTypeError, InputError, UsageError
from .._random import Stream
from ..projections import draw_projection
from ._features import METHODS, Call, guard_of, log_gates
from ._forms import State, causal, over_all
from ._lara import lara, proposal_count

#: Methods that are not feature maps, with their options.
_OTHERS: dict[str, dict[str, Any]] = {"softmax": {}, "lara": {"sampling": "single"}}


class Attention(nn.Module):
    """Attention by one method, with the random vectors that the program draws for the same seed.

    Args:
        method: "softmax", "lara", or a feature map: `rfa.torch.METHODS`.
        heads: of queries; keys and values may have fewer.
        head_dim: D.
        num_features: M, the number of random vectors.
        projection: how they are drawn: `rfa.projections.PROJECTIONS`.
        seed: of the draw.
        replicate: index of the independent repetition.
        orth_sign: signs of orthogonal factors: `rfa.projections.ORTH_SIGNS`.
        causal: query i sees keys 0..i.
        scale: the factor on q.k. Default: 1/sqrt(head_dim).
        rows: random vectors [heads, M, D] in place of drawn ones.
        query_map, key_map: [heads, D, D] and [kv_heads, D, D], learned maps: q becomes q @ map.
        **options: of the method, e.g. `tau`.

    Attributes:
        rows: [heads, M, D], a buffer; make it an `nn.Parameter` to learn it.

    Numbers are computed in float32, or in float64 for tensors of float64, on the device of the tensors.
    """

    rows: Tensor | None
    calibration_query: Tensor | None
    calibration_key: Tensor | None
    query_map: Tensor | None
    key_map: Tensor | None

    def __init__(
        self,
        method: str,
        *,
        heads: int,
        head_dim: int,
        num_features: int = 256,
        projection: str = "orth",
        seed: int = 0,
        replicate: int = 0,
        orth_sign: str = "haar",
        causal: bool = False,
        scale: float | None = None,
        rows: Tensor | None = None,
        query_map: Tensor | None = None,
        key_map: Tensor | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        known = {**{name: facts.options for name, facts in METHODS.items()}, **_OTHERS}
        if method not in known:
            raise UsageError(
                f"method: expected one of {', '.join(known)}, got {method!r}",
                [f"did you mean {match}?" for match in difflib.get_close_matches(method, known, 1)],
                "UNKNOWN_NAME",
            )
        for name in options:
            if name not in known[method]:
                expected = ", ".join(known[method]) or "no options"
                raise ArgumentTypeError(f"{method}: expected {expected}, got {name}", code="BAD_OPTION")
        facts = METHODS.get(method)
        if facts and facts.causal_only and not causal:
            raise UsageError(f"{method}: expected causal=True, got False", code="UNSUPPORTED")
        if method == "lara" and causal:
            raise UsageError("lara: expected causal=False, got True", code="UNSUPPORTED")
        self.method, self.heads, self.head_dim, self.num_features = method, heads, head_dim, num_features
        self.seed, self.replicate, self.causal = seed, replicate, causal
        self.scale = head_dim**-0.5 if scale is None else scale
        self.options = {**known[method], **options}
        guard_of(self.options, causal)
        if facts and facts.projected and rows is None:
            sizes = {"heads": heads, "num_features": num_features, "head_dim": head_dim}
            drawn = draw_projection(projection, **sizes, seed=seed, replicate=replicate, orth_sign=orth_sign)
            rows = torch.from_numpy(drawn).float()
        self.register_buffer("rows", rows)
        # tokens are no parameters: they move with the module, but no state_dict has them
        self.register_buffer("calibration_query", None, persistent=False)
        self.register_buffer("calibration_key", None, persistent=False)
        self.register_buffer("query_map", query_map)
        self.register_buffer("key_map", key_map)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_mask: Tensor | None = None,
        gate: Tensor | None = None,
    ) -> Tensor:
        """Attention of a whole sequence.

        Args:
            query: [B, H, L, D].
            key: [B, H_kv, S, D].
            value: [B, H_kv, S, Dv].
            key_mask: [B, S], true for keys that take part.
            gate: [B, H, S] for rfa-gate.

        Returns:
            [B, H, L, Dv], in the dtype of `value`; rows that see no key are zero.
        """
        return self.over(query, key, value, key_mask, self.causal, gate)

    def over(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_mask: Tensor | None,
        causal_form: bool,
        gate: Tensor | None = None,
    ) -> Tensor:
        """The same in a chosen form: one token at the end of a causal text sees all keys."""
        q, k, v = self._prepared(query, key, value)
        if causal_form and q.shape[2] != k.shape[2]:
            raise InputError(
                f"{self.method}: expected the same length of queries and keys where it is causal,"
                f" got {q.shape[2]} and {k.shape[2]}",
                code="SHAPE_MISMATCH",
            )
        mask = None if key_mask is None else key_mask.bool()
        if self.method == "softmax":
            return self._softmax(q, k, v, mask, causal_form).to(value.dtype)
        if self.method == "lara":
            return self._lara(q, k, v, mask).to(value.dtype)
        queries, keys = METHODS[self.method].features(q, k, self._call(q, key_mask=mask, gate=gate))
        guard = guard_of(self.options, self.causal)
        if causal_form:
            return causal(queries, keys, v, mask, guard=guard)[0].to(value.dtype)
        return over_all(queries, keys, v, mask, guard).to(value.dtype)

    def step(
        self, query: Tensor, key: Tensor, value: Tensor, state: State | None = None, gate: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Attention of one token to itself and those before it, with a state of constant size.

        Args:
            query: [B, H, 1, D].
            key: [B, H_kv, 1, D].
            value: [B, H_kv, 1, Dv].
            state: what the token before returned. Default: none came before.
            gate: [B, H, 1] for rfa-gate.

        Returns:
            [B, H, 1, Dv], and the state for the next token.
        """
        if self.method not in METHODS:
            raise UsageError(f"{self.method}: expected a feature map, which has a recurrent form", code="UNSUPPORTED")
        q, k, v = self._prepared(query, key, value)
        position = state.count if state else 0
        call = self._call(q, gate=gate, position=position, gate_sum=state.gate_sum if state else None)
        queries, keys = METHODS[self.method].features(q, k, call)
        out, after = causal(queries, keys, v, None, state, guard_of(self.options, causal=True))
        if self.method == "rfa-gate":
            keep, _ = log_gates(k, call)
            after.gate_sum = keep if call.gate_sum is None else call.gate_sum + keep
        return out.to(value.dtype), after

    def calibrate(self, query: Tensor, key: Tensor) -> Attention:
        """Takes the statistics of oprf and saderf from these tokens, in place of those of each call."""
        q, k, _ = self._prepared(query, key, key)
        self.calibration_query, self.calibration_key = q.detach(), k.detach()
        return self

    def extra_repr(self) -> str:
        return f"{self.method}, heads={self.heads}, head_dim={self.head_dim}, causal={self.causal}"

    def _prepared(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """In the dtype of the computation, with learned maps, keys and values repeated for their heads."""
        shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
        fits = query.dim() == key.dim() == value.dim() == 4 and (
            query.shape[1] == self.heads
            and query.shape[-1] == key.shape[-1] == self.head_dim
            and key.shape[:3] == value.shape[:3]
            and query.shape[0] == key.shape[0]
            and self.heads % key.shape[1] == 0
        )
        if not fits:
            raise InputError(
                f"{self.method}: expected query [B, {self.heads}, L, {self.head_dim}],"
                f" key [B, H_kv, S, {self.head_dim}] and value [B, H_kv, S, Dv], got {shapes}",
                code="SHAPE_MISMATCH",
            )
        dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
        q, k, v = query.to(dtype), key.to(dtype), value.to(dtype)
        if self.query_map is not None:
            q = q @ self.query_map.to(dtype)
        if self.key_map is not None:
            k = k @ self.key_map.to(dtype)
        groups = self.heads // k.shape[1]
        return q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)

    def _call(self, tokens: Tensor, **given: Any) -> Call:
        rows = tokens.new_zeros(0) if self.rows is None else self.rows.to(tokens)
        q, k = self.calibration_query, self.calibration_key
        calibration = None if q is None or k is None else (q, k)
        return Call(rows, self.scale, self.causal, self.options, calibration=calibration, **given)

    def _softmax(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal_form: bool) -> Tensor:
        seen = None if mask is None else mask[:, None, None]
        if seen is not None and causal_form:
            seen = seen & torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
        own = causal_form and seen is None
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=own, scale=self.scale)
        return out if seen is None else out.masked_fill(~seen.any(-1, keepdim=True), 0)

    def _lara(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        if mask is not None and not bool(mask.all()):
            raise UsageError("lara: expected no padding, got a key_mask that hides keys", code="UNSUPPORTED")
        noise = None
        if self.options["sampling"] == "single":
            noise = _noise(self.seed, self.replicate, q, proposal_count(self.num_features, q, k))
        return lara(q, k, v, noise, self.scale, self.num_features)


def _noise(seed: int, replicate: int, q: Tensor, count: int) -> Tensor:
    """Standard normals [B, H, C, D], each row from a separate stream, as the program draws them."""
    batch, heads, _, dim = q.shape
    rows = [
        torch.from_numpy(Stream(seed, "noise.noise", replicate, head, row).normals(dim))
        for head in range(batch * heads)
        for row in range(count)
    ]
    return torch.stack(rows).view(batch, heads, count, dim).float().to(q)
