"""What the attention of a model becomes: one method, in some layers or all, drawn or learned."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from .._errors import ArgumentTypeError, InputError, UsageError
from ._tuned import Source, attention_of, read_layers, read_tuned


@dataclass(frozen=True)
class Exchange:
    """A method with what it takes."""

    method: str
    seed: int = 0
    options: tuple[tuple[str, Any], ...] = ()
    layers: tuple[int, ...] | None = None  # by number; None: all
    tuned: bytes | None = None  # a file of learned parameters
    source: Source = field(default="", compare=False)  # where that file was

    @property
    def name(self) -> str:
        """The same in every process: a model that was stored has it in its configuration."""
        facts = repr((self.method, self.seed, self.options, self.layers))
        return f"rfa-{hashlib.sha256(facts.encode() + (self.tuned or b'')).hexdigest()[:12]}"

    def learned(self) -> dict[int, dict[str, Any]]:
        """Arguments of `Attention` for each layer of the file."""
        return {} if self.tuned is None else read_layers(self.source, self.tuned)

    def check(self, modules: dict[int, nn.Module]) -> None:
        """
        Raises:
            InputError: for learned parameters that do not fit the modules of a model, as far as these say.
            UsageError: for layers that it does not have.
        """
        learned = self.learned()
        for number in self.layers or ():
            if number in modules and number in learned:
                check_fits(self.source, number, learned[number], _said(modules[number]))
            elif number not in modules:
                wanted = f"layers from {min(modules)} to {max(modules)}, which the model has"
                if learned:
                    raise _other_model(self.source, wanted, f"parameters of {number}")
                raise UsageError(f"layers: expected {wanted}, got {number}", code="BAD_OPTION")


def chosen(
    method: str | None,
    tuned: Source | None,
    layers: Iterable[int] | None,
    seed: int,
    options: dict[str, Any],
) -> Exchange:
    """The exchange that arguments of `use` name.

    Raises:
        ArgumentTypeError: for other layers than numbers, and options next to a file, which has them.
        InputError: for a file of something else, or without one of the layers.
        UsageError: for a method and a file, or neither.
    """
    if (method is None) == (tuned is None):
        raise UsageError(f"use: expected a method or tuned=, got {'neither' if method is None else 'both'}")
    numbers = _numbers(layers)
    if tuned is None:
        assert method is not None
        return Exchange(method, seed, tuple(sorted(options.items())), numbers)
    if options:
        got = ", ".join(options)
        raise ArgumentTypeError(f"{got}: expected no option, as the file of tuned= has them", code="BAD_OPTION")
    data = read_tuned(tuned)
    found = read_layers(tuned, data)
    numbers = tuple(found) if numbers is None else numbers
    if not found.keys() >= {*numbers}:
        raise InputError(f"{tuned}: expected parameters of {[*numbers]}, got those of {[*found]}", code="ARRAY_MISSING")
    checked = [attention_of(tuned, found[number], {}) for number in numbers]
    return Exchange(checked[0].method, seed, tuple(sorted(checked[0].options.items())), numbers, data, tuned)


def _numbers(layers: Iterable[int] | None) -> tuple[int, ...] | None:
    if layers is None:
        return None
    numbers = list(layers) if isinstance(layers, Iterable) else []  # pyright: ignore[reportUnnecessaryIsInstance]
    if not numbers or not all(type(number) is int for number in numbers):
        raise ArgumentTypeError(f"layers: expected numbers of layers, e.g. [0, 1], got {layers!r}")
    return tuple(sorted({*numbers}))


def check_fits(source: Source, number: int, facts: dict[str, Any], got: dict[str, Any]) -> None:
    """
    Args:
        facts: arguments of `Attention` that were learned.
        got: what a module has in their place, as far as it is known.

    Raises:
        InputError: where they differ.
    """
    keys = facts["heads"] if facts["key_map"] is None else len(facts["key_map"])
    wanted = {**{name: facts[name] for name in ("heads", "head_dim", "causal", "scale")}, "key_heads": keys}
    other = [name for name, value in got.items() if not _same(wanted[name], value)]
    if other:
        own, theirs = (", ".join(f"{name}={each[name]}" for name in other) for each in (wanted, got))
        raise _other_model(source, f"{own} in layer {number}", theirs)


def _same(one: Any, other: Any) -> bool:
    """Files round scales."""
    return one is None or one == other or (isinstance(one, float) and math.isclose(one, other, rel_tol=1e-6))


def _said(module: nn.Module) -> dict[str, Any]:
    """Sizes of a module that attends, by the names that models have for them."""
    config = getattr(module, "config", None)  # which may mean another head dimension
    names = {
        "heads": [(module, "num_heads"), (module, "num_attention_heads"), (config, "num_attention_heads")],
        "key_heads": [(module, "num_key_value_heads"), (config, "num_key_value_heads")],
        "head_dim": [(module, "head_dim"), (module, "attention_head_size")],
    }
    said = {size: [getattr(owner, name, None) for owner, name in known] for size, known in names.items()}
    numbers = {size: [value for value in values if type(value) is int] for size, values in said.items()}
    return {size: values[0] for size, values in numbers.items() if values}


def _other_model(source: Source, wanted: str, got: str) -> InputError:
    tries = ["rfa tune on queries and keys of this model"]
    return InputError(f"{source}: expected {wanted}, got {got}", tries, "SHAPE_MISMATCH")
