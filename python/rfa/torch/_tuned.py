"""Learned parameters: files that `rfa tune` writes."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from .._arrays import Array, host_array, write
from .._errors import ArgumentTypeError, Error, InputError
from .._files import read_bytes
from ..export import create
from ._attention import Attention
from ._features import METHODS

#: A file, or where it was.
Source = str | os.PathLike[str]
_FORMAT = "rfa.tuned/1"
#: Dtypes of arrays in files; all are read as float32.
_DTYPES = {"F32": torch.float32, "F16": torch.float16}


def load_tuned(path: Source, *, layer: int | None = None, draw: int = 0, **given: Any) -> Attention:
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
    data = read_tuned(path)
    with _as_written(path):
        facts = _facts(path, *_arrays(path, data), layer, draw)
    return attention_of(path, facts, given)


def read_layers(source: Source, data: bytes) -> dict[int, dict[str, Any]]:
    """Arguments of `Attention` for each layer of a file, in the first draw.

    Raises:
        InputError: for a damaged file, and one of arrays that belong to no layer.
    """
    with _as_written(source):
        metadata, arrays = _arrays(source, data)
        layers = _layers(arrays)
        if not layers:
            tries = ["rfa.torch.load_tuned(path)"]
            raise InputError(f"{source}: expected parameters of layers, got arrays of no layer", tries, "ARRAY_MISSING")
        return {layer: _facts(source, metadata, arrays, layer, 0) for layer in layers}


def attention_of(source: Source, facts: dict[str, Any], given: dict[str, Any]) -> Attention:
    """
    Raises:
        InputError: for facts of a file that make no attention.
    """
    try:
        return Attention(**{**facts, **given})
    except (Error, TypeError) as error:
        if given:
            raise
        got = error.message if isinstance(error, Error) else error
        raise InputError(f"{source}: expected parameters of an attention, got others: {got}") from None


@contextmanager
def _as_written(source: Source) -> Generator[None, None, None]:
    """Says which file is damaged."""
    try:
        yield
    except Error:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        got = f"none of the name {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{source}: expected metadata and arrays as rfa tune writes them, got {got}") from None


def _layers(arrays: dict[str, Tensor]) -> list[int]:
    return sorted({int(name.split(".")[1]) for name in arrays if name.startswith("layers.")})


def _facts(
    place: Source, metadata: dict[str, str], arrays: dict[str, Tensor], layer: int | None, draw: int
) -> dict[str, Any]:
    """Arguments of `Attention`."""
    layers = _layers(arrays)
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
    if metadata.get("preset", "exact") != "exact":
        got = f"{metadata['preset']}, which the program alone has"
        raise InputError(f"{place}: expected parameters of preset exact, got those of {got}", code="UNSUPPORTED")
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


def read_tuned(path: Source) -> bytes:
    """The bytes of a file.

    Raises:
        ArgumentTypeError: for what is no path.
        InputError: for what cannot be read.
    """
    if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(f"path: expected a path, got {type(path).__name__}")
    place = Path(path)
    try:
        return read_bytes(place)
    except OSError as error:
        raise InputError(
            f"{place}: expected a .safetensors file that rfa tune has written, got {error.strerror or error}",
            [f"the folder that the path starts from is {Path.cwd()}", "rfa tune --output tuned.safetensors"],
            "FILE_MISSING",
        ) from None


def write_tuned(path: Path, attentions: dict[int, Attention], metadata: dict[str, str], force: bool = False) -> None:
    """Writes maps and random vectors of layers as draw 0, as `rfa tune` writes them.

    Args:
        attentions: by layer, of one method, with maps.
        metadata: what they do not know of themselves.

    Raises:
        UsageError: for a file that is there, without `force`.
    """
    first = next(iter(attentions.values()))
    rows = first.rows is not None
    facts = {
        "format": _FORMAT,
        "method": first.method,
        "options": _in_camel_case(first),
        "causal": str(first.causal).lower(),
        "heads": str(first.heads),
        "key_heads": str(first.key_heads),
        "head_dim": str(first.head_dim),
        "learned": "maps,rows" if rows else "maps",
        "layers": ",".join(map(str, attentions)),
        **metadata,
    }
    if rows:
        facts |= {"num_features": str(first.num_features), "projection": first.projection}
    arrays: dict[str, Array] = {}
    for layer, own in attentions.items():
        facts[f"layers.{layer}.scale"] = repr(own.scale)
        for name, value in (("query_map", own.query_map), ("key_map", own.key_map), ("projection", own.rows)):
            if value is not None:
                place = f"layers.{layer}.draws.0.{name}" if rows else f"layers.{layer}.{name}"
                arrays[place] = host_array(place, value.float())
    with TemporaryDirectory(prefix="rfa-") as folder:
        whole = Path(folder) / "tuned.safetensors"
        write(whole, arrays, facts)
        create(path, whole.read_bytes(), force)


def _in_camel_case(own: Attention) -> str:
    """Options that differ from those of the method, as JSON: max_length is maxLength in a file."""
    usual = METHODS[own.method].options
    options = {name: value for name, value in own.options.items() if value != usual[name]}
    names = {name: re.sub("_([a-z])", lambda found: found[1].upper(), name) for name in options}
    return json.dumps({names[name]: value for name, value in options.items()}, default=methodcaller("item"))


def _arrays(place: Source, data: bytes) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Metadata and arrays of a file of learned parameters, in float32."""
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:start])
        if not isinstance(header, dict):
            raise ValueError(f"a header that is {type(header).__name__}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: expected a .safetensors file, got {error}") from None
    metadata = header.pop("__metadata__", {})
    if metadata.get("format") != _FORMAT:
        raise InputError(f"{place}: expected learned parameters ({_FORMAT}), got {metadata.get('format')!r}")
    arrays: dict[str, Tensor] = {}
    for name, facts in header.items():
        dtype, shape, (begin, end) = facts["dtype"], facts["shape"], facts["data_offsets"]
        if dtype not in _DTYPES:
            raise ValueError(f"{name} of {dtype}")
        own = _DTYPES[dtype]
        if not 0 <= begin <= end <= len(data) - start or end - begin != own.itemsize * math.prod(shape):
            raise ValueError(f"{name} {shape} at bytes {begin} to {end} of {len(data) - start}")
        part = bytearray(data[start + begin : start + end])
        arrays[name] = torch.frombuffer(part, dtype=own).view(shape).float()
    return metadata, arrays
