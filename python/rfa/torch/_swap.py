"""What a model of Transformers loses with another attention."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._commands import swap as measure
from .._errors import ArgumentTypeError, UsageError
from .._run import Run


def swap(
    model: Any,
    texts: Sequence[str] | str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    **arguments: Any,
) -> Run:
    """Measures what a model loses with another attention: `rfa.swap` for a loaded model and a list of texts.

    The program reads a loaded model from a temporary folder, with its weights as they are now and softmax as the
    attention it is compared with. That folder is gone afterwards: going on with an interrupted run takes a saved model.

    Args:
        model: a loaded model of Transformers, or its folder.
        texts: texts; or a file with one text a line, or a folder of .txt files.
        tokenizer: of a loaded model. Default: that of the folder.
        **arguments: `methods`, `num_features`, `layers` and whatever else `rfa.swap` takes.

    Returns:
        The run, which `rfa report` reads.

    Raises:
        UsageError: for a loaded model without a tokenizer.
        InputError: for a model that no engine runs, or texts that cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="rfa-") as place:
        given = {"model": _saved(model, tokenizer, Path(place)), "texts": _written(texts, Path(place))}
        return measure(**given, **arguments)


def _saved(model: Any, tokenizer: Any, place: Path) -> Path:
    """The folder of a model, which is called as the model is."""
    if isinstance(model, (str, os.PathLike)):
        return Path(os.fspath(model))
    if not hasattr(model, "save_pretrained"):
        raise ArgumentTypeError(f"model: expected a model of Transformers or its folder, got {type(model).__name__}")
    if tokenizer is None:
        raise UsageError("tokenizer: expected the tokenizer of the loaded model, got None")
    folder = place / (Path(model.config.name_or_path).name or type(model).__name__)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _written(texts: Sequence[str] | str | os.PathLike[str], place: Path) -> Path:
    """A place that the program reads texts from; they may have several lines."""
    if isinstance(texts, (str, os.PathLike)):
        return Path(os.fspath(texts))
    if not texts:
        raise UsageError("texts: expected at least one text, got none")
    folder = place / "texts"
    folder.mkdir()
    for index, text in enumerate(texts):
        (folder / f"{index:06}.txt").write_text(text, encoding="utf-8")
    return folder
