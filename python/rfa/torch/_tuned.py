"""Learned parameters: files that `rfa tune` writes."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .._errors import ArgumentTypeError, Error, InputError
from .._files import read_bytes
from ._attention import Attention


def load_tuned(path: str | os.PathLike[str], *, layer: int | None = None, draw: int = 0, **given: Any) -> Attention:
    """The attention of a file of learned parameters: its method with maps, and with random vectors if it has some.

    Args:
        path: a file as `rfa tune` writes it.
        layer: one of its layers. Default: the only one, or arrays that belong to no layer.
        draw: of learned random vectors, which draw; else the replicate.
        **given: arguments of `Attention` in place of those of the file, e.g. `causal`.

    Raises:
        ArgumentTypeError: for what is no path.
        InputError: for a file of something else, a damaged one, or one without that layer or draw.
    """
    if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(f"path: expected a path, got {type(path).__name__}")
    place = Path(path)
    try:
        facts = _facts(place, layer, draw)
    except Error:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        got = f"none of the name {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{place}: expected metadata and arrays as rfa tune writes them, got {got}") from None
    try:
        return Attention(**{**facts, **given})
    except (Error, TypeError) as error:
        if given:
            raise
        got = error.message if isinstance(error, Error) else error
        raise InputError(f"{place}: expected parameters of an attention, got others: {got}") from None


def _facts(place: Path, layer: int | None, draw: int) -> dict[str, Any]:
    """Arguments of `Attention`."""
    metadata, arrays = _read(place)
    layers = sorted({int(name.split(".")[1]) for name in arrays if name.startswith("layers.")})
    if layer is None and len(layers) > 1:
        raise InputError(f"{place}: expected layer=, one of {layers}, got none", code="ARRAY_MISSING")
    own = f"layers.{layers[0] if layer is None else layer}." if layers else ""
    scale = metadata.get(f"{own}scale", metadata.get("scale"))

    def array(name: str) -> Tensor | None:
        return arrays.get(f"{own}draws.{draw}.{name}", arrays.get(f"{own}{name}"))

    if array("query_map") is None and array("projection") is None:
        raise InputError(f"{place}: expected layer {layer} and draw {draw}, got none", code="ARRAY_MISSING")
    if metadata["causal"] not in ("true", "false"):
        raise ValueError(f"causal {metadata['causal']!r}")
    facts: dict[str, Any] = {
        "method": metadata["method"],
        "heads": int(metadata["heads"]),
        "head_dim": int(metadata["head_dim"]),
        "num_features": int(metadata.get("num_features", 256)),
        "projection": metadata.get("projection", "orth"),
        "seed": int(metadata.get("seed", 0)),
        "replicate": draw,
        "causal": metadata["causal"] == "true",
        "scale": None if scale is None else float(scale),
        "rows": array("projection"),
        "query_map": array("query_map"),
        "key_map": array("key_map"),
    }
    texts: dict[str, Any] = json.loads(metadata.get("options", "{}"))
    options = {re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name): value for name, value in texts.items()}
    if options.keys() & facts.keys():
        raise ValueError(f"options {', '.join(options)}")
    return {**facts, **options}


def _read(place: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Metadata and arrays of a file of learned parameters, which are float32."""
    try:
        data = read_bytes(place)
    except OSError as error:
        raise InputError(
            f"{place}: expected a .safetensors file that rfa tune has written, got {error.strerror or error}",
            [f"the folder that the path starts from is {Path.cwd()}", "rfa tune --output tuned.safetensors"],
            "FILE_MISSING",
        ) from None
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:start])
        if not isinstance(header, dict):
            raise ValueError(f"a header that is {type(header).__name__}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: expected a .safetensors file, got {error}") from None
    metadata = header.pop("__metadata__", {})
    if metadata.get("format") != "rfa.tuned/1":
        raise InputError(f"{place}: expected learned parameters (rfa.tuned/1), got {metadata.get('format')!r}")
    arrays: dict[str, Tensor] = {}
    for name, facts in header.items():
        dtype, shape, (begin, end) = facts["dtype"], facts["shape"], facts["data_offsets"]
        if dtype != "F32":
            raise ValueError(f"{name} of {dtype}")
        if not 0 <= begin <= end <= len(data) - start or end - begin != 4 * math.prod(shape):
            raise ValueError(f"{name} {shape} at bytes {begin} to {end} of {len(data) - start}")
        part = bytearray(data[start + begin : start + end])
        arrays[name] = torch.frombuffer(part, dtype=torch.float32).view(shape)
    return metadata, arrays
