"""Attention from features: over all keys, causal in chunks, and token by token. All in sums that neither overflow nor
need an epsilon: logarithms are taken relative to the largest so far."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ._features import Features

#: Tokens of a chunk of causal attention.
CHUNK = 64
#: Below every logarithm that a key has.
_LOWEST = -1e30


@dataclass
class State:
    """Running sums of the keys so far."""

    sums: Tensor  # [B, H, F, Dv + 1], of values and, last, of weights, times exp(-shift)
    shift: Tensor  # [B, H, 1, F or 1], largest logarithm so far
    count: int = 0
    gate_sum: Tensor | None = None
    present: Tensor | None = None  # [B], the number of them without padding
    kind: str = ""  # the attention it is of, in words

    def tensors(self) -> dict[str, Tensor]:
        """What has a row for each text of the batch, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}


def _with_one(value: Tensor) -> Tensor:
    return torch.cat([value, torch.ones_like(value[..., :1])], -1)


#: Policy and bound: what is done to a denominator before the division.
Guard = tuple[str, float]


def _ratio(sums: Tensor, logs: Tensor | None = None, guard: Guard | None = None) -> Tensor:
    """Rows that see no key are zero. A guard needs the sums as they are, times exp(logs)."""
    if guard is not None and logs is not None:
        sums = sums * logs.exp().to(sums.dtype)
    weights = sums[..., -1:]
    if guard is not None:
        weights = guarded(weights, *guard)
    return sums[..., :-1] / torch.where(weights == 0, 1, weights)


def guarded(weights: Tensor, policy: str, bound: float) -> Tensor:
    """Denominators after a guard."""
    if policy == "add":
        return weights + bound
    if policy == "nudge":
        return weights + 2 * bound * (weights.abs() <= bound)
    return (weights if policy == "clamp" else weights.abs()).clamp_min(bound)


def _masked(keys: Features, key_mask: Tensor | None) -> Features:
    """Keys that are hidden have the logarithm -inf."""
    logs = keys.logs
    if logs is None:
        assert keys.values is not None
        logs = torch.zeros_like(keys.values[..., :1])
    if key_mask is None:
        return Features(keys.values, logs)
    hidden = ~key_mask.bool()[:, None, :, None]
    values = None if keys.values is None else keys.values.masked_fill(hidden, 0)
    return Features(values, logs.masked_fill(hidden, -torch.inf))


def _weighted(keys: Features, shift: Tensor, dtype: torch.dtype) -> Tensor:
    """Features of keys times exp(-shift), [B, H, S, F]."""
    assert keys.logs is not None
    factor = (keys.logs - shift).exp().to(dtype)
    return factor if keys.values is None else keys.values * factor


def _queries(queries: Features, shift: Tensor) -> Tensor:
    """Features of queries, each up to a factor that cancels."""
    if queries.logs is None:
        assert queries.values is not None
        return queries.values
    logs = queries.logs + shift
    return (logs - logs.detach().amax(-1, keepdim=True)).exp()


def over_all(
    queries: Features, keys: Features, value: Tensor, key_mask: Tensor | None, guard: Guard | None = None
) -> Tensor:
    """Every query sees every key, [B, H, L, Dv]."""
    keys = _masked(keys, key_mask)
    state = _state_of(keys, _with_one(value))
    sums, shift = state.sums, state.shift
    logs = None if keys.values is None else shift if queries.logs is None else shift + queries.logs
    return _ratio(_queries(queries, shift) @ sums, logs, guard)


def causal(
    queries: Features,
    keys: Features,
    value: Tensor,
    key_mask: Tensor | None,
    state: State | None = None,
    guard: Guard | None = None,
) -> tuple[Tensor, State]:
    """Query i sees the keys of the state and the keys 0..i, or with more keys than queries those before it too: queries
    are then the last tokens.

    Where features are given by logarithms alone, keys count as zero if a later key of their chunk exceeds them by e^80.

    Returns:
        [B, H, L, Dv], and the state after the last key.
    """
    keys = _masked(keys, key_mask)
    extended = _with_one(value)
    outs: list[Tensor] = []
    scales: list[Tensor] = []
    own = queries.logs if queries.values is None else queries.values
    assert own is not None
    length, before = own.shape[2], value.shape[2] - own.shape[2]
    if before:
        state = _state_of(rows_of(keys, slice(before)), extended[:, :, :before])
    for start in range(0, length, CHUNK):
        part, seen = slice(start, start + CHUNK), slice(before + start, before + start + CHUNK)
        state = state or _empty(queries, keys, extended)
        sums, logs, state = _chunk(rows_of(queries, part), rows_of(keys, seen), extended[:, :, seen], state)
        outs.append(sums)
        scales += [] if logs is None else [logs]
    assert state is not None
    return _ratio(torch.cat(outs, 2), torch.cat(scales, 2) if scales else None, guard), state


def rows_of(features: Features, part: slice) -> Features:
    """Features of some tokens."""
    return Features(*(None if x is None else x[:, :, part] for x in (features.values, features.logs)))


def _empty(queries: Features, keys: Features, extended: Tensor) -> State:
    own = queries.logs if queries.values is None else queries.values
    assert own is not None and keys.logs is not None
    batch, heads, _, columns = extended.shape
    sums = extended.new_zeros(batch, heads, own.shape[-1], columns)
    return State(sums, keys.logs.new_full((batch, heads, 1, keys.logs.shape[-1]), _LOWEST))


def _state_of(keys: Features, extended: Tensor) -> State:
    """After keys that every query sees."""
    assert keys.logs is not None
    shift = keys.logs.detach().amax(-2, keepdim=True).clamp_min(_LOWEST)
    return State(_weighted(keys, shift, extended.dtype).mT @ extended, shift, extended.shape[2])


def _chunk(queries: Features, keys: Features, extended: Tensor, state: State) -> tuple[Tensor, Tensor | None, State]:
    """Sums of each query, the logarithm of what they are to be multiplied by, where it is one number, and the state."""
    logs: Tensor | None = None
    assert keys.logs is not None
    dtype, length = extended.dtype, extended.shape[2]
    past = torch.ones(length, length, dtype=torch.bool, device=extended.device).tril()
    if keys.values is None:
        shift = torch.maximum(state.shift, keys.logs.detach().amax(-2, keepdim=True))
        before = state.sums * (state.shift - shift).exp().mT
        features, rows = _queries(queries, shift), _weighted(keys, shift, dtype)
        sums = features @ before + (features @ rows.mT * past) @ extended
    else:
        assert queries.values is not None
        # one logarithm for each key: each query has the largest that it sees
        largest = torch.maximum(state.shift, keys.logs.detach().cummax(-2).values)  # [B, H, L, 1]
        logs = largest if queries.logs is None else largest + queries.logs
        shift = largest[:, :, -1:]
        factor = (keys.logs.mT - largest).masked_fill(~past, -torch.inf).exp().to(dtype)
        weights = queries.values @ keys.values.mT * factor
        sums = (queries.values @ state.sums) * (state.shift - largest).exp().to(dtype) + weights @ extended
        before = state.sums * (state.shift - shift).exp().to(dtype)
        rows = _weighted(keys, shift, dtype)
    return sums, logs, State(before + rows.mT @ extended, shift, state.count + length, state.gate_sum)
