"""Folders of models with exchanged attention."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .._errors import ArgumentTypeError, InputError
from .._files import read_text
from ._transformers import exchange_of, use

_FORMAT = "rfa.exchange/1"
#: What a folder holds in addition to the model: facts, and learned parameters.
_FACTS, _TUNED = "rfa.json", "rfa-tuned.safetensors"


def save(model: Any, folder: str | os.PathLike[str]) -> None:
    """Saves a model after `use` with its attention: `load` gives it back.

    The folder is that of `model.save_pretrained`, with `rfa.json` and the file of learned parameters. Everything else
    that reads it, `rfa swap` too, sees the model with exact attention.

    Args:
        model: exchanged by `use`.
        folder: made where it is missing. Files of the same names are replaced.

    Raises:
        UsageError: for a model that `use` has not exchanged.
    """
    own = exchange_of(model, "save")
    place = Path(folder)
    model.save_pretrained(place)
    facts = {
        "format": _FORMAT,
        "method": own.method,
        "seed": own.seed,
        "options": dict(own.options),
        "layers": own.layers,
        "tuned": None if own.tuned is None else _TUNED,
    }
    if own.tuned is not None:
        (place / _TUNED).write_bytes(own.tuned)
    (place / _FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def load(folder: str | os.PathLike[str], **given: Any) -> Any:
    """A model that `save` has written, with its attention.

    Args:
        folder: as `save` has written it.
        **given: arguments of `from_pretrained`, e.g. `dtype`.

    Returns:
        The model, of the class that `config.json` names.

    Raises:
        InputError: for a folder of something else.
    """
    if not isinstance(folder, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(f"folder: expected a path, got {type(folder).__name__}")
    place = Path(folder)
    facts = _json(place / _FACTS)
    if facts.get("format") != _FORMAT:
        raise InputError(f"{place / _FACTS}: expected format {_FORMAT}, got {facts.get('format')!r}")
    import transformers

    names = _json(place / "config.json").get("architectures")
    kind = getattr(transformers, str(names[0]), None) if isinstance(names, list) and names else None
    if not hasattr(kind, "from_pretrained"):
        tries = ["from_pretrained, then rfa.torch.use"]
        raise InputError(f"{place}: expected a class of Transformers, got {names}", tries, "UNSUPPORTED")
    model = kind.from_pretrained(place, **given)
    try:
        taken = {"seed": facts["seed"], "layers": facts["layers"]}
        if facts["tuned"] is not None:
            return use(model, tuned=place / _TUNED, **taken)
        return use(model, facts["method"], **taken, **facts["options"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{place / _FACTS}: expected facts as rfa.torch.save writes them, got {error}") from None


def _json(place: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(place))
    except (OSError, ValueError) as error:
        tries = ["rfa.torch.save(model, folder)"]
        raise InputError(f"{place}: expected a file that rfa.torch.save has written, got {error}", tries) from None
    if not isinstance(found, dict):
        raise InputError(f"{place}: expected a JSON object, got {type(found).__name__}")
    return found
