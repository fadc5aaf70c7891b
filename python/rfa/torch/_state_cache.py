"""A cache of Transformers that holds sums of keys and values in place of keys and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .._errors import ProgramMissingError, RunError, UsageError
from ._attention import Attention
from ._forms import State
from ._layers import LAYER, implementation, innermost, name_of
from ._transformers import exchange_of

try:
    from transformers.cache_utils import Cache, CacheLayerMixin

    _ = CacheLayerMixin.get_max_length
except (ImportError, AttributeError) as error:
    tries = ["pip install -U transformers"]
    raise ProgramMissingError(f"StateCache: expected Transformers 5.23 or later, got {error}", tries) from None


class StateCache(Cache):
    """A cache of constant size, for a model after `use`: `model.generate(ids, past_key_values=StateCache(model))`.

    It gives what the model gives for the whole text at every step. One cache serves one batch of texts.

    Args:
        model: exchanged by `use`, in all layers, by a method with a recurrent form.

    Raises:
        UsageError: for a model that `use` has not exchanged, and for a method that looks at the whole text.
    """

    def __init__(self, model: Any) -> None:
        own = exchange_of(model, "StateCache")
        # which refuses what has no recurrent form
        token, causal = torch.ones(1, 1, 1, 2), own.method != "lara"
        Attention(own.method, heads=1, head_dim=2, causal=causal, **dict(own.options)).step(token, token, token)
        places = {module: getattr(module, "layer_idx", None) for module in model.modules() if LAYER in vars(module)}
        cached = {place: vars(module)[LAYER] for module, place in places.items() if type(place) is int}
        taken = sorted(place for place, number in cached.items() if own.layers is None or number in own.layers)
        if not taken or taken != list(range(max(cached) + 1)):
            got = taken or "none with a number"
            tries = ["rfa.torch.use without layers="]
            raise UsageError(f"StateCache: expected attention in all layers, got it in {got}", tries, "UNSUPPORTED")
        self.name = name_of(model)
        self.states = [_StateLayer() for _ in taken]
        super().__init__(layers=[*self.states])

    @property
    def nbytes(self) -> int:
        """Bytes that the sums take."""
        states = [layer.state for layer in self.states if layer.state]
        return sum(tensor.nbytes for state in states for tensor in state.tensors().values())

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Takes note of new keys and values, which attention then adds to the sums."""
        running = innermost()
        same = running is not None and implementation(running.module) == self.name and layer_idx < len(self.states)
        if running is None or running.cross or not same:
            got = "attention to another text" if running and running.cross else "another model or attention"
            tries = ["StateCache(model) for each model, after rfa.torch.use"]
            raise UsageError(f"StateCache: expected the model that it was made for, got {got}", tries, "UNSUPPORTED")
        running.holder = self.states[layer_idx]
        return key_states, value_states

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        """Of new tokens and those before. It is asked before the first layer, when all have the same tokens."""
        counts = {layer.get_seq_length() for layer in self.states}
        if len(counts) > 1:
            got = f"numbers of tokens of {sorted(counts)}: a layer does not use the cache, or a call was interrupted"
            tries = ["a new StateCache"]
            raise RunError(f"StateCache: expected the same tokens in all layers, got {got}", tries, "UNSUPPORTED")
        return super().get_mask_sizes(query_length, layer_idx)

    def activate_past_recording(self) -> None:
        """Refused: assisted decoding takes tokens back."""
        self.crop(0)

    def crop(self, tokens_to_remove: int) -> None:
        """Refused, as sums do not forget."""
        got = "a call that takes some back, such as assisted decoding"
        tries = ["no assistant and no prompt lookup", "copy.deepcopy(cache) before those tokens"]
        raise UsageError(f"StateCache: expected tokens that stay, got {got}", tries, "UNSUPPORTED")


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
