"""The modules of a model that attend: which can be exchanged, and whether the exchange ran."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from .._errors import RunError, UsageError
from ._forms import State

#: Attribute of a module: which draw it has.
LAYER = "_rfa_layer"
#: Attribute of a module: registers its attention, which another process does not know.
_REGISTER = "_rfa_register"
_INTERFACE = {"ALL_ATTENTION_FUNCTIONS", "AttentionInterface"}
_OWN = {"softmax", "scaled_dot_product_attention", "_flash_attention_forward", "flash_attn_func"}


class Holder(Protocol):
    """Keeps the state of a layer between calls."""

    state: State | None


@dataclass
class Running:
    """One call of a module that attends."""

    module: nn.Module
    cross: bool  # to keys of another text
    exchanged: bool = False
    holder: Holder | None = None


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: list[Running] = []


_calls = _Calls()


def current(module: nn.Module) -> Running | None:
    """The call of a module that is running, where `use` follows it."""
    return next((call for call in reversed(_calls.stack) if call.module is module), None)


def innermost() -> Running | None:
    """The call of an exchanged module that is running, which code of its model comes from."""
    call = _calls.stack[-1] if _calls.stack else None
    return call if call and ours(call.module) else None


def exchange(
    model: nn.Module, register: Callable[[], str], check: Callable[[dict[int, nn.Module]], None] | None = None
) -> None:
    """Sets the attention that is registered, if all attention of the model takes it.

    Args:
        check: refuses the modules that attend, by number. Default: nothing is refused.

    Raises:
        UsageError: if some does not.
    """
    attending, others = _attending(model)
    kind = type(model).__name__
    if others:
        raise _not_all(kind, others, "which cannot")
    if not attending:
        raise UsageError(
            f"use: expected a model with the attention interface of Transformers, got {kind}, which has none",
            ["rfa.torch.Attention in the model"],
            "UNSUPPORTED",
        )
    numbered = _numbered(list(attending.values()))
    if check:
        check(numbered)
    name = register()
    before = _with_own_configs(model)
    try:
        model.set_attn_implementation(name)  # pyright: ignore[reportCallIssue]
        missed = {place: module for place, module in attending.items() if implementation(module) not in (None, name)}
        if missed:
            raise _not_all(kind, missed, "whose configuration Transformers did not change with that of the model")
    except Exception as error:
        for module, attribute, config in before:
            setattr(module, attribute, config)
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"use: expected a model that takes another attention, got {error}", code="UNSUPPORTED"
        ) from error
    _follow(model, numbered, register)


def _numbered(attending: list[nn.Module]) -> dict[int, nn.Module]:
    """By the numbers that the modules have, if these differ, else in their order."""
    numbers = [getattr(module, "layer_idx", None) for module in attending]
    own = [number for number in numbers if isinstance(number, int)]
    return dict(zip(own if len({*own}) == len(numbers) else range(len(numbers)), attending, strict=True))


def _not_all(kind: str, others: dict[str, nn.Module], why: str) -> UsageError:
    named = ", ".join(f"{place or 'the model'} ({type(module).__name__})" for place, module in list(others.items())[:3])
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return UsageError(
        f"use: expected all attention of {kind} to take another one, got {named}{more}, {why}",
        ["a part of the model that has the attention interface of Transformers, e.g. model.language_model"],
        "UNSUPPORTED",
    )


def _attending(model: nn.Module) -> tuple[dict[str, nn.Module], dict[str, nn.Module]]:
    """Modules that attend by the interface, and modules with attention of their own."""
    attending: dict[str, nn.Module] = {}
    others: dict[str, nn.Module] = {}
    for place, module in model.named_modules():
        names = _names(type(module))
        if names & _INTERFACE:
            attending[place] = module
        elif isinstance(module, nn.MultiheadAttention) or (names & _OWN and _attends(module)):
            others[place] = module
    return attending, others


def _attends(module: nn.Module) -> bool:
    """A router of experts has a softmax, too."""
    name = type(module).__name__.lower()
    return "attention" in name or "attn" in name


_known: dict[type, set[str]] = {}


def _names(kind: type) -> set[str]:
    """What the methods of a class, but for those of PyTorch and Transformers' base classes, mention."""
    if kind not in _known:
        found: set[str] = set()
        for owner in kind.__mro__:
            if owner.__module__.startswith("torch.") or owner.__module__ == "transformers.modeling_utils":
                continue
            for method in vars(owner).values():
                code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
                found.update(() if code is None else (*code.co_names, *code.co_freevars))
        _known[kind] = found
    return _known[kind]


def _with_own_configs(model: nn.Module) -> list[tuple[nn.Module, str, Any]]:
    """Copies the configurations of a model, which another may share, and returns where each was."""
    before = [
        (module, name, value)
        for module in model.modules()
        for name, value in vars(module).items()
        if hasattr(value, "_attn_implementation_internal")
    ]
    copies: dict[int, Any] = {}  # parts that share a configuration share its copy
    for module, name, config in before:
        setattr(module, name, copy.deepcopy(config, copies))
    return before


def implementation(module: nn.Module) -> str | None:
    """What the attention of a module is called."""
    return getattr(getattr(module, "config", None), "_attn_implementation", None)


def _follow(model: nn.Module, numbered: dict[int, nn.Module], register: Callable[[], str]) -> None:
    """Gives each module its draw, and has each call looked at."""
    for number, module in numbered.items():
        if LAYER not in module.__dict__:
            module.register_forward_pre_hook(_begin, with_kwargs=True)
            module.register_forward_hook(_end, always_call=True)
        module.__dict__[LAYER] = number
    for module in model.modules():
        if hasattr(module, "set_attn_implementation") and LAYER not in module.__dict__:
            module.__dict__[LAYER] = None
            module.register_forward_pre_hook(_check_outputs, with_kwargs=True)
        if LAYER in module.__dict__:
            module.__dict__[_REGISTER] = register


def _begin(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _register_again(module)
    # what Ctrl-C has left: PyTorch calls no hooks then
    _calls.stack[:] = [call for call in _calls.stack if call.module is not module]
    cross = any(kwargs.get(name) is not None for name in ("key_value_states", "encoder_hidden_states"))
    _calls.stack.append(Running(module, cross))


def _end(module: nn.Module, _args: tuple[Any, ...], _output: Any) -> None:
    while _calls.stack:
        call = _calls.stack.pop()
        if call.module is not module:
            continue
        if not call.exchanged and ours(module) and _output is not None:
            raise RunError(
                f"use: expected {type(module).__name__} to run the exchanged attention, got another path through it",
                ["model.eval()", "a call without output_attentions or head masks"],
                "UNSUPPORTED",
            )
        return


def _register_again(module: nn.Module) -> str | None:
    """Of a model that another process has exchanged and stored: the name."""
    return module.__dict__[_REGISTER]() if ours(module) else None


def ours(module: nn.Module) -> bool:
    """Whether `use` has exchanged it."""
    return str(implementation(module)).startswith("rfa-") and _REGISTER in module.__dict__


def name_of(model: Any) -> str | None:
    """What its attention is registered as; None: `use` has not exchanged it."""
    name = _register_again(model) if isinstance(model, nn.Module) else None
    return name if name == implementation(model) else None


def _check_outputs(module: nn.Module, _args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _register_again(module)
    asked = kwargs.get("output_attentions")
    config = getattr(module, "config", None)
    if ours(module) and (asked or (asked is None and getattr(config, "output_attentions", False))):
        raise UsageError(
            "output_attentions: expected False, as features do not form the weights, got True",
            ['model.set_attn_implementation("eager") to look at the weights of softmax'],
            "UNSUPPORTED",
        )
