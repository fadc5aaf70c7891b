"""What an attention call of Transformers may carry: arguments and masks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._errors import UsageError
from ._forms import State

#: Arguments that say nothing about attention: positions are in queries and keys already, the rest is for other parts.
_HARMLESS = {
    "position_ids",
    "cache_position",
    "position_embeddings",
    "past_key_values",
    "use_cache",
    "return_dict",
    "output_hidden_states",
    "output_router_logits",
    "num_items_in_batch",
    "deterministic",
}
_PACKED = ["the texts one by one, or padded, with attention_mask"]
#: What to try where another argument is refused.
_TRIES = {
    "sliding_window": ["texts that are shorter than the window"],
    "output_attentions": ["output_attentions=False: features do not form the weights"],
    "cu_seq_lens_q": _PACKED,
    "cu_seq_lens_k": _PACKED,
}
_OTHER_PATTERN = "another pattern: a window that is shorter than the text, a prefix, or packed texts"
#: What a view is: keys before the first query (None: each query sees all keys), the key mask, and keys that count.
View = tuple[int | None, Tensor | None, int]


def check_call(method: str, dropout: float, keys: int, queries: int, extras: dict[str, Any]) -> None:
    """
    Raises:
        UsageError: for what changes attention, by name.
    """
    if dropout:
        tries = ["model.eval()", "a configuration with an attention dropout of 0"]
        raise _refused(method, f"attention dropout of {dropout}, and features do not form the weights", tries)
    for name, value in extras.items():
        if value is None or value is False or name in _HARMLESS:
            continue
        # a cache of a window holds no more than the window: whether the text is longer cannot be seen
        if name == "sliding_window" and (keys < value or keys == queries == value):
            continue
        raise _refused(method, f"{name}{'' if torch.is_tensor(value) else f'={value!r:.40}'}", _TRIES.get(name, []))


def _refused(method: str, got: str, tries: list[str]) -> UsageError:
    return UsageError(
        f"{method}: expected attention by queries, keys and values alone, got {got}", tries, "UNSUPPORTED"
    )


def offset_of(query: Tensor, key: Tensor, causal: bool) -> View:
    """Without a mask: every query sees every key, unless the call itself says `is_causal`. One query is then the last
    token, more are the first ones, which are followed by places of a cache that are not filled yet."""
    length, keys = query.shape[2], key.shape[2]
    if not causal:
        return None, None, keys
    return (keys - 1, None, keys) if length == 1 else (0, None, min(length, keys))


def view_of(mask: Tensor, query: Tensor, key: Tensor, last: bool) -> View:
    """The same, from a mask [B, 1, L, S] that says nothing but padding and the order of tokens.

    Args:
        last: whether queries that see every key, such as one alone, may be the last tokens of a text, which the mask
            cannot tell.
    """
    length, keys = query.shape[2], key.shape[2]
    seen = _seen(mask, query.shape[0], length, keys)
    some = seen.any(-1)  # rows of padding may see nothing
    hidden = ~some[..., None]
    present = seen.any(1)  # [B, S]
    places = torch.arange(keys, device=seen.device)
    latest = keys - 1 - seen.flip(-1).byte().argmax(-1)  # [B, L]
    rows = torch.arange(length, device=seen.device)
    offset = int(torch.where(some, latest - rows, -length).max())
    whole = bool(((seen == present[:, None]) | hidden).all())
    if whole and not (last and 0 <= offset <= keys - length):
        return None, None if bool(present.all()) else present, keys
    ordered = present[:, None] & (places <= rows[:, None] + offset)
    if offset < 0 or not bool(((seen == ordered) | hidden).all()):
        raise _mask_refused(_OTHER_PATTERN)
    filled = offset + length
    present = present[:, :filled]
    return offset, None if bool(present.all()) else present, filled


def padding_of(mask: Tensor | None, query: Tensor, state: State | None) -> Tensor | None:
    """Which of the new tokens take part, [B, L], where they see all those of a state and each other in order.

    Args:
        mask: [B, 1, L, tokens of the state + L].
    """
    batch, length, before = query.shape[0], query.shape[2], state.count if state else 0
    if mask is None:
        seen = query.new_ones(length, before + length, dtype=torch.bool).tril(before).expand(batch, -1, -1)
    else:
        seen = _seen(mask, batch, length, before + length)
    some = seen.any(-1)
    present = seen.any(1)
    ordered = present[:, None] & torch.ones_like(seen[0]).tril(before)
    known = before if state is None or state.present is None else state.present
    # a window hides what the state cannot forget
    whole = (present[:, :before].sum(-1) == known) | ~some.any(-1)
    if not bool(((seen == ordered) | ~some[..., None]).all()) or not bool(whole.all()):
        raise _mask_refused(_OTHER_PATTERN)
    own = present[:, before:]
    return None if bool(own.all()) else own


def _seen(mask: Any, batch: int, length: int, keys: int) -> Tensor:
    """Whether query i sees key j, [B, L, S], the same in all heads."""
    seen = _shown(mask)
    try:
        seen = seen.expand(batch, seen.shape[1], length, keys)
    except (RuntimeError, IndexError):
        raise _mask_refused(f"one of {list(mask.shape)}") from None
    if seen.shape[1] > 1 and not bool((seen == seen[:, :1]).all()):
        raise _mask_refused("one that differs from head to head")
    return seen[:, 0]


def _shown(mask: Any) -> Tensor:
    if not torch.is_tensor(mask):
        raise _mask_refused(type(mask).__name__)
    if mask.dim() != 4:
        raise _mask_refused(f"one of {list(mask.shape)}")
    if mask.dtype == torch.bool:
        return mask
    if not mask.is_floating_point():
        raise _mask_refused(f"one of {mask.dtype}")
    hidden = mask <= torch.finfo(mask.dtype).min
    if not bool((hidden | (mask == 0)).all()):
        raise _mask_refused("numbers that are added to logits, such as a bias of positions")
    return ~hidden


def _mask_refused(got: str) -> UsageError:
    tries = ["texts one by one, with rotary or absolute positions, no longer than a window"]
    return UsageError(
        f"rfa.torch: expected a mask [batch, 1, queries, keys] of padding and of later tokens, got {got}",
        tries,
        "UNSUPPORTED",
    )
