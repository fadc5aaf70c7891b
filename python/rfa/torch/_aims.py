"""What an exchanged model is to keep of the original: predictions of a causal model, embeddings of an encoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._errors import InputError, UsageError
from .._files import read_text

#: What hidden states count for next to embeddings. Embeddings alone say little of single tokens.
_OF_HIDDEN = 0.1


@dataclass(frozen=True)
class Batch:
    """Texts as tokens, padded at the end."""

    ids: Tensor  # [B, L]
    present: Tensor  # [B, L]


@dataclass(frozen=True)
class Difference:
    """How far a model is from the original on some texts."""

    loss: Tensor  # what learning lowers
    totals: Tensor  # [B], of each text the sum over what is counted in it
    counts: Tensor  # [B], predicted tokens; 1 for an embedding


@dataclass(frozen=True)
class Aim:
    """What is compared, its unit in words, and arguments of a call that returns it."""

    unit: str
    arguments: dict[str, Any]
    difference: Callable[[Any, Any, Tensor], Difference]

    def compare(self, original: nn.Module, own: nn.Module, batch: Batch) -> Difference:
        """How far `own` is from the original; gradients are of `own` alone."""
        given = {"input_ids": batch.ids, "attention_mask": batch.present.long(), "return_dict": True, **self.arguments}
        with torch.no_grad():
            wanted = original(**given)
        return self.difference(wanted, own(**given), batch.present)


def predictions(original: Any, own: Any, present: Tensor) -> Difference:
    """KL divergence of distributions of the next token, mean over tokens that another one follows."""
    follows = present[:, 1:]
    p, q = (out.logits[:, :-1][follows].log_softmax(-1) for out in (original, own))
    # where the original rules a token out, 0 times infinity
    divergence = torch.where(p > -torch.inf, p.exp() * (p - q), 0).sum(-1)
    counts = follows.sum(-1)
    totals = divergence.new_zeros(len(counts)).index_add(0, follows.nonzero()[:, 0], divergence.detach())
    return Difference(divergence.mean(), totals, counts)


def embeddings(pool: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Any, Tensor], Difference]:
    """1 - cosine of pooled hidden states, mean over texts. The loss has errors of hidden states, too."""

    def difference(original: Any, own: Any, present: Tensor) -> Difference:
        wanted, got = (pool(_last(out), present) for out in (original, own))
        off = 1 - F.cosine_similarity(wanted, got)
        pairs = zip(original.hidden_states[1:], own.hidden_states[1:], strict=True)
        errors = [(one - other)[present].square().sum() / one[present].square().sum() for one, other in pairs]
        loss = off.mean() + _OF_HIDDEN * torch.stack(errors).mean()
        return Difference(loss, off.detach(), torch.ones_like(off, dtype=torch.long))

    return difference


def _last(out: Any) -> Tensor:
    """Models with a head return hidden states alone."""
    last = getattr(out, "last_hidden_state", None)
    return out.hidden_states[-1] if last is None else last


#: Shares of a token by its place and the number of tokens; cosines know no factor.
_SHARES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cls": lambda place, _count: place == 0,
    "mean": lambda place, count: place < count,
    "weightedmean": lambda place, count: (place + 1) * (place < count),
    "lasttoken": lambda place, count: place == count - 1,
}
#: What `modules.json` of Sentence Transformers calls them.
_NAMES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
POOLINGS = ("max", *_SHARES)


def pooling(mode: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Vectors of texts, [B, W], from hidden states [B, L, W] of which tokens `present` [B, L] count."""

    def pool(hidden: Tensor, present: Tensor) -> Tensor:
        if mode == "max":
            return hidden.masked_fill(~present[..., None], -torch.inf).amax(1)
        place = torch.arange(hidden.shape[1], device=hidden.device)
        share = _SHARES[mode](place, present.sum(-1, keepdim=True)).to(hidden)
        return (share[..., None] * hidden).sum(1)

    return pool


def pooling_of(folder: Path) -> str:
    """How a folder of Sentence Transformers pools. Default: the mean over tokens.

    Raises:
        InputError: for files that cannot be read.
        UsageError: for a pooling that is not computed here.
    """
    if not (folder / "modules.json").exists():
        return "mean"
    try:
        modules: list[dict[str, str]] = json.loads(read_text(folder / "modules.json"))
        place = next(folder / each["path"] for each in modules if each["type"].endswith("Pooling"))
        config: dict[str, Any] = json.loads(read_text(place / "config.json"))
    except (OSError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise InputError(f"{folder}: expected modules.json with a Pooling, got {error!r}") from None
    modes = [name for key, name in _NAMES.items() if config.get(key)]
    if len(modes) != 1:
        tries = [f"pooling=, one of {', '.join(POOLINGS)}"]
        raise UsageError(f"{place}: expected one way to pool, got {modes}", tries, "UNSUPPORTED")
    return modes[0]
