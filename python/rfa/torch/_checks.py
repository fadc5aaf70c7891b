"""What may be handed to attention: names, numbers and tensors."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from .._errors import ArgumentTypeError, InputError, UsageError

#: What papers and libraries call some methods.
ALSO_CALLED = {
    "exact": "softmax",
    "sdpa": "softmax",
    "random feature attention": "rfa",
    "performer": "favor-pos",
    "favor": "favor-pos",
    "favor+": "favor-pos",
    "favor++": "oprf",
    "favor#": "saderf",
    "elu+1": "elu",
    "linear": "elu",
    "linear attention": "elu",
    "linear transformer": "elu",
    "based": "taylor",
}


def check_method(method: Any, known: Iterable[str]) -> None:
    """
    Raises:
        UsageError: for a method that does not exist.
    """
    names = list(known)
    if isinstance(method, str) and method in names:
        return
    said = str(method).lower()
    meant = ALSO_CALLED.get(said) or ALSO_CALLED.get(said.replace("-", " ").replace("_", " "))
    found = [meant] if meant else difflib.get_close_matches(said, names, 1)
    tries = [f"did you mean {name}?" for name in found]
    raise UsageError(f"method: expected one of {', '.join(names)}, got {method!r}", tries, "UNKNOWN_NAME")


def check_names(method: str, given: Iterable[str], options: Iterable[str], arguments: Iterable[str]) -> None:
    """
    Raises:
        ArgumentTypeError: for an option that the method does not have.
    """
    own = list(options)
    for name in given:
        if name not in own:
            close = difflib.get_close_matches(name, [*own, *arguments], 1)
            tries = [f"did you mean {found}=?" for found in close]
            raise ArgumentTypeError(
                f"{method}: expected {', '.join(own) or 'no options'}, got {name}", tries, "BAD_OPTION"
            )


def _real(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and math.isfinite(value)


def _whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Integral)


Rule = tuple[str, Callable[[Any], bool]]
_COUNT: Rule = ("a whole number of at least 1", lambda value: _whole(value) and value >= 1)
_INDEX: Rule = ("a whole number of at least 0", lambda value: _whole(value) and value >= 0)
_POSITIVE: Rule = ("a number above 0", lambda value: _real(value) and value > 0)
_AT_LEAST_0: Rule = ("a number of at least 0", lambda value: _real(value) and value >= 0)
_FLAG: Rule = ("True or False", lambda value: isinstance(value, bool))
_RULES: dict[str, Rule] = {
    "heads": _COUNT,
    "head_dim": _COUNT,
    "num_features": _COUNT,
    "seed": _INDEX,
    "replicate": _INDEX,
    "causal": _FLAG,
    "causal_align": ('"start" or "end"', lambda value: value in ("start", "end")),
    "scale": _POSITIVE,
    "tau": _POSITIVE,
    "constant_gate": ("a number between 0 and 1", lambda value: _real(value) and 0 <= value <= 1),
    "norm_epsilon": _AT_LEAST_0,
    "feature_scale": _POSITIVE,
    "feature_epsilon": _AT_LEAST_0,
    "a": ("a number below 0.125", lambda value: _real(value) and value < 0.125),
    "ridge": _AT_LEAST_0,
    "prefix": _INDEX,
    "max_length": _COUNT,
    "sampling": ('"single" or "mean"', lambda value: value in ("single", "mean")),
    "steps": _COUNT,
    "batch": _COUNT,
    "rank": _COUNT,
    "max_tokens": _COUNT,
    "rate": _POSITIVE,
    "nonlinearity": ('"softmax" or "exp"', lambda value: value in ("softmax", "exp")),
}
#: Arguments that may be None: a default that depends on something else.
_OPTIONAL = ("causal_align", "scale", "feature_scale", "a", "max_length")


def check_numbers(given: dict[str, Any]) -> None:
    """
    Raises:
        UsageError: for a value that cannot be.
    """
    for name, value in given.items():
        if name not in _RULES or (value is None and name in _OPTIONAL):
            continue
        expected, holds = _RULES[name]
        if not holds(value):
            raise UsageError(f"{name}: expected {expected}, got {value!r}", code="BAD_OPTION")


def check_kinds(given: dict[str, Any]) -> None:
    """
    Raises:
        ArgumentTypeError: for what is not a tensor of real numbers.
    """
    for name, value in given.items():
        if not isinstance(value, Tensor):
            tries = [f"torch.as_tensor({name})"]
            raise ArgumentTypeError(f"{name}: expected a tensor of PyTorch, got {type(value).__name__}", tries)
        if not value.is_floating_point():
            raise ArgumentTypeError(f"{name}: expected a tensor of floats, got {value.dtype}", [f"{name}.float()"])


def check_tensors(given: dict[str, Any]) -> None:
    """
    Raises:
        ArgumentTypeError: for what is not a tensor of real numbers.
        InputError: for numbers that are not finite.
    """
    check_kinds(given)
    tensors: dict[str, Tensor] = {name: value for name, value in given.items() if not value.is_meta}
    if len({value.device for value in tensors.values()}) > 1:
        got = ", ".join(f"{name} on {value.device}" for name, value in tensors.items())
        raise InputError(f"expected tensors on one device, got {got}", code="UNSUPPORTED")
    finite = [value.detach().isfinite().all() for value in tensors.values()]
    if finite and not bool(torch.stack(finite).all()):
        names = [name for name, holds in zip(tensors, finite, strict=True) if not bool(holds)]
        raise InputError(f"{', '.join(names)}: expected finite numbers, got NaN or infinity", code="NOT_FINITE")


def check_shapes(given: dict[str, Tensor | None], heads: int, dim: int) -> None:
    """Of random vectors and maps.

    Raises:
        InputError: for another shape.
    """
    for name, value in given.items():
        if value is None:
            continue
        got = list(value.shape)
        first, second = (max([1, *got[axis : axis + 1]]) for axis in (0, 1))
        of_keys = heads if heads % first else first
        wanted = {"rows": [heads, second, dim], "query_map": [heads, dim, dim], "key_map": [of_keys, dim, dim]}[name]
        if got != wanted:
            raise InputError(f"{name}: expected {wanted}, got {got}", code="SHAPE_MISMATCH")


def checked_mask(name: str, mask: Any, shape: tuple[int, int], device: torch.device) -> Tensor | None:
    """A mask [B, n] of booleans.

    Raises:
        ArgumentTypeError: for what is not a tensor.
        InputError: for another shape.
    """
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        tries = [f"torch.as_tensor({name})"]
        raise ArgumentTypeError(f"{name}: expected a tensor of PyTorch, got {type(mask).__name__}", tries)
    if tuple(mask.shape) != shape:
        raise InputError(f"{name}: expected {list(shape)}, got {list(mask.shape)}", code="SHAPE_MISMATCH")
    values = mask.detach()
    if mask.dtype != torch.bool and not mask.is_meta and not bool(((values == 0) | (values == 1)).all()):
        raise InputError(f"{name}: expected true or false, 1 or 0, got other numbers", code="BAD_OPTION")
    return mask.to(device).bool()
