"""Feature maps: what queries and keys become, by method, with the rows that the program draws."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .._errors import UsageError


@dataclass(frozen=True)
class Features:
    """Features of tokens, `values * exp(logs)`: `values` [B, H, n, F] with `logs` [B, H, n, 1] or without, or `logs`
    [B, H, n, F] alone. Without a guard factors of queries cancel."""

    values: Tensor | None = None
    logs: Tensor | None = None


@dataclass(frozen=True)
class Call:
    """What features depend on in addition to the token."""

    rows: Tensor  # [H, M, D]
    scale: float  # of logits; x = sqrt(scale) q
    causal: bool
    options: dict[str, Any]
    key_mask: Tensor | None = None  # [B, S]
    query_mask: Tensor | None = None  # [B, L]
    gate: Tensor | None = None  # [B, H, S]
    calibration: Tensor | None = None  # what `moments` gave for other tokens
    position: int | None = None  # of the first token, in decoding
    offset: int = 0  # keys before the first query: query i is token offset + i
    gate_sum: Tensor | None = None  # [B, H, 1], of the logarithms of gates before it


Map = Callable[[Tensor, Tensor, Call], tuple[Features, Features]]


@dataclass(frozen=True)
class Method:
    """A method that is a feature map, its options with their defaults, and whether it has random vectors."""

    features: Map
    projected: bool = True
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    causal_only: bool = False


#: Guards on the denominator, that of the causal form where it is another one.
_GUARDS = {"den_guard": "none", "causal_den_guard": None}
_UNIT = {"norm_epsilon": 0.0, "feature_scale": None}


def guard_of(options: dict[str, Any], causal: bool) -> tuple[str, float] | None:
    """Policy and bound of the guard in force.

    Raises:
        UsageError: for a text that is no guard.
    """
    name = "causal_den_guard" if causal and options.get("causal_den_guard") is not None else "den_guard"
    text = options.get(name, "none")
    if text == "none":
        return None
    found = re.fullmatch(r"(add|clamp|abs-clamp|nudge):(\d+(?:\.\d+)?(?:e-?\d+)?)", str(text).lower())
    if found is None or not math.isfinite(float(found[2])):
        raise UsageError(f"{name}: expected none, add:E, clamp:E, abs-clamp:E or nudge:E, got {text!r}")
    return found[1], float(found[2])


def _canonical(q: Tensor, k: Tensor, call: Call) -> tuple[Tensor, Tensor]:
    return q * math.sqrt(call.scale), k * math.sqrt(call.scale)


def _half_norms(x: Tensor) -> Tensor:
    return x.square().sum(-1, keepdim=True) / 2


def _unit(x: Tensor, call: Call) -> Tensor:
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True) + call.options["norm_epsilon"]
    return x / torch.where(length == 0, 1, length) / call.options.get("tau", 1)


def _factor(call: Call) -> float:
    """On features of unit vectors; it matters only with a guard or an epsilon."""
    own = call.options["feature_scale"]
    return call.rows.shape[-2] ** -0.5 if own is None else own


def _waves(products: Tensor) -> Tensor:
    return torch.cat([products.sin(), products.cos()], -1)


def _favor_pos(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = _canonical(q, k, call)
    return Features(logs=x @ call.rows.mT), Features(logs=y @ call.rows.mT - _half_norms(y))


def _favor_hyp(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = (z @ call.rows.mT for z in _canonical(q, k, call))
    norms = _half_norms(k) * call.scale
    return Features(logs=torch.cat([x, -x], -1)), Features(logs=torch.cat([y, -y], -1) - norms)


def _favor_trig(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = _canonical(q, k, call)
    return Features(_waves(x @ call.rows.mT)), Features(_waves(y @ call.rows.mT), _half_norms(y))


def _favor_relu(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    added = call.options["feature_epsilon"]
    x, y = (F.relu(z @ call.rows.mT) + added for z in _canonical(q, k, call))
    return Features(x), Features(y)


def _rfa(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = (_factor(call) * _waves(_unit(z, call) @ call.rows.mT) for z in (q, k))
    return Features(x), Features(y)


def _rfa_arccos(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    added = call.options["feature_epsilon"]
    x, y = (_factor(call) * F.relu(_unit(z, call) @ call.rows.mT) + added for z in (q, k))
    return Features(x), Features(y)


def _rfa_gate(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    queries, keys = _rfa(q, k, call)
    keep, take = log_gates(k, call)
    kept = keep.cumsum(-1) + (0 if call.gate_sum is None else call.gate_sum)
    # key i has at t the weight (1 - g_i) prod_{j = i+1..t} g_j
    own = kept[:, :, call.offset : call.offset + q.shape[2], None]
    return Features(queries.values, own), Features(keys.values, (take - kept).unsqueeze(-1))


def log_gates(k: Tensor, call: Call) -> tuple[Tensor, Tensor]:
    """log g and log(1 - g), [B, H, S], in double precision: their sums over tokens are differences of large numbers."""
    if call.gate is None:
        gate = k.new_full(k.shape[:3], call.options["constant_gate"], dtype=torch.float64)
    else:
        gate = call.gate.double()
    keep, take = gate.clamp_min(2.0**-126).log(), (1 - gate).clamp_min(2.0**-126).log()
    present = 1 if call.key_mask is None else call.key_mask[:, None].double()
    return keep * present, take


def _elu(q: Tensor, k: Tensor, _call: Call) -> tuple[Features, Features]:
    return Features(F.elu(q) + 1), Features(F.elu(k) + 1)


def _taylor(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = _canonical(q, k, call)
    return Features(_second_order(x)), Features(_second_order(y))


def _second_order(x: Tensor) -> Tensor:
    """[1, x, x_a^2 / sqrt(2), x_a x_b for a < b], with inner products 1 + s + s^2/2."""
    first, second = torch.triu_indices(x.shape[-1], x.shape[-1], 1, device=x.device)
    return torch.cat([torch.ones_like(x[..., :1]), x, x.square() * math.sqrt(0.5), x[..., first] * x[..., second]], -1)


def _hedgehog(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = (torch.cat([z, -z], -1) for z in (q, k))
    if call.options["nonlinearity"] == "softmax":
        x, y = x.log_softmax(-1), y.log_softmax(-1)
    return Features(logs=x), Features(logs=y)


def _cosformer(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    longest = call.options["max_length"]
    if call.position is None:
        length = torch.maximum(_span(q, call.query_mask), _span(k, call.key_mask))
        beyond = longest is not None and not length.is_meta and bool((length > longest).any())
    elif longest is None:
        raise UsageError("cosformer: expected max_length, the number of tokens to come, got None")
    else:
        length, beyond = torch.ones(()), call.position + k.shape[2] > longest
    if beyond:
        raise UsageError(f"cosformer: expected at most max_length = {longest} tokens, got more")
    if longest is not None:
        length = torch.as_tensor(longest, device=q.device)

    def phased(x: Tensor, first: int) -> Tensor:
        places = torch.arange(x.shape[2], device=x.device, dtype=x.dtype) + first
        angle = (math.pi / 2) * places.view(1, 1, -1, 1) / length
        rectified = F.relu(x) + call.options["feature_epsilon"]
        return torch.cat([rectified * angle.cos(), rectified * angle.sin()], -1)

    position = call.position or 0
    return Features(phased(q, position + call.offset)), Features(phased(k, position))


def _span(x: Tensor, mask: Tensor | None) -> Tensor:
    """Tokens from the first to the last that is present, [B, 1, 1, 1], or one number where all are."""
    count = x.shape[2]
    if mask is None:
        return torch.tensor(count, device=x.device)
    places = torch.arange(count, device=x.device)
    first, last = torch.where(mask, places, count).amin(-1), (mask * (places + 1)).amax(-1)
    return (last - first).clamp_min(1).view(-1, 1, 1, 1)


def _oprf(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = _canonical(q, k, call)
    exponent: Any = call.options["a"]
    if exponent is None:
        means, squares = moments(q, k, call)
        exponent = _optimal_exponent(means, squares, q.shape[-1])
    return _exponential(x, y, exponent, call)


def _saderf(q: Tensor, k: Tensor, call: Call) -> tuple[Features, Features]:
    x, y = _canonical(q, k, call)
    means, squares = moments(q, k, call)
    ridge = call.options["ridge"]
    ridged = [square + ridge * square.mean(-1, keepdim=True) for square in squares]
    ones = [torch.where(square.mean(-1, keepdim=True) > 0, square, 1) for square in ridged]
    psi = (ones[1] / ones[0]) ** 0.25  # [B, H, D]
    exponent = _optimal_exponent(means, torch.stack([squares[0] * psi**2, squares[1] / psi**2]), q.shape[-1])
    factor = psi.unsqueeze(2).to(x.dtype)
    return _exponential(x * factor, y / factor, exponent, call)


def _exponential(x: Tensor, y: Tensor, exponent: Any, call: Call) -> tuple[Features, Features]:
    """`exp(A |w|^2 + (1 - 4A)^(1/2) w.x - |x|^2/2)`; A is a number or [B, H, 1, 1] in double precision."""
    a = torch.as_tensor(exponent, dtype=torch.float64, device=x.device)
    root = (1 - 4 * a).sqrt().to(x.dtype)
    weight = a.to(x.dtype) * call.rows.square().sum(-1).unsqueeze(-2)  # [B, H, 1, M]
    queries, keys = x @ (root * call.rows).mT, y @ (root * call.rows).mT
    return Features(logs=queries + weight), Features(logs=keys + weight - _half_norms(y))


def _optimal_exponent(means: Tensor, squares: Tensor, dim: int) -> Tensor:
    """The A with the least variance for the mean of |x + y|^2 over all pairs, [B, H, 1, 1]."""
    total = squares[0].sum(-1) + squares[1].sum(-1) + 2 * (means[0] * means[1]).sum(-1)
    t = total.clamp_min(0) / dim
    exponent = -t / (1 + (12 * t + 1) / (2 * t + (1 + 12 * t + 4 * t * t).sqrt()))
    return exponent[..., None, None]


def moments(q: Tensor, k: Tensor, call: Call) -> Tensor:
    """Means and mean squares of canonical queries and keys, [2, 2, B, H, D]: of the calibration, else of the tokens of
    the call that are present, where a causal one takes the first of them; without gradients."""
    if call.calibration is not None:
        return call.calibration.double()
    if call.position is not None:
        tries = ["calibrate(query, key)", "a= of oprf", "a method that looks at each token by itself, e.g. favor-pos"]
        raise UsageError("expected statistics before the first token, got none", tries)
    first = call.options["prefix"] if call.causal else 0
    sides = [_moments(z.detach().double(), m, first) for z, m in ((q, call.query_mask), (k, call.key_mask))]
    means, squares = (torch.stack(parts) for parts in zip(*sides, strict=True))
    return torch.stack([means * math.sqrt(call.scale), squares * call.scale])


def _moments(x: Tensor, mask: Tensor | None, first: int) -> tuple[Tensor, Tensor]:
    """Mean and mean square, [B, H, D], of the first tokens that are present; 0: of all of them."""
    if mask is None:
        own = x[:, :, :first] if first else x
        return own.mean(2), own.square().mean(2)
    if first:
        mask = mask & (mask.cumsum(-1) <= first)
    hidden = ~mask[:, None, :, None]
    count = mask.sum(-1).clamp_min(1).view(-1, 1, 1)
    return x.masked_fill(hidden, 0).sum(2) / count, x.square().masked_fill(hidden, 0).sum(2) / count


_STATISTICS = {"prefix": 64}

METHODS: dict[str, Method] = {
    "elu": Method(_elu, projected=False, options=_GUARDS),
    "rfa": Method(_rfa, options={"tau": 1.0, **_UNIT, **_GUARDS}),
    "rfa-arccos": Method(_rfa_arccos, options={**_UNIT, "feature_epsilon": 0.0, **_GUARDS}),
    "rfa-gate": Method(
        _rfa_gate, options={"tau": 1.0, "constant_gate": 0.95, **_UNIT, "den_guard": "none"}, causal_only=True
    ),
    "favor-pos": Method(_favor_pos),
    "favor-hyp": Method(_favor_hyp),
    "favor-trig": Method(_favor_trig),
    "favor-relu": Method(_favor_relu, options={"feature_epsilon": 0.0, **_GUARDS}),
    "oprf": Method(_oprf, options={"a": None, **_STATISTICS}),
    "saderf": Method(_saderf, options={"ridge": 1e-3, **_STATISTICS}),
    "cosformer": Method(_cosformer, projected=False, options={"max_length": None, "feature_epsilon": 0.0, **_GUARDS}),
    "taylor": Method(_taylor, projected=False, options=_GUARDS),
    "hedgehog": Method(_hedgehog, projected=False, options={"nonlinearity": "softmax"}),
}
"""The feature maps by name; `rfa methods NAME` has the formula of each."""
