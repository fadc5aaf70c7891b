"""Folders of models with exchanged attention."""

from __future__ import annotations

import json
import os
from operator import methodcaller
from pathlib import Path
from typing import Any

from .._errors import ArgumentTypeError, InputError
from .._files import read_text
from ._transformers import exchange_of, use

_FORMAT = "rfa.exchange/1"
#: What a folder holds in addition to the model: facts, and learned parameters.
_FACTS, _TUNED = "rfa.json", "rfa-tuned.safetensors"


def save(model: Any, folder: str | os.PathLike[str]) -> None:
    """Saves a model with its exchanged attention, which `load` gives back.

    `model.save_pretrained` writes the folder; `rfa.json` and the file of learned parameters are added. Whatever else
    reads it, `rfa swap` too, finds exact attention.

    Raises:
        UsageError: for a model that `use` has not exchanged.
    """
    own, place = exchange_of(model, "save"), Path(folder)
    facts = {"format": _FORMAT, "method": own.method, "seed": own.seed, "options": dict(own.options)}
    facts |= {"layers": own.layers, "tuned": None if own.tuned is None else _TUNED}
    text = json.dumps(facts, indent=2, default=methodcaller("item")) + "\n"
    model.save_pretrained(place)
    if own.tuned is not None:
        (place / _TUNED).write_bytes(own.tuned)
    (place / _FACTS).write_text(text, encoding="utf-8")


def load(folder: str | os.PathLike[str], **given: Any) -> Any:
    """A model that `save` has written, with its attention, of the class that `config.json` names.

    Args:
        folder: as `save` has written it.
        **given: arguments of `from_pretrained`, e.g. `dtype`.

    Raises:
        InputError: for a folder of something else.
    """
    if not isinstance(folder, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(f"folder: expected a path, got {type(folder).__name__}")
    place = Path(folder)
    try:
        facts, config = (json.loads(read_text(place / name)) for name in (_FACTS, "config.json"))
        if facts["format"] != _FORMAT:
            raise ValueError(f"format {facts['format']!r}")
        (kind, *_), (method, seed, layers) = (
            config["architectures"] or ["none"],
            (facts[x] for x in ("method", "seed", "layers")),
        )
        tuned, options = facts["tuned"] and place / _TUNED, {**facts["options"]}
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{place}: expected a folder that rfa.torch.save has written, got {error}") from None
    import transformers

    if not hasattr(transformers, str(kind)):
        tries = ["from_pretrained, then rfa.torch.use"]
        raise InputError(f"{place}: expected a class of Transformers, got {kind}", tries, "UNSUPPORTED")
    model = getattr(transformers, kind).from_pretrained(place, **given)
    if tuned:
        return use(model, tuned=tuned, seed=seed, layers=layers)
    return use(model, method, seed=seed, layers=layers, **options)
