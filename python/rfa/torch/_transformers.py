"""Models of Hugging Face Transformers with exchanged attention."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from .._errors import ProgramMissingError, UsageError
from ._attention import Attention

#: Methods whose features depend on the whole text.
_WHOLE = {"cosformer", "oprf", "saderf"}


def register(method: str, *, name: str = "rfa", seed: int = 0, **options: Any) -> str:
    """Makes a method an attention of Transformers, for `attn_implementation="rfa"`.

    Layer i gets the random vectors of the independent repetition i of the seed, as in the first draw of `rfa swap`.
    Queries and keys are those after the rotary embedding. With a cache, a new token attends to all keys of the cache.

    Args:
        method: as `Attention` takes it.
        name: what `attn_implementation` is then called.
        seed: of every draw.
        **options: further arguments of `Attention`, e.g. `num_features`.

    Returns:
        The name.
    """
    try:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
    except ImportError as error:
        raise ProgramMissingError(
            f"rfa.torch.register: expected Transformers 4.53 or later, got {error}", ["pip install -U transformers"]
        ) from None
    Attention(method, heads=1, head_dim=2, causal=True, **options) if method != "lara" else None
    modules: WeakKeyDictionary[nn.Module, Attention] = WeakKeyDictionary()

    def attend(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        is_causal: bool | None = None,
        dropout: float = 0.0,
        **_: Any,
    ) -> tuple[Tensor, None]:
        del dropout  # of weights, which are not formed
        wanted = getattr(module, "is_causal", False) if is_causal is None else is_causal
        causal = bool(wanted) and query.shape[2] > 1
        if causal and query.shape[2] != key.shape[2]:
            raise UsageError(
                f"{method}: expected one new token or a whole text, got {query.shape[2]} of {key.shape[2]}"
            )
        own = modules.get(module)
        if own is None:
            sizes = {"heads": query.shape[1], "head_dim": query.shape[-1], "causal": bool(wanted)}
            layer = int(getattr(module, "layer_idx", None) or 0)
            own = Attention(method, **sizes, scale=scaling, seed=seed, replicate=layer, **options)
            modules[module] = own
        own.to(query.device)  # the model may have moved
        mask = _key_mask(attention_mask, causal)
        out = own.over(query, key, value, mask, causal)
        return out.transpose(1, 2).contiguous(), None

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, sdpa_mask)
    return name


def use(model: Any, method: str, *, seed: int = 0, **options: Any) -> Any:
    """Exchanges the attention of a model of Transformers: `rfa.torch.use(model, "favor-pos", num_features=256)`."""
    model.set_attn_implementation(register(method, seed=seed, **options))
    return model


def _key_mask(mask: Tensor | None, causal: bool) -> Tensor | None:
    """[B, S], from a mask [B, 1, L, S] that says nothing but padding and the order of tokens."""
    if mask is None:
        return None
    seen = mask if mask.dtype == torch.bool else mask > -1e4
    keys = seen[:, 0].any(-2)  # [B, S]
    length = seen.shape[-2]
    expected = keys[:, None]
    if causal:
        expected = expected & torch.ones(length, seen.shape[-1], dtype=torch.bool, device=seen.device).tril()
    rows = keys[:, -length:, None] if causal else torch.ones_like(keys[:, :1, None])
    # rows of padding may hold anything
    if bool(((seen[:, 0] != expected) & rows).any()):
        raise UsageError(
            "rfa.torch: expected a mask of padding and of later tokens, got another one",
            ["a window that is shorter than the text, or packed texts, cannot be computed by features"],
            "UNSUPPORTED",
        )
    return keys
