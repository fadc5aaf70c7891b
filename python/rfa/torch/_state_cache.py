"""A cache of Transformers that holds sums of keys and values in place of keys and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from .._errors import ProgramMissingError, RunError, UsageError
from ._exchange import Exchange
from ._features import METHODS
from ._forms import State
from ._layers import exchanged, innermost
from ._transformers import exchange_of

try:
    from transformers.cache_utils import Cache, CacheLayerMixin
except ImportError as error:
    raise ProgramMissingError(
        f"rfa.torch.StateCache: expected Transformers with layers of caches, got {error}", ["pip install -U transformers"]
    ) from None

#: What methods that look at the whole text need to do without it.
_NEEDED = {"oprf": "a", "cosformer": "max_length"}


class StateCache(Cache):
    """A cache of constant size, for a model after `use`: `model.generate(ids, past_key_values=StateCache(model))`.

    It gives what the model gives for the whole text at every step. One cache serves one batch of texts.

    Args:
        model: exchanged by `use`, in all layers, by a method with a recurrent form.

    Raises:
        UsageError: for a model that `use` has not exchanged, or whose method looks at the whole text.
    """

    def __init__(self, model: Any) -> None:
        own = exchange_of(model, "StateCache")
        _check_recurrent(own)
        modules = exchanged(model).items()
        cached = {module.layer_idx: number for number, module in modules if type(getattr(module, "layer_idx", 0)) is int}
        taken = [place for place, number in cached.items() if own.layers is None or number in own.layers]
        if not taken or sorted(taken) != list(range(max(cached) + 1)):
            raise UsageError(
                f"StateCache: expected exchanged attention in all layers, got it in {sorted(taken) or 'none with a number'}",
                ["use without layers="],
                "UNSUPPORTED",
            )
        super().__init__(layers=[_StateLayer() for _ in taken])

    @property
    def nbytes(self) -> int:
        """Bytes that the sums take."""
        return sum(tensor.nbytes for layer in self._states() for tensor in layer.tensors().values())

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Takes note of new keys and values, which attention then adds to the sums."""
        running = innermost()
        if running is None or running.cross or layer_idx >= len(self.layers):
            got = "a call from another one" if running is None or not running.cross else "attention to another text"
            raise UsageError(
                f"StateCache: expected the model that it was made for, after rfa.torch.use, got {got}",
                ["StateCache(model) for each model"],
                "UNSUPPORTED",
            )
        running.holder = self._layer(layer_idx)
        return key_states, value_states

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        """Of new tokens and those before. It is asked before the first layer, when all have the same tokens."""
        counts = {layer.get_seq_length() for layer in self.layers}
        if len(counts) > 1:
            raise RunError(
                f"StateCache: expected the same tokens in all layers, got {sorted(counts)}: a layer does not use the cache,"
                " or a call was interrupted",
                ["a new StateCache"],
                "UNSUPPORTED",
            )
        return super().get_mask_sizes(query_length, layer_idx)

    def activate_past_recording(self) -> None:
        """Refused: assisted decoding takes tokens back."""
        raise _no_way_back()

    def crop(self, tokens_to_remove: int) -> None:
        """Refused, as sums do not forget."""
        raise _no_way_back()

    def _layer(self, number: int) -> _StateLayer:
        layer = self.layers[number]
        assert isinstance(layer, _StateLayer)
        return layer

    def _states(self) -> list[State]:
        states = (self._layer(number).state for number in range(len(self.layers)))
        return [state for state in states if state is not None]


class _StateLayer(CacheLayerMixin):
    """The state of one layer, which attention replaces at every call."""

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        self.state: State | None = None

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Attention makes the state."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return key_states, value_states

    def get_seq_length(self) -> int:
        return self.state.count if self.state else 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        return -1

    def get_max_cache_shape(self) -> int:
        """As earlier versions call it."""
        return -1

    def reset(self) -> None:
        self.state = None

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self._change(lambda x: x.index_select(0, beam_idx.to(x.device)))

    def batch_repeat_interleave(self, repeats: int) -> None:
        self._change(lambda x: x.repeat_interleave(repeats, 0))

    def batch_select_indices(self, indices: Tensor) -> None:
        self._change(lambda x: x[indices])

    def _change(self, change: Callable[[Tensor], Tensor]) -> None:
        if self.state is not None:
            self.state = replace(self.state, **{name: change(x) for name, x in self.state.tensors().items()})


def _check_recurrent(own: Exchange) -> None:
    """
    Raises:
        UsageError: for a method that needs more of the text than sums.
    """
    name = _NEEDED.get(own.method)
    if own.method in METHODS and own.method != "saderf" and (name is None or dict(own.options).get(name) is not None):
        return
    given = "a feature map, which has a recurrent form" if name is None else f"{name}=, without which it looks at all tokens"
    tries = ["a method that looks at each token by itself, e.g. elu or favor-pos"]
    raise UsageError(f"StateCache: expected {given}, got {own.method}", tries, "UNSUPPORTED")


def _no_way_back() -> UsageError:
    return UsageError(
        "StateCache: expected tokens that stay, got a call that takes some back, such as assisted decoding",
        ["generation without an assistant or prompt lookup", "copy.deepcopy(cache) before those tokens"],
        "UNSUPPORTED",
    )
