"""Queries, keys and values as a .safetensors file, from NumPy, PyTorch, JAX or whatever has `__array__`."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._errors import ArgumentTypeError, InputError

#: Names of dtypes in the file, by those of NumPy and PyTorch.
_DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "bool": "BOOL"}


@dataclass(frozen=True)
class Array:
    """An array in row-major order on the host."""

    dtype: str  # as the file calls it
    shape: tuple[int, ...]
    data: bytes


def write(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Writes a .safetensors file: the length of a header, the header as JSON, the arrays one after the other."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + len(array.data)
        header[name] = {"dtype": array.dtype, "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.data)


def host_array(name: str, value: Any) -> Array:
    """The content of an array or tensor, on any device.

    Raises:
        ArgumentTypeError: for what is not an array, or an array of another dtype.
        InputError: for numbers that are not finite.
    """
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
        return _of_torch(name, value)
    return _of_numpy(name, value)


def _of_torch(name: str, tensor: Any) -> Array:
    dtype = _dtype(name, str(tensor.dtype).removeprefix("torch."))
    own = tensor.detach().cpu().contiguous()
    if dtype != "BOOL" and not bool(own.isfinite().all()):
        raise _not_finite(name)
    data = ctypes.string_at(own.data_ptr(), own.numel() * own.element_size())
    return Array(dtype, tuple(own.shape), data)


def _of_numpy(name: str, value: Any) -> Array:
    try:
        import numpy as np
    except ImportError:
        raise ArgumentTypeError(f"{name}: expected a torch tensor or an installed NumPy, got {_kind(value)}") from None
    if not hasattr(value, "__array__"):
        raise ArgumentTypeError(f"{name}: expected an array or a tensor, got {_kind(value)}", ["numpy.asarray(...)"])
    if np.ma.is_masked(value):
        tries = ["key_mask= for keys that take no part", f"{name}.filled(0)"]
        raise InputError(f"{name}: expected an array without a mask, got numpy.ma with hidden entries", tries)
    own: Any = np.ascontiguousarray(value)
    dtype = _dtype(name, own.dtype.name)
    if dtype != "BOOL" and not bool(np.isfinite(own.astype(np.float64)).all()):
        raise _not_finite(name)
    if own.dtype.byteorder == ">":
        own = own.byteswap()
    return Array(dtype, own.shape, own.tobytes())


def _dtype(name: str, dtype: str) -> str:
    if dtype not in _DTYPES:
        raise ArgumentTypeError(f"{name}: expected one of {', '.join(_DTYPES)}, got {dtype}", ["convert it to float32"])
    return _DTYPES[dtype]


def _not_finite(name: str) -> InputError:
    return InputError(f"{name}: expected finite numbers, got NaN or infinity", code="NOT_FINITE")


def _kind(value: Any) -> str:
    return type(value).__name__


def attention_arrays(q: Any, k: Any, v: Any, key_mask: Any = None, blhd: bool = False) -> dict[str, Array]:
    """Queries, keys and values that fit each other, and a key mask [B, S].

    Args:
        q: [B, H, L, D] or [H, L, D].
        k: [B, H_kv, S, D]; H_kv divides H.
        v: [B, H_kv, S, Dv].
        key_mask: [B, S], true for keys that take part.
        blhd: arrays are [B, L, H, D].
    """
    arrays = {name: host_array(name, value) for name, value in (("q", q), ("k", k), ("v", v))}
    for name, array in arrays.items():
        if len(array.shape) not in (3, 4) or 0 in array.shape:
            raise _shape(f"{name}: expected [batch, heads, length, head_dim]", array.shape)
        if array.dtype == "BOOL":
            raise ArgumentTypeError(f"{name}: expected numbers, got bool")
    sizes = {name: _named_axes(array.shape, blhd) for name, array in arrays.items()}
    _check_fit(sizes, {name: array.shape for name, array in arrays.items()})
    if key_mask is not None:
        arrays["key_mask"] = mask = host_array("key_mask", key_mask)
        wanted = (sizes["k"]["batch"], sizes["k"]["length"])
        if mask.shape != wanted:
            raise _shape(f"key_mask: expected [batch, keys] = {list(wanted)}", mask.shape)
    return arrays


def _named_axes(shape: tuple[int, ...], blhd: bool) -> dict[str, int]:
    batch, first, second, dim = shape if len(shape) == 4 else (1, *shape)
    heads, length = (second, first) if blhd else (first, second)
    return {"batch": batch, "heads": heads, "length": length, "dim": dim}


def _check_fit(sizes: Mapping[str, Mapping[str, int]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    q, k, v = sizes["q"], sizes["k"], sizes["v"]
    got = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
    rules = [
        ("arrays with the same number of axes", len({len(shape) for shape in shapes.values()}) == 1),
        ("the same batch in q, k and v", q["batch"] == k["batch"] == v["batch"]),
        ("the same head dimension in q and k", q["dim"] == k["dim"]),
        ("the same length in k and v", k["length"] == v["length"]),
        ("the same heads in k and v", k["heads"] == v["heads"]),
        ("heads of q that are a multiple of those of k", q["heads"] % k["heads"] == 0),
    ]
    for expected, holds in rules:
        if not holds:
            tries = ["layout='blhd' for [batch, length, heads, head_dim]"]
            raise InputError(f"q, k, v: expected {expected}, got {got}", tries, "SHAPE_MISMATCH")


def _shape(expected: str, shape: tuple[int, ...]) -> InputError:
    return InputError(f"{expected}, got {list(shape)}", code="SHAPE_MISMATCH")
