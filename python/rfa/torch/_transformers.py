"""Models of Hugging Face Transformers with exchanged attention."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from .._errors import ArgumentTypeError, ProgramMissingError, UsageError
from ._attention import Attention
from ._calls import check_call, offset_of, padding_of, view_of
from ._exchange import Exchange, check_fits, chosen
from ._layers import LAYER, current, exchange, name_of
from ._tuned import Source

#: What is registered by name.
_registered: dict[str, Exchange] = {}


def register(method: str, *, name: str = "rfa", seed: int = 0, **options: Any) -> str:
    """Makes a method an attention of Transformers, for `attn_implementation="rfa"`.

    Layer i gets the random vectors of the independent repetition i of the seed, as in the first draw of `rfa swap`.
    Queries and keys are those after the rotary embedding. With a cache, new tokens attend to all keys of the cache.

    Args:
        method: as `Attention` takes it.
        name: what `attn_implementation` is then called. Each name stands for one method, seed and options.
        seed: of every draw.
        **options: further arguments of `Attention`, e.g. `num_features`.

    Returns:
        The name.

    Raises:
        ArgumentTypeError: for a name that is not text.
        UsageError: for a name that stands for another attention, and text that is no name.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(f"name: expected text, got {type(name).__name__}")
    if not re.fullmatch(r"[\w.-]+", name):
        raise UsageError(f"name: expected letters, digits, dots, dashes and underscores, got {name!r}")
    return _register(name, Exchange(method, seed, tuple(sorted(options.items()))))


def _register(name: str, own: Exchange) -> str:
    taken = _registered.get(name)
    if taken == own:
        return name
    try:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
    except ImportError as error:
        raise ProgramMissingError(
            f"rfa.torch.register: expected Transformers 4.53 or later, got {error}", ["pip install -U transformers"]
        ) from None
    method, options = own.method, dict(own.options)
    for each in ("causal", "causal_align", "scale", "heads", "head_dim", "replicate", "rows", "query_map", "key_map"):
        if each in options:
            raise ArgumentTypeError(
                f"{each}: expected nothing, as each layer of the model has its own, got it", code="BAD_OPTION"
            )
    Attention(method, heads=1, head_dim=2, causal=method != "lara", seed=own.seed, **options)
    if taken is None and name in ("eager", *AttentionInterface().valid_keys()):
        raise UsageError(f"name: expected one that is free, got {name!r}, which Transformers has", code="UNKNOWN_NAME")
    if taken is not None:
        tries = [f'name="{name}-{method}"', "rfa.torch.use(model, ...), which needs no name"]
        raise UsageError(
            f"name: expected one that is free, got {name!r}, which is {taken.method} (seed {taken.seed})", tries
        )
    AttentionInterface.register(name, _Exchanged(own, AttentionInterface()["sdpa"]))
    AttentionMaskInterface.register(name, _ordered(sdpa_mask))
    _registered[name] = own
    return name


def use(
    model: Any,
    method: str | None = None,
    *,
    tuned: Source | None = None,
    layers: Iterable[int] | None = None,
    seed: int = 0,
    **options: Any,
) -> Any:
    """Exchanges the attention of a model of Transformers: `rfa.torch.use(model, "favor-pos", num_features=256)`.

    Each model keeps its method, seed and options, as do its copies and what `torch.save` makes of it.
    `model.set_attn_implementation("sdpa")` takes the exchange back.

    Args:
        model: any that takes its attention from the attention interface of Transformers.
        method: as `Attention` takes it.
        tuned: in place of a method, a file that `rfa tune` has written. Each layer gets what was learned for it in the
            first draw.
        layers: numbers of layers; the others keep exact attention. Default: those of the file, else all.
        seed: of every draw.
        **options: further arguments of `Attention`, e.g. `num_features`.

    Returns:
        The model.

    Raises:
        InputError: for a file that was learned for other heads, another head dimension, mask or scale.
        UsageError: for a model with attention that cannot be exchanged. It stays as it was.
    """
    if not (isinstance(model, nn.Module) and hasattr(model, "set_attn_implementation")):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ArgumentTypeError(f"model: expected a model of Transformers, got {got}")
    own = chosen(method, tuned, layers, seed, options)
    exchange(model, partial(_register, own.name, own), own.check)
    return model


def exchange_of(model: Any, what: str) -> Exchange:
    """What `use` made of a model. Raises UsageError where it made nothing. `what` needs it, in words."""
    name = name_of(model)
    if name is None:
        tries, got = ["rfa.torch.use, or the part that it has exchanged"], type(model).__name__
        raise UsageError(f"{what}: expected a model after rfa.torch.use, got {got}", tries, "UNSUPPORTED")
    return _registered[name]


def attentions_of(model: nn.Module) -> dict[int, Attention]:
    """The attention of each layer that `use` has exchanged, after a call of the model."""
    from transformers import AttentionInterface

    modules = AttentionInterface()[name_of(model)].modules
    found = {module.__dict__[LAYER]: modules[module] for module in model.modules() if module in modules}
    return dict(sorted(found.items()))


def is_registered(name: str | None) -> bool:
    """Whether it is what an attention of this project is called."""
    return name in _registered


def _ordered(mask_of: Callable[..., Tensor | None]) -> Callable[..., Tensor | None]:
    """Masks that show the order of tokens even where `is_causal` of a module may stand for it: some say it wrongly."""

    def ordered(*args: Any, **kwargs: Any) -> Tensor | None:
        return mask_of(*args, **{**kwargs, "allow_is_causal_skip": False})

    return ordered


class _Exchanged:
    """The attention function of one name; it has one `Attention` for each module that calls it."""

    def __init__(self, own: Exchange, exact: Callable[..., tuple[Tensor, None]]) -> None:
        self.own, self.exact, self.learned = own, exact, own.learned()
        self.method, self.options = own.method, dict(own.options)
        self.modules: WeakKeyDictionary[nn.Module, Attention] = WeakKeyDictionary()
        self.counts: dict[int, int] = {}  # modules without a number, by their configuration

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        is_causal: bool | None = None,
        dropout: float = 0.0,
        **extras: Any,
    ) -> tuple[Tensor, None]:
        length = query.shape[2]
        running = current(module)
        if running is not None:
            running.exchanged = True
        if self.own.layers is not None and module.__dict__.get(LAYER) not in self.own.layers:
            check_call("softmax", 0, 0, length, extras)  # the mask has the window
            given = {"scaling": scaling, "is_causal": is_causal, "dropout": dropout}
            return self.exact(module, query, key, value, attention_mask, **given, **extras)
        if running is not None and running.holder is not None:
            holder = running.holder
            check_call(self.method, dropout, (holder.state.count if holder.state else 0) + length, length, extras)
            mask = padding_of(attention_mask, query, holder.state)
            own = self._attention(module, query, key, True, scaling)
            out, holder.state = own.step(query, key, value, holder.state, key_mask=mask)
            return out.transpose(1, 2).contiguous(), None
        check_call(self.method, dropout, key.shape[2], length, extras)
        cross = (running is not None and running.cross) or bool(getattr(module, "is_cross_attention", False))
        if attention_mask is not None:
            last = getattr(module, "is_causal", True) if is_causal is None else is_causal
            view = view_of(attention_mask, query, key, bool(last) and not cross)
        else:
            view = offset_of(query, key, bool(is_causal) and not cross)
        offset, mask, keys = view
        key, value = key[:, :, :keys], value[:, :, :keys]
        own_text = not cross and (offset is not None or length == keys)
        self._check_statistics(own_text, length, keys)
        first = offset or 0
        counted = mask[:, first : first + length] if own_text and mask is not None else None
        own = self._attention(module, query, key, offset is not None, scaling)
        out = own.over(query, key, value, mask, counted, offset)
        return out.transpose(1, 2).contiguous(), None

    def _check_statistics(self, own_text: bool, length: int, keys: int) -> None:
        """Refuses parts of a text where a method looks at the whole of it."""
        takes = {"oprf": self.options.get("a") is None, "saderf": True, "lara": True}.get(self.method, False)
        counts = self.method == "cosformer"
        if counts and own_text and self.options.get("max_length") is not None:
            return
        if (takes or counts) and not own_text:
            raise UsageError(
                f"{self.method}: expected queries and keys of one text, got attention to another one or to a cache",
                ["a method that looks at each token by itself, e.g. favor-pos"],
                "UNSUPPORTED",
            )
        if (takes or counts) and length < keys:
            what = "counts the positions of the text" if counts else "takes statistics of its tokens"
            tries = ["use_cache=False", *(["max_length=, the most tokens to come"] if counts else [])]
            raise UsageError(
                f"{self.method}: expected the whole text, as it {what}, got {length} of {keys} tokens and a cache",
                tries,
                "UNSUPPORTED",
            )

    def _attention(
        self, module: nn.Module, query: Tensor, key: Tensor, causal: bool, scaling: float | None
    ) -> Attention:
        own = self.modules.get(module)
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        sizes: dict[str, Any] = {"heads": query.shape[1], "head_dim": query.shape[-1], "causal": causal}
        number = self._layer(module, own)
        facts = self.learned.get(number)
        if facts is not None:
            check_fits(self.own.source, number, facts, {**sizes, "key_heads": key.shape[1], "scale": scale})
        sizes["replicate"] = number
        if own is None or any(getattr(own, name) != value for name, value in sizes.items()):
            given: dict[str, Any] = {
                **(facts or {"method": self.method, **self.options}),
                **sizes,
                "seed": self.own.seed,
            }
            own = self.modules[module] = Attention(**given)
        own.scale, own.key_heads = scale, key.shape[1]
        return own.to(query.device)  # the model may have moved

    def _layer(self, module: nn.Module, own: Attention | None) -> int:
        """Which draw: what `use` has counted, else the number that the module has, else that of its first call."""
        number = module.__dict__.get(LAYER, getattr(module, "layer_idx", None))
        if isinstance(number, int):
            return number
        if own is not None:
            return own.replicate
        owner = id(getattr(module, "config", None))
        number = self.counts.get(owner, 0)
        self.counts[owner] = number + 1
        return number
