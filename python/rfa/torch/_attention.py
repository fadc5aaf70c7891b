"""Attention of one method as a module of PyTorch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._errors import InputError, UsageError
from .._random import stream_rows
from ..projections import check_names as check_projection
from ..projections import draw_projection
from ._checks import check_kinds, check_method, check_names, check_numbers, check_shapes, check_tensors, checked_mask
from ._features import METHODS, Call, guard_of, log_gates, moments
from ._forms import State, causal, over_all, rows_of
from ._lara import lara, proposal_count

#: Methods that are not feature maps, with their options.
_OTHERS: dict[str, dict[str, Any]] = {"softmax": {}, "lara": {"sampling": "single"}}


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _in_own_precision(compute: Callable[_P, _T]) -> Callable[_P, _T]:
    """Without autocast, which would take products in half precision."""

    @wraps(compute)
    def computed(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        device = next((each.device.type for each in (*args, *kwargs.values()) if isinstance(each, Tensor)), "cpu")
        if not torch.amp.is_autocast_available(device):
            return compute(*args, **kwargs)
        with torch.autocast(device, enabled=False):
            return compute(*args, **kwargs)

    return computed


class Attention(nn.Module):
    """Attention by one method, with the random vectors that the program draws for the same seed.

    Args:
        method: "softmax", "lara", or a feature map: `rfa.torch.METHODS`.
        heads: of queries; keys and values may have fewer.
        head_dim: D.
        num_features: M, the number of random vectors; `rows` have their own.
        projection: how they are drawn: `rfa.projections.PROJECTIONS`.
        seed: of the draw.
        replicate: index of the independent repetition.
        orth_sign: signs of orthogonal factors: `rfa.projections.ORTH_SIGNS`.
        causal: query i sees keys 0..i.
        causal_align: what it sees of more keys than queries: "start", keys 0..i; "end", queries are the last tokens, as
            with a cache. Default: such calls are refused.
        scale: the factor on q.k. Default: 1/sqrt(head_dim).
        rows: random vectors [heads, M, D] in place of drawn ones.
        query_map, key_map: [heads, D, D] and [kv_heads, D, D], learned maps: q becomes q @ map.
        **options: of the method, e.g. `tau`.

    Attributes:
        rows: [heads, M, D], a buffer; make it an `nn.Parameter` to learn it.

    Numbers are computed in float32, or in float64 for tensors of float64, on the device of the tensors. `half()` and
    `bfloat16()` leave random vectors, maps and statistics as they are.
    """

    rows: Tensor | None
    calibration: Tensor | None
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
        causal_align: str | None = None,
        scale: float | None = None,
        rows: Tensor | None = None,
        query_map: Tensor | None = None,
        key_map: Tensor | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        known = {**{name: facts.options for name, facts in METHODS.items()}, **_OTHERS}
        check_method(method, known)
        check_names(method, options, known[method], inspect.signature(Attention).parameters)
        numbers = {"heads": heads, "head_dim": head_dim, "num_features": num_features, "seed": seed}
        numbers |= {"replicate": replicate, "causal": causal, "causal_align": causal_align, "scale": scale}
        check_numbers({**numbers, **options})
        facts = METHODS.get(method)
        if facts and facts.causal_only and not causal:
            raise UsageError(f"{method}: expected causal=True, got False", code="UNSUPPORTED")
        if method == "lara" and causal:
            raise UsageError("lara: expected causal=False, got True", code="UNSUPPORTED")
        self.method, self.heads, self.head_dim, self.num_features = method, heads, head_dim, num_features
        self.seed, self.replicate, self.causal, self.causal_align = seed, replicate, causal, causal_align
        self.scale = head_dim**-0.5 if scale is None else scale
        self.options = {**known[method], **options}
        for form in (False, True):
            guard_of(self.options, form)
        check_projection(projection, orth_sign)
        if facts and facts.projected and rows is None:
            sizes = {"heads": heads, "num_features": num_features, "head_dim": head_dim}
            drawn = draw_projection(projection, **sizes, seed=seed, replicate=replicate, orth_sign=orth_sign)
            rows = torch.from_numpy(drawn).float()
        given = {"rows": rows, "query_map": query_map, "key_map": key_map}
        check_tensors({name: value for name, value in given.items() if value is not None})
        check_shapes(given, heads, head_dim)
        if rows is not None:
            self.num_features = rows.shape[1]
        self.projection = projection
        self._drawn = torch.empty(0, 0, head_dim)  # what lara has drawn: streams, rows
        #: Heads of keys, where several heads of queries share them; a model says it with its first call.
        self.key_heads = heads if key_map is None else len(key_map)
        self.register_buffer("rows", rows)
        # statistics are no parameters: they move with the module, but no state_dict has them
        self.register_buffer("calibration", None, persistent=False)
        self.register_buffer("query_map", query_map)
        self.register_buffer("key_map", key_map)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_mask: Tensor | None = None,
        gate: Tensor | None = None,
        query_mask: Tensor | None = None,
    ) -> Tensor:
        """Attention of a whole sequence.

        Args:
            query: [B, H, L, D].
            key: [B, H_kv, S, D].
            value: [B, H_kv, S, Dv].
            key_mask: [B, S], true for keys that take part.
            gate: [B, H, S] for rfa-gate.
            query_mask: [B, L], true for queries that say something to statistics. Default: `key_mask` where L = S.

        Returns:
            [B, H, L, Dv], in the dtype of `value`; rows that see no key are zero.
        """
        check_kinds({"query": query, "key": key, "value": value})
        if query_mask is None and key_mask is not None and query.shape[2:3] == key.shape[2:3]:
            query_mask = key_mask
        return self.over(query, key, value, key_mask, query_mask, self._offset(query, key), gate)

    def _offset(self, query: Tensor, key: Tensor) -> int | None:
        """Keys before the first query; None: it sees all."""
        if not self.causal or query.dim() != 4 or key.dim() != 4:
            return None
        length, keys = query.shape[2], key.shape[2]
        if length > keys or (length < keys and self.causal_align is None):
            tries = [
                'causal_align="start": query i sees keys 0..i',
                'causal_align="end": the queries are the last tokens',
            ]
            raise InputError(
                f"{self.method}: expected the same length of queries and keys where it is causal,"
                f" got {length} and {keys}",
                tries if length < keys else (),
                "SHAPE_MISMATCH",
            )
        return keys - length if self.causal_align == "end" else 0

    @_in_own_precision
    def over(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_mask: Tensor | None,
        query_mask: Tensor | None,
        offset: int | None,
        gate: Tensor | None = None,
    ) -> Tensor:
        """The same where query i sees keys 0 .. offset + i, or all keys."""
        q, k, v = self._prepared(query, key, value)
        batch, length, keys = q.shape[0], q.shape[2], k.shape[2]
        mask = checked_mask("key_mask", key_mask, (batch, keys), k.device)
        counted = checked_mask("query_mask", query_mask, (batch, length), q.device)
        self._check_gate(gate, k)
        if self.method == "softmax":
            return self._softmax(q, k, v, mask, offset).to(value.dtype)
        if self.method == "lara":
            return self._lara(q, k, v, mask, counted).to(value.dtype)
        call = self._call(q, key_mask=mask, query_mask=counted, gate=gate, offset=offset or 0)
        queries, rows = METHODS[self.method].features(q, k, call)
        guard = guard_of(self.options, self.causal)
        if offset is None:
            return over_all(queries, rows, v, mask, guard).to(value.dtype)
        seen = slice(offset + length)
        seen_mask = None if mask is None else mask[:, seen]
        return causal(queries, rows_of(rows, seen), v[:, :, seen], seen_mask, guard=guard)[0].to(value.dtype)

    @_in_own_precision
    def step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        state: State | None = None,
        gate: Tensor | None = None,
        key_mask: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """Attention of the next tokens, one or several, to those before them, with a state of constant size.

        Args:
            query: [B, H, L, D].
            key: [B, H_kv, L, D].
            value: [B, H_kv, L, Dv].
            state: what the tokens before returned. Default: none came before.
            gate: [B, H, L] for rfa-gate.
            key_mask: [B, L], true for tokens that take part.

        Returns:
            [B, H, L, Dv], and the state for the next token.
        """
        if self.method not in METHODS:
            raise UsageError(f"{self.method}: expected a feature map, which has a recurrent form", code="UNSUPPORTED")
        q, k, v = self._prepared(query, key, value)
        if q.shape[2] != k.shape[2]:
            got = f"{q.shape[2]} queries and {k.shape[2]} keys"
            raise InputError(f"{self.method}: expected a query for each key, got {got}", code="SHAPE_MISMATCH")
        mask = checked_mask("key_mask", key_mask, (k.shape[0], k.shape[2]), k.device)
        self._check_gate(gate, k)
        draw = f"seed={self.seed} and replicate={self.replicate}"
        kind = f"{self.method} with num_features={self.num_features}, head_dim={self.head_dim}, {draw}"
        if state is not None:
            _check_state(state, kind, [*q.shape[:2], v.shape[-1]])
        position = state.count if state else 0
        call = self._call(q, gate=gate, key_mask=mask, position=position, gate_sum=state.gate_sum if state else None)
        queries, keys = METHODS[self.method].features(q, k, call)
        out, after = causal(queries, keys, v, mask, state, guard_of(self.options, causal=True))
        # no view: it would keep a tensor of all tokens
        after.kind, after.shift = kind, after.shift.clone()
        if self.method == "rfa-gate":
            keep = log_gates(k, call)[0].sum(-1, keepdim=True)
            after.gate_sum = keep if call.gate_sum is None else call.gate_sum + keep
        counted = torch.full((k.shape[0],), k.shape[2], device=k.device) if mask is None else mask.sum(-1)
        after.present = counted if state is None or state.present is None else counted + state.present
        return out.to(value.dtype), after

    @_in_own_precision
    def calibrate(
        self, query: Tensor, key: Tensor, key_mask: Tensor | None = None, query_mask: Tensor | None = None
    ) -> Attention:
        """Takes the statistics of oprf and saderf from these tokens, in place of those of each call."""
        q, k, _ = self._prepared(query, key, key)
        hidden = checked_mask("key_mask", key_mask, (k.shape[0], k.shape[2]), k.device)
        counted = checked_mask("query_mask", query_mask, (q.shape[0], q.shape[2]), q.device)
        if counted is None and q.shape[2] == k.shape[2]:
            counted = hidden
        rows = q.new_zeros(0)
        self.calibration = moments(q, k, Call(rows, self.scale, False, {}, key_mask=hidden, query_mask=counted))
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Attention:
        def kept(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            rounded = moved.is_floating_point() and moved.element_size() < 4 <= tensor.element_size()
            return tensor.to(moved.device) if rounded else moved

        return super()._apply(kept, recurse)

    def extra_repr(self) -> str:
        return f"{self.method}, heads={self.heads}, head_dim={self.head_dim}, causal={self.causal}"

    def _prepared(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """In the dtype of the computation, with learned maps, keys and values repeated for their heads."""
        check_tensors({"query": query, "key": key, "value": value})
        shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
        fits = query.dim() == key.dim() == value.dim() == 4 and (
            query.shape[1] == self.heads
            and query.shape[-1] == key.shape[-1] == self.head_dim
            and key.shape[:3] == value.shape[:3]
            and query.shape[0] == key.shape[0]
            and key.shape[1] > 0
            and self.heads % key.shape[1] == 0
            and (self.key_map is None or len(self.key_map) == key.shape[1])
        )
        if not fits:
            of_keys = "H_kv" if self.key_map is None else len(self.key_map)
            raise InputError(
                f"{self.method}: expected query [B, {self.heads}, L, {self.head_dim}],"
                f" key [B, {of_keys}, S, {self.head_dim}] and value [B, {of_keys}, S, Dv], got {shapes}",
                code="SHAPE_MISMATCH",
            )
        if 0 in (query.shape[2], key.shape[2]):
            raise InputError(f"{self.method}: expected at least one token, got {shapes}", code="SHAPE_MISMATCH")
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
        return Call(rows, self.scale, self.causal, self.options, calibration=self.calibration, **given)

    def _check_gate(self, gate: Tensor | None, k: Tensor) -> None:
        if gate is None:
            return
        if self.method != "rfa-gate":
            raise UsageError(f"{self.method}: expected no gate, which rfa-gate alone has, got one", code="BAD_OPTION")
        check_tensors({"gate": gate})
        if gate.shape != k.shape[:3]:
            raise InputError(f"gate: expected {list(k.shape[:3])}, got {list(gate.shape)}", code="SHAPE_MISMATCH")
        if not gate.is_meta and not bool(((gate >= 0) & (gate <= 1)).all()):
            raise InputError("gate: expected numbers between 0 and 1, got others", code="BAD_OPTION")

    def _softmax(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, offset: int | None) -> Tensor:
        seen = None if mask is None else mask[:, None, None]
        own = offset == 0 and seen is None
        if offset is not None and not own:
            ordered = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(offset)
            seen = ordered if seen is None else seen & ordered
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=own, scale=self.scale)
        return out if seen is None else out.masked_fill(~seen.any(-1, keepdim=True), 0)

    def _lara(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, counted: Tensor | None) -> Tensor:
        for name, each, what in (("key_mask", mask, "keys"), ("query_mask", counted, "queries")):
            if each is not None and not bool(each.all()):
                raise UsageError(f"lara: expected no padding, got a {name} that hides {what}", code="UNSUPPORTED")
        noise = None
        if self.options["sampling"] == "single":
            noise = self._noise(q, proposal_count(self.num_features, q, k))
        return lara(q, k, v, noise, self.scale, self.num_features)

    def _noise(self, q: Tensor, count: int) -> Tensor:
        """Standard normals [B, H, C, D], each row from a separate stream, as the program draws them."""
        batch, heads, _, dim = q.shape
        places = batch * heads
        known = self._drawn.shape
        if places > known[0] or count > known[1]:
            # kept for the next call, which may have somewhat longer texts
            rows = min(self.num_features, 1 << (count - 1).bit_length())
            shape = (max(places, known[0]), max(rows, known[1]), dim)
            self._drawn = torch.from_numpy(stream_rows(self.seed, "noise.noise", self.replicate, shape)).float()
        return self._drawn[:places, :count].unflatten(0, (batch, heads)).to(q)


def _check_state(state: State, kind: str, sizes: list[int]) -> None:
    batch, heads, _, columns = state.sums.shape
    own = [batch, heads, columns - 1]
    if state.kind != kind or own != sizes:
        raise InputError(
            f"state: expected batch, heads and value dimension {sizes} of {kind}, got {own} of {state.kind}",
            code="SHAPE_MISMATCH",
        )
