"""Texts that a model learns from: tokens, in batches of similar length."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import torch

from .._errors import InputError, UsageError
from ._aims import Batch

#: Of a text, where a model says nothing.
_UNLIMITED = 2**31


def longest(model: Any, tokenizer: Any) -> int:
    """Tokens of a text that the model has positions for."""
    tables = [part for name, part in model.named_modules() if name.endswith("position_embeddings")]
    config = model.config.get_text_config()
    own = [getattr(config, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None)]
    own += [part.num_embeddings - part.padding_idx - 1 for part in tables if getattr(part, "padding_idx", None)]
    return min([limit for limit in own if isinstance(limit, int) and limit > 0], default=_UNLIMITED)


def tokenized(tokenizer: Any, texts: list[str], most: int, model: Any) -> list[list[int]]:
    """Tokens of texts that have some: special ones do not count, and one alone predicts nothing.

    Raises:
        InputError: for fewer than two different texts, and ids that the model does not have.
        UsageError: for texts that would be cut to nothing.
    """
    special: Any = getattr(tokenizer, "num_special_tokens_to_add", None)
    least = max(2, 1 + (special() if special else 0))
    if most < least:
        raise UsageError(f"max_tokens: expected at least {least}, got {most}", code="BAD_OPTION")
    read: list[list[int]] = tokenizer([*dict.fromkeys(texts)], truncation=True, max_length=most)["input_ids"]
    rows = [row for row in read if len(row) >= least]
    if len(rows) < 2:
        raise InputError(
            f"texts: expected at least 2 different ones of at least {least} tokens, got {len(rows)} of {len(texts)}",
            ["more texts, one a line"],
        )
    beyond = max(max(row) for row in rows)
    count = model.get_input_embeddings().num_embeddings
    if beyond >= count:
        raise InputError(
            f"tokenizer: expected ids below {count}, which the model has embeddings of, got {beyond}",
            ["the tokenizer of this model"],
        )
    return rows


def padding_of(model: Any, tokenizer: Any) -> int:
    """A token that the model does not see; some count positions by it."""
    for own in (getattr(tokenizer, "pad_token_id", None), getattr(model.config, "pad_token_id", None)):
        if isinstance(own, int) and 0 <= own < model.get_input_embeddings().num_embeddings:
            return own
    return 0


def split(rows: list[list[int]], share: float, seed: int) -> tuple[list[list[int]], list[list[int]]]:
    """Texts to learn from, and those that are held out, at least one of each."""
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    held = min(max(1, round(share * len(rows))), len(rows) - 1)
    return [rows[i] for i in order[held:]], [rows[i] for i in order[:held]]


class Parts:
    """Batches of texts of similar length."""

    def __init__(self, model: Any, size: int, padding: int, seed: int) -> None:
        self.device, self.size, self.padding = model.device, size, padding
        self.generator = torch.Generator().manual_seed(seed)

    def batches(self, rows: list[list[int]]) -> list[Batch]:
        ordered = sorted(rows, key=len)
        return [self._batch(ordered[start : start + self.size]) for start in range(0, len(rows), self.size)]

    def shuffled(self, rows: list[list[int]]) -> Generator[Batch, None, None]:
        """Without end; each pass has every text once, in other batches."""
        while True:
            factors = 1 + 0.3 * torch.rand(len(rows), generator=self.generator)
            order = sorted(range(len(rows)), key=lambda i: len(rows[i]) * float(factors[i]))
            starts = range(0, len(rows), self.size)
            for index in torch.randperm(len(starts), generator=self.generator).tolist():
                yield self._batch([rows[i] for i in order[starts[index] : starts[index] + self.size]])

    def _batch(self, rows: list[list[int]]) -> Batch:
        length = max(map(len, rows))
        ids = torch.tensor([row + [self.padding] * (length - len(row)) for row in rows], device=self.device)
        counts = torch.tensor([[len(row)] for row in rows], device=self.device)
        return Batch(ids, torch.arange(length, device=self.device) < counts)
