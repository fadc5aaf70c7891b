"""Writes the queries, keys and values of a PyTorch model's attention into files that rfa reads.

    import rfa_export

    with rfa_export.capture(model, "out/", layers=[0, 3]):
        model(**inputs)                        # out/layer0.safetensors, out/layer3.safetensors

    rfa_export.save("mine.safetensors", q, k, v)   # arrays of your own: torch, NumPy, or what np.asarray takes

    $ npx rfa error-sweep --input out/layer0.safetensors

`capture` records attention that is computed by

- `torch.nn.functional.scaled_dot_product_attention`, however it was imported;
- `torch.nn.MultiheadAttention`, including `nn.TransformerEncoder` and similar modules (without their fused fast path);
- the attention functions of Hugging Face Transformers 5 (`sdpa`, `eager`, `flash_attention_*`): queries and keys are
  recorded after the rotary embedding, grouped keys and values as H_kv heads.

A file holds q [B, H, L, D], k [B, H_kv, S, D], v [B, H_kv, S, Dv] in the dtype that attention gets (`torch.autocast`
may cast them further). If some keys are padding, it also holds key_mask [B, S], true for keys that take part. Keys after
the last query of causal attention are left out: no query sees them. The metadata are `causal`, `scale` if it is not
1/sqrt(D), `origin`, `model`, `module`, `layers`, `heads` and `tokens`. Attention that such a file cannot hold (a bias on
the logits, a window, packed texts, dropout) is refused with an `ExportError`.

Where they are found, a file also holds o [H Dv, width], the matrix that the outputs of all heads are multiplied by, and
residual_norm, the root mean square length of the rows of the residual stream that the product is added to. The matrix is
that of `nn.MultiheadAttention`, or of a linear layer with one of the usual names (`OUTPUTS`) in the module that attends
or around it. The residual stream is what enters the block: the innermost member of an `nn.ModuleList` or
`nn.Sequential` around that module, before a norm, where this is the first attention in the block. Both are left out, with
a warning, where attention times the matrix is neither in a sum nor in the output of that block: a gate, a norm or a factor
acts as well.

Needs torch >= 2.1 and NumPy; loads neither Transformers nor safetensors.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Union

import numpy as np
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

__all__ = ["Capture", "ExportError", "Layer", "RECIPES", "capture", "save"]
__version__ = "0.1.0"

Array = Union[torch.Tensor, np.ndarray]

#: Largest value of an additive mask that masks a key: a weight of exp(-1e4) is 0 in every dtype.
MASKED = -1e4

_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.bool: "BOOL",
}


class ExportError(ValueError):
    """What was expected, what it got, and what to try."""

    def __init__(self, where: str, expected: str, got: str, hint: str = "") -> None:
        super().__init__(f"{where}: expected {expected}, got {got}" + (f"; try: {hint}" if hint else ""))


@dataclass
class Layer:
    """One attention call of the model, as it is written."""

    q: torch.Tensor  # [B, H, L, D]
    k: torch.Tensor  # [B, H_kv, S, D]
    v: torch.Tensor  # [B, H_kv, S, Dv]
    key_mask: torch.Tensor | None = None  # [B, S], true for keys that take part; None: all do
    causal: bool = False  # query i sees keys j <= i
    scale: float | None = None  # logits are scale * q.k; None: 1/sqrt(D)
    o: torch.Tensor | None = None  # [H Dv, width], what outputs are multiplied by; None: not found
    residual_norm: float | None = None  # root mean square length of rows of the residual stream; None: not found
    module: str = ""  # where in the model, e.g. encoder.layer.0.attention.self
    heads: list[int] | None = None  # of the model, where some were chosen

    def metadata(self) -> dict[str, str]:
        """What does not follow from the arrays, as text."""
        texts = {"causal": str(self.causal).lower(), "layout": "bhld", "tokens": str(self.q.shape[2])}
        if self.scale is not None and not math.isclose(self.scale, self.q.shape[-1] ** -0.5, rel_tol=1e-12):
            texts["scale"] = repr(float(self.scale))
        if self.module:
            texts["module"] = self.module
        if self.heads is not None:
            texts["heads"] = ",".join(map(str, self.heads))
        return texts


@dataclass
class Capture:
    """What a block of `capture` has recorded so far."""

    layers: dict[int, Layer] = field(default_factory=dict)
    """The chosen layers, by their number."""
    modules: list[str] = field(default_factory=list)
    """Name of the module of each layer, including layers that were not chosen."""
    files: list[Path] = field(default_factory=list)
    """The files written; empty until the block has ended."""
    forwards: int = 0
    """How often the model was called."""


def _bert(module: torch.nn.Module) -> bool:
    return type(module).__name__.endswith("SelfAttention")


def _gpt2(module: torch.nn.Module) -> bool:
    return type(module).__name__ == "GPT2Attention" and not getattr(module, "is_cross_attention", False)


def _llama(module: torch.nn.Module) -> bool:
    grouped = hasattr(module, "num_key_value_groups") and hasattr(module, "q_proj")
    return grouped and "Cross" not in type(module).__name__


#: Which modules of a Hugging Face model are its layers: `any` takes all attention in the order of the calls.
RECIPES: Mapping[str, Callable[[torch.nn.Module], bool]] = {
    "any": lambda module: True,
    "bert": _bert,  # BERT, RoBERTa, DistilBERT, ELECTRA, ...: without cross-attention
    "gpt2": _gpt2,  # without cross-attention
    "llama": _llama,  # Llama, Mistral, Qwen, ...: with q_proj, not the fused qkv_proj of Phi-3; no cross-attention
}


#: Names of a linear layer after attention, in the module that attends; of BERT, in the module around it.
OUTPUTS = ("o_proj", "out_proj", "c_proj", "out_lin", "dense", "wo", "to_out.0", "proj", "out")
_OUTPUTS_AROUND = ("output.dense",)


@contextmanager
def capture(
    model: torch.nn.Module,
    folder: str | os.PathLike[str] | None,
    *,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    tokens: int | None = None,
    recipe: str = "any",
    forward: int = 0,
    one_file: bool = False,
    origin: str = "",
    license: str = "",
) -> Iterator[Capture]:
    """Takes q, k, v of the attention that `model` computes in the block, and writes them when the block ends.

    Layers are numbered from 0 in the order of their attention in one call of the model; for the models of the
    recipes this is their usual numbering. Tensors are copied to the CPU; the results of the model do not change.

    Args:
        model: the module that the block calls, in eval mode.
        folder: where `layerN.safetensors` are written, made where missing; None writes nothing.
        layers: numbers of the layers; default all.
        heads: numbers of query heads; default all. A group that is chosen as a whole keeps its shared keys.
        tokens: how many tokens to keep, queries and keys alike, from the first; default all. Without causal masking
            this is not what the model computes for a shorter text: shorten the text instead.
        recipe: one of `RECIPES`, which modules count as layers.
        forward: which call of the model, from 0: with `generate` 0 is the prompt, later ones are steps.
        one_file: write `layers.safetensors` with `layers.N.q`, ... instead of a file per layer.
        origin: a sentence for the metadata, e.g. the text that the model reads.
        license: of the model, for the metadata.

    Yields:
        a `Capture`.

    Raises:
        ExportError: nothing to capture, a missing layer or head, attention that a file cannot hold, active
            dropout. Then, and if the block raises, nothing is written.
    """
    chosen = None if layers is None else sorted({*layers})
    _check(model, chosen, tokens, recipe, forward)
    found = Capture()
    recorder = _Recorder(model, found, RECIPES[recipe], chosen, _Choice(heads, tokens), forward)
    with recorder.attached():
        yield found
    recorder.finish()
    if folder is not None:
        common = {"origin": origin, "license": license, "model": _model_name(model)}
        found.files = list(_write(Path(folder), found.layers, common, one_file))
        _warn_of_others(Path(folder), found.files)


def save(
    path: str | os.PathLike[str],
    q: Array,
    k: Array,
    v: Array,
    *,
    key_mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    layout: str = "bhld",
    o: Array | None = None,
    residual_norm: float | None = None,
    **metadata: str,
) -> None:
    """Writes one layer from your arrays.

    Args:
        path: ends in `.safetensors`.
        q: queries [B, H, L, D], as they enter q @ k^T, before the scale and after a rotary embedding.
        k: keys [B, H_kv, S, D]; H is a multiple of H_kv, key head j serves query heads j G .. j G + G - 1.
        v: values [B, H_kv, S, Dv].
        key_mask: [B, S], nonzero for keys that take part; default all.
        causal: whether query i sees only the keys j <= i.
        scale: logits are scale * q.k; default 1/sqrt(D).
        layout: `bhld`, or `blhd` for q [B, L, H, D], k and v [B, S, H_kv, D].
        o: [H Dv, width]: outputs of all heads, one after the other, times o are added to the residual stream. Of a
            `nn.Linear` it is `weight.T`.
        residual_norm: root mean square length of the rows of the residual stream.
        metadata: further texts: `origin`, `model`, `license`, ...

    Raises:
        ExportError: shapes that do not match, a dtype that cannot be written.
    """
    if Path(path).suffix != ".safetensors":
        raise ExportError("save", "a path that ends in .safetensors", str(path))
    if layout not in ("bhld", "blhd"):
        raise ExportError("save", "layout bhld or blhd", repr(layout))
    for name, text in metadata.items():
        if not isinstance(text, str):
            raise ExportError(f"save, {name}", "a text", repr(text))
    arrays = {name: _tensor(array, name) for name, array in (("q", q), ("k", k), ("v", v))}
    if layout == "blhd":
        arrays = {name: array.transpose(1, 2) for name, array in arrays.items()}
    mask = None if key_mask is None else _tensor(key_mask, "key_mask", rank=2) != 0
    output = None if o is None else _tensor(o, "o", rank=2)
    layer = Layer(**arrays, key_mask=mask, causal=causal, scale=scale, o=output, residual_norm=residual_norm)
    _check_layer("save", layer)
    texts = {**layer.metadata(), "exported_by": f"rfa_export {__version__}", **metadata}
    _write_whole(Path(path), _safetensors(_arrays(layer), texts))


# ---- what passes while the model runs


class _Recorder(TorchFunctionMode):
    """Sees every call of a torch function: `multi_head_attention_forward` and `scaled_dot_product_attention` are taken.

    While a mode is active torch does not use the fused fast paths of its modules. Calls inside an attention that was
    taken are ignored.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        found: Capture,
        accepts: Callable[[torch.nn.Module], bool],
        chosen: list[int] | None,
        choice: _Choice,
        forward: int,
    ) -> None:
        super().__init__()
        self.model, self.found, self.accepts, self.chosen, self.choice = model, found, accepts, chosen, choice
        self.forward = forward
        self.names = {module: name for name, module in model.named_modules()}
        self.running: list[torch.nn.Module] = []  # what runs in a call of the model, from the model to the innermost
        self.streams: dict[torch.nn.Module, torch.Tensor | None] = {}  # what entered a running block; None: used
        self.inside = False  # an attention that was taken
        self.strangers = 0  # attention outside a call of the model
        self.passed_over: list[str] = []  # attention that the recipe does not take
        self.taken: _Product | None = None  # of the attention that is computed now
        self.waiting: list[_Product] = []  # products that were not added yet
        self.without: list[str] = []  # layers that add something else

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        taken = None
        if func is F.scaled_dot_product_attention:
            taken = _of_sdpa
        elif func is F.multi_head_attention_forward:
            taken = _of_multihead
        if taken is None or self.inside:
            if self.waiting and func in _SUMS:
                self.confirm(args)
            return func(*args, **(kwargs or {}))
        module = self.running[-1] if self.running else None
        self.take(module, lambda: taken(*args, **(kwargs or {})))
        out = func(*args, **(kwargs or {}))
        self.expect(out[0] if taken is _of_multihead else out.transpose(-3, -2))
        return out

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Follows the model for as long as the block lasts."""
        hooks = []
        for module in self.names:
            hooks.append(module.register_forward_pre_hook(self.begin, with_kwargs=True))
            hooks.append(module.register_forward_hook(self.end, always_call=True))
        try:
            with self, _transformers_attention(self):
                yield
        finally:
            for hook in hooks:
                hook.remove()

    def begin(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if not self.running:
            if module is not self.model:  # a part that the block calls by itself
                return
            self.found.forwards += 1
        self.running.append(module)
        if self.names[module].rpartition(".")[2].isdigit():
            stream = args[0] if args else kwargs.get("hidden_states")
            self.streams[module] = stream if isinstance(stream, torch.Tensor) else None

    def end(self, module: torch.nn.Module, _inputs: Any, output: Any) -> None:
        self.leave_out(module, output)
        if module in self.running:
            while True:  # with modules that raised in forward
                ended = self.running.pop()
                self.streams.pop(ended, None)
                if ended is module:
                    break

    def expect(self, out: torch.Tensor) -> None:
        """Notes what the layer that was taken last should add. `out`: of attention with heads before the last axis, or of
        `nn.MultiheadAttention`, which has multiplied it already."""
        product, self.taken = self.taken, None
        if product is None:
            return
        with torch.no_grad():
            product.multiply(out.detach())
        self.waiting.append(product)

    def confirm(self, tensors: Iterable[Any]) -> None:
        """Looks for products among what is added, or put out."""
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor):
                with torch.no_grad():
                    self.waiting = [product for product in self.waiting if not product.equals(tensor)]

    def leave_out(self, module: torch.nn.Module, output: Any) -> None:
        """Takes the matrix back from layers whose products were not added before `module` ended."""
        ended = [product for product in self.waiting if product.until is module]
        if ended:
            self.confirm(output if isinstance(output, (tuple, list)) else [output])
        for product in ended:
            if product in self.waiting:
                self.waiting.remove(product)
                layer = self.found.layers[product.number]
                layer.o = layer.residual_norm = None
                self.without.append(f"{product.number} ({layer.module})")

    @property
    def current(self) -> bool:
        """Whether the call of the model that is wanted has begun, and no later one."""
        return self.found.forwards == self.forward + 1

    def take(self, module: torch.nn.Module | None, layer_of: Callable[[], Layer]) -> None:
        """Counts a layer and keeps what `layer_of` makes of its attention, where it is wanted."""
        if not self.running or module is None:  # outside a call of the model
            self.strangers += 1
            return
        if not self.current:
            return
        number, name = len(self.found.modules), self.names.get(module) or type(module).__name__
        stream = self.stream()
        if not self.accepts(module):
            self.passed_over.append(f"{name} ({type(module).__name__})")
            return
        self.found.modules.append(name)
        if self.chosen is not None and number not in self.chosen:
            return
        where = f"layer {number} ({name})"
        try:
            with torch.no_grad():
                layer = layer_of()
                layer.module = name
                around = self.running[-2] if len(self.running) > 1 else None
                block = self.block()
                if layer.o is not None:
                    self.taken = _Product(number, block or module)
                else:
                    found = _output_projection(module, around, layer.q.shape[1] * layer.v.shape[3])
                    if found is not None:
                        owner, layer.o, bias = found
                        self.taken = _Product(number, block or owner, layer.o, bias)
                _check_layer(where, layer)
                self.found.layers[number] = self.choice.of(where, layer, _row_norms(stream, module, layer))
        except _Refused as refused:
            raise ExportError(where, *refused.args) from None

    def block(self) -> torch.nn.Module | None:
        """The innermost block around the module that attends."""
        return next((module for module in reversed(self.running[:-1]) if module in self.streams), None)

    def stream(self) -> torch.Tensor | None:
        """What entered the innermost block around the module that attends, where no attention of it was before."""
        block = self.block()
        if block is None:
            return None
        stream, self.streams[block] = self.streams[block], None
        return stream

    def finish(self) -> None:
        """Raises for what was not found."""
        found = self.found
        if found.forwards <= self.forward:
            stray = f", attention outside of it {self.strangers} times" if self.strangers else ""
            raise ExportError(
                "capture",
                f"model(...) to be called {'in the block' if self.forward == 0 else f'{self.forward + 1} times'}",
                f"{found.forwards} calls{stray}",
                "pass to capture the module that the block calls, e.g. model[0].auto_model of a SentenceTransformer",
            )
        if not found.modules and self.passed_over:
            others = ", ".join(self.passed_over)
            raise ExportError("capture", "a layer of the recipe's kind", f"attention in {others}", 'recipe="any"')
        if not found.modules:
            raise ExportError(
                "capture",
                "attention by scaled_dot_product_attention, nn.MultiheadAttention or Transformers",
                "a forward without any",
                'attn_implementation="sdpa" for a model of Transformers, a model without compiled '
                "parts, or rfa_export.save with your own q, k, v",
            )
        missing = [number for number in self.chosen or [] if number >= len(found.modules)]
        if missing:
            raise ExportError(
                "capture",
                f"layers 0 to {len(found.modules) - 1}",
                ", ".join(map(str, missing)),
                f"layers with attention: {', '.join(found.modules)}",
            )
        if found.forwards > self.forward + 1:
            warnings.warn(
                f"rfa_export: the model was called {found.forwards} times; call {self.forward} is exported "
                "(forward=N chooses another)",
                stacklevel=4,
            )
        if self.without:
            warnings.warn(
                "rfa_export: attention times the output matrix is not what is added to the residual stream (a gate, a norm or"
                f" a factor acts as well): o and residual_norm are left out of layer {', '.join(self.without)}",
                stacklevel=4,
            )
        masks = [layer.key_mask for layer in found.layers.values() if layer.causal and layer.key_mask is not None]
        if not all(bool(mask[:, 0].all()) for mask in masks):
            warnings.warn(
                "rfa_export: a text begins with padding; under causal attention its queries see no key; "
                'try: tokenizer.padding_side = "right"',
                stacklevel=4,
            )


@dataclass(eq=False)
class _Product:
    """What the heads of a layer times its output matrix should be."""

    number: int
    until: torch.nn.Module  # where the product is added, or put out
    matrix: torch.Tensor | None = None  # None: attention has multiplied already
    bias: torch.Tensor | None = None
    values: torch.Tensor | None = None
    rounding: float = 0.0  # how far the model's own product may lie from `values`, in the norm

    def multiply(self, out: torch.Tensor) -> None:
        """`out`: of attention, with or without an axis of heads before the last one."""
        matrix = self.matrix
        if matrix is None:
            self.values = out
            return
        rows = out if out.shape[-1] == matrix.shape[0] else out.flatten(-2)
        if rows.shape[-1] != matrix.shape[0]:
            return
        low = (rows[..., :0] @ matrix[:0].to(rows.dtype)).dtype  # autocast may take another than that of the rows
        wide = torch.promote_types(low, torch.float32)
        with torch.autocast(rows.device.type, enabled=False):
            rows, matrix = rows.to(low).to(wide), matrix.to(low).to(wide)
            bias = matrix.new_zeros(()) if self.bias is None else self.bias.to(wide)
            self.values = rows @ matrix + bias
            sizes = self.values.abs() + bias.abs()
            sums = rows.abs() @ matrix.abs() + bias.abs()
        # a product is rounded, with its bias again, and factors of TF32 before; n sums in float32 err by sqrt(n) roundings
        unit = 2**-11 if low == torch.float32 and rows.is_cuda else torch.finfo(low).eps / 2
        errors = 4 * math.sqrt(matrix.shape[0]) * torch.finfo(wide).eps
        self.rounding = 4 * unit * float(sizes.nan_to_num().norm()) + errors * float(sums.nan_to_num().norm())

    def equals(self, other: torch.Tensor) -> bool:
        """Up to rounding, and to the order of batch and tokens."""
        values = self.values
        if values is None or not other.is_floating_point():
            return False
        if other.numel() != values.numel() or other.shape[-1:] != values.shape[-1:]:
            return False
        orders = [values] if values.dim() < 3 else [values, values.transpose(0, 1)]
        wide = torch.promote_types(values.dtype, torch.promote_types(other.dtype, torch.float32))
        eps, other = torch.finfo(other.dtype).eps, other.detach().to(wide).nan_to_num()
        for own in orders:
            own = own.to(wide).nan_to_num().reshape(other.shape)
            if float((own - other).norm()) <= self.rounding + eps * float(own.norm()):
                return True
        return False


#: How a residual stream is added to.
_SUMS = {torch.add, torch.Tensor.add, torch.Tensor.add_, torch.Tensor.__add__, torch.Tensor.__radd__, torch.Tensor.__iadd__}


class _Refused(Exception):
    """Attention that a file cannot hold: expected, got, hint."""


@contextmanager
def _transformers_attention(recorder: _Recorder) -> Iterator[None]:
    """Lets `recorder` see what Transformers hands to its attention functions, where it is loaded (5.0 or later)."""
    modeling = sys.modules.get("transformers.modeling_utils")
    interface = getattr(modeling, "AttentionInterface", None)
    original = getattr(interface, "get_interface", None)
    if original is None:
        yield
        return

    def get_interface(self: Any, implementation: str, default: Callable[..., Any]) -> Callable[..., Any]:
        attend = original(self, implementation, default)

        def recorded(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if recorder.inside:
                return attend(module, *args, **kwargs)
            recorder.take(module, lambda: _of_transformers(implementation, module, *args, **kwargs))
            recorder.inside = True
            try:
                out = attend(module, *args, **kwargs)
            finally:
                recorder.inside = False
            recorder.expect(out[0])
            return out

        return recorded

    interface.get_interface = get_interface
    try:
        yield
    finally:
        interface.get_interface = original


def _of_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Layer:
    """Arguments of `scaled_dot_product_attention`; heads without a batch [H, L, D] are a batch of one."""
    _refuse_dropout(dropout_p)
    q, k, v = (tensor[None] if tensor.dim() == 3 else tensor for tensor in (query, key, value))
    if q.dim() != 4:
        raise _Refused("queries [B, H, L, D] or [H, L, D]", str(list(query.shape)))
    if attn_mask is not None and query.dim() == 3 and attn_mask.dim() == 3:
        attn_mask = attn_mask[None]
    causal, key_mask = _mask_of(attn_mask, q, k)
    return _layer(q, k, v, key_mask, causal or is_causal, scale)


def _layer(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    key_mask: torch.Tensor | None,
    causal: bool,
    scale: float | None = None,
) -> Layer:
    """A layer without the keys after the last query of causal attention: slots of a static cache, not yet written."""
    queries = q.shape[2]
    if causal and k.shape[2] > queries:
        k, v = k[:, :, :queries], v[:, :, :queries]
        key_mask = None if key_mask is None else key_mask[:, :queries]
        if key_mask is not None and bool(key_mask.all()):
            key_mask = None
    return Layer(q, k, v, key_mask, causal, scale)


def _output_projection(
    module: torch.nn.Module, around: torch.nn.Module | None, entries: int
) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor | None] | None:
    """Of a linear layer with a usual name that takes H Dv entries: where it is, its matrix [H Dv, width] and its bias."""
    for owner, names in ((module, OUTPUTS), (around, _OUTPUTS_AROUND)):
        for name in names if owner is not None else ():
            try:
                linear = owner.get_submodule(name)
            except AttributeError:
                continue
            weight = getattr(linear, "weight", None)
            if not isinstance(weight, torch.Tensor) or weight.dim() != 2 or weight.is_meta:
                continue
            if isinstance(linear, torch.nn.Linear):
                weight = weight.T
            elif type(linear).__name__ != "Conv1D":  # of GPT-2, [in, out]
                continue
            if weight.shape[0] == entries and weight.dtype in _DTYPES:
                return owner, weight, getattr(linear, "bias", None)
    return None


def _row_norms(stream: torch.Tensor | None, module: torch.nn.Module, layer: Layer) -> torch.Tensor | None:
    """Lengths [B, L] of the rows of a residual stream, if it is what the output projection is added to."""
    if stream is None or layer.o is None or not stream.is_floating_point():
        return None
    if stream.dim() == 2:
        stream = stream[None]
    elif isinstance(module, torch.nn.MultiheadAttention) and not module.batch_first:
        stream = stream.transpose(0, 1)
    if tuple(stream.shape) != (layer.q.shape[0], layer.q.shape[2], layer.o.shape[1]):
        return None
    return stream.detach().float().norm(dim=-1)


_MULTIHEAD = inspect.signature(F.multi_head_attention_forward)


def _of_multihead(*args: Any, **kwargs: Any) -> Layer:
    """Arguments of `multi_head_attention_forward`: query [L, B, E], key and value [S, B, E], or without a batch."""
    call = _MULTIHEAD.bind(*args, **kwargs)
    call.apply_defaults()
    of = call.arguments
    _refuse_dropout(of["dropout_p"] if of["training"] else 0.0)
    if of["bias_k"] is not None or of["add_zero_attn"]:
        raise _Refused("keys that are tokens", "add_bias_kv or add_zero_attn", "rfa_export.save with your own q, k, v")
    if of["static_k"] is not None or of["static_v"] is not None:
        raise _Refused("keys that are tokens", "static_k or static_v", "rfa_export.save with your own q, k, v")
    weights = _projections(of)
    heads, arrays = of["num_heads"], []
    for name, weight, bias in weights:
        tokens = F.linear(of[name], weight, bias)  # [L, B, E]
        tokens = tokens[:, None] if tokens.dim() == 2 else tokens
        arrays.append(tokens.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3))
    q, k, v = arrays
    if of["is_causal"] and of["key_padding_mask"] is None and not of["need_weights"]:
        layer = _layer(q, k, v, None, True)  # torch trusts is_causal then, and does not look at attn_mask
    else:
        seen = _seen_by_multihead(of["attn_mask"], of["key_padding_mask"], q, k)
        causal, key_mask = _mask_of(seen, q, k)
        layer = _layer(q, k, v, key_mask, causal)
    layer.o = of["out_proj_weight"].T
    return layer


def _projections(of: Mapping[str, Any]) -> list[tuple[str, torch.Tensor, torch.Tensor | None]]:
    names = ("query", "key", "value")
    packed = of["in_proj_weight"]
    separate = of["use_separate_proj_weight"]
    weights = [of[f"{name[0]}_proj_weight"] for name in names] if separate else packed.chunk(3)
    bias = of["in_proj_bias"]
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return list(zip(names, weights, biases))


def _seen_by_multihead(
    attn_mask: torch.Tensor | None, padding: torch.Tensor | None, q: torch.Tensor, k: torch.Tensor
) -> torch.Tensor | None:
    """What is in view, from masks of `nn.MultiheadAttention`, in which true is hidden."""
    seen = None
    if attn_mask is not None:
        seen = _visible(attn_mask, hidden=True)
        if seen.dim() == 3:  # [B * H, L, S]
            seen = seen.unflatten(0, (q.shape[0], q.shape[1]))
    if padding is not None:
        keys = _visible(padding, hidden=True).reshape(-1, 1, 1, k.shape[2])
        seen = keys if seen is None else seen & keys
    return seen


def _of_transformers(
    implementation: str | None,
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any = None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **extras: Any,
) -> Layer:
    """Arguments of an attention function of Transformers: [B, H, L, D], keys after the cache, H_kv heads."""
    _refuse_dropout(dropout)
    _refuse_extras(extras)
    name = implementation or "eager"
    fused = name.startswith("flash")
    if not fused and name not in ("eager", "sdpa"):
        raise _Refused("an attention function that shows its mask", repr(name), 'attn_implementation="sdpa"')
    if attention_mask is not None and not isinstance(attention_mask, torch.Tensor):
        raise _Refused("a mask that is a tensor", type(attention_mask).__name__, 'attn_implementation="sdpa"')
    window = extras.get("sliding_window")
    if fused and window is not None and window < key.shape[2]:
        raise _Refused("attention to every key", f"a sliding window of {window}", f"texts of at most {window} tokens")
    if attention_mask is not None and attention_mask.dim() == 2:  # flash attention: padding alone
        attention_mask = attention_mask[:, None, None, -key.shape[2] :] != 0
    if fused and attention_mask is None:
        _refuse_packed(extras.get("position_ids"), query)
    causal, key_mask = _mask_of(attention_mask, query, key)
    implied = getattr(module, "is_causal", True) if is_causal is None else is_causal
    implied = implied and query.shape[2] > 1 and (fused or (name == "sdpa" and attention_mask is None))
    if implied and fused and query.shape[2] != key.shape[2]:
        raise _Refused(*_CACHED)
    return _layer(query, key, value, key_mask, causal or bool(implied), scaling)


_POSITIONS = "a model with absolute or rotary positions: rfa measures softmax of q.k alone"
_PACKED = "the texts one by one, or padded, with attention_mask"
_WHOLE = "a model with a softmax over all keys"
#: Arguments of attention functions of Transformers that change what is computed: what each is, and what to try.
_EXTRAS = {
    "position_bias": ("a bias", _POSITIONS),
    "softcap": ("softcap", _POSITIONS),
    "s_aux": ("attention sinks", _WHOLE),
    "sinks": ("attention sinks", _WHOLE),
    "indices": ("keys that the model chooses", _WHOLE),
    "topk_indices": ("keys that the model chooses", _WHOLE),
    "block_indices": ("blocks of keys that the model chooses", _WHOLE),
    "cu_seq_lens_q": ("packed texts", _PACKED),
    "cu_seq_lens_k": ("packed texts", _PACKED),
    "cache": ("a paged cache", "model(**inputs) without continuous batching"),
}


def _refuse_extras(extras: Mapping[str, Any]) -> None:
    for name, (what, hint) in _EXTRAS.items():
        if extras.get(name) is not None:
            raise _Refused("attention that is the softmax of scaled logits", f"{what} ({name}) as well", hint)


def _refuse_packed(positions: torch.Tensor | None, query: torch.Tensor) -> None:
    """Flash attention takes one row without a mask for several texts where its positions do not rise by 1."""
    if positions is None or query.shape[0] != 1 or query.shape[2] == 1:
        return
    if not bool((positions.diff(dim=-1) == 1).all()):
        raise _Refused("position_ids that rise by 1", "packed texts, with positions that restart", _PACKED)


# ---- masks


_CACHED = (
    "a causal mask that starts at the first key",
    "queries that continue the keys of an earlier call",
    "run the whole text in one call of the model, without past_key_values",
)


def _refuse_dropout(probability: float) -> None:
    if probability > 0:
        raise _Refused("attention without dropout", f"dropout {probability} of its weights", "model.eval() first")


def _visible(mask: torch.Tensor, hidden: bool = False) -> torch.Tensor:
    """True where a key is in view; boolean masks are true there, or with `hidden` where it is not."""
    if mask.dtype == torch.bool:
        return ~mask if hidden else mask
    if not mask.is_floating_point():
        raise _Refused("a mask of booleans or of floats to be added", str(mask.dtype))
    masked = mask <= MASKED
    if not bool((masked | (mask == 0)).all()):
        raise _Refused(
            "a mask of 0 and -inf",
            "a bias that is added to the logits (ALiBi, relative positions)",
            _POSITIONS,
        )
    return ~masked


def _mask_of(
    mask: torch.Tensor | None, q: torch.Tensor, k: torch.Tensor
) -> tuple[bool, torch.Tensor | None]:
    """Whether a mask that broadcasts to [B, H, L, S] is causal, and which keys of each text it lets take part.

    Queries that see no key at all, such as padding, are ignored.
    """
    batch, queries, keys = q.shape[0], q.shape[2], k.shape[2]
    if mask is None:
        return False, None
    seen = _visible(mask)
    seen = seen.reshape((1,) * (4 - seen.dim()) + tuple(seen.shape))
    if not bool((seen == seen[:, :1]).all()):
        raise _Refused("one mask for all heads", "masks that differ from head to head")
    rows = seen[:, 0].expand(batch, queries, keys)
    padding = rows.any(1)  # keys that any query sees
    if not bool(padding.any(1).all()):
        raise _Refused("a key in view of every text", "a text that is padding alone", "a batch without it")
    ordered = torch.ones(queries, keys, dtype=torch.bool, device=rows.device).tril()
    for causal in (False, True):
        whole = padding[:, None, :].expand_as(rows)
        wanted = whole & ordered if causal else whole
        described = (rows == wanted).all(-1) | ~wanted.any(-1) | ~rows.any(-1)
        if bool(described.all()):
            return causal, None if bool(padding.all()) else padding
    continued = torch.ones_like(ordered).tril(keys - queries)
    if queries < keys and bool((rows == (padding[:, None] & continued)).all()):
        raise _Refused(*_CACHED)
    raise _Refused(
        "padding, a causal mask, or both",
        "a mask of another pattern (a window, a prefix, packed texts)",
        "texts one by one and no longer than a window; rfa_export.save measures q, k, v without that mask",
    )


# ---- what is chosen, and written


class _Choice:
    """Heads and tokens."""

    def __init__(self, heads: Iterable[int] | None, tokens: int | None) -> None:
        self.heads = None if heads is None else list(dict.fromkeys(heads))
        self.tokens = tokens

    def of(self, where: str, layer: Layer, norms: torch.Tensor | None = None) -> Layer:
        """A copy of the chosen part of a layer on the CPU. `norms`: lengths [B, L] of rows of the residual stream."""
        q, k, v, mask, o = layer.q, layer.k, layer.v, layer.key_mask, layer.o
        if self.heads is not None:
            count = q.shape[1]
            if not self.heads or not all(0 <= head < count for head in self.heads):
                raise ExportError(where, f"heads of 0 to {count - 1}", str(self.heads))
            shared = _key_heads(self.heads, count // k.shape[1])
            q, k, v = q[:, self.heads], k[:, shared], v[:, shared]
            o = None if o is None else o.unflatten(0, (count, -1))[self.heads].flatten(0, 1)
        if self.tokens is not None:
            q, k, v = (tensor[:, :, : self.tokens] for tensor in (q, k, v))
            mask = None if mask is None else mask[:, : self.tokens]
            norms = None if norms is None else norms[:, : self.tokens]
        if mask is not None and not bool(mask.any(1).all()):
            raise ExportError(where, "a key of every text among the tokens", "padding alone", "more tokens")
        q, k, v = (tensor.detach().to("cpu", copy=True).contiguous() for tensor in (q, k, v))
        mask = None if mask is None else mask.to("cpu", copy=True).contiguous()
        o = None if o is None else o.detach().to("cpu", copy=True).contiguous()
        if norms is not None and mask is not None and mask.shape == norms.shape:
            norms = norms[mask.to(norms.device)]  # rows of padding are no part of the model's result
        norm = None if norms is None else float(norms.double().square().mean().sqrt())
        known = norm is not None and 0 < norm < math.inf
        return Layer(
            q, k, v, mask, layer.causal, layer.scale, o, norm if known else None, layer.module, self.heads
        )  # fmt: skip


def _key_heads(heads: Sequence[int], group: int) -> list[int]:
    """The key heads of query heads: each once where its whole group was chosen in order, else one per query head."""
    owners = [head // group for head in heads]
    distinct = list(dict.fromkeys(owners))
    whole = [head * group + member for head in distinct for member in range(group)]
    return distinct if whole == list(heads) else owners


def _check(model: torch.nn.Module, chosen: list[int] | None, tokens: int | None, recipe: str, forward: int) -> None:
    if recipe not in RECIPES:
        raise ExportError("capture", f"a recipe of {', '.join(RECIPES)}", repr(recipe))
    compiled = [name or type(model).__name__ for name, module in model.named_modules() if _is_compiled(module)]
    if compiled:
        which = f"one of torch.compile ({compiled[0]})"
        raise ExportError("capture", "a model that is not compiled", which, "the model before it")
    if isinstance(model, torch.jit.ScriptModule):
        raise ExportError("capture", "a model in Python", "a ScriptModule", "the module that it was made from")
    if chosen is not None and (not chosen or chosen[0] < 0):
        raise ExportError("capture", "layers from 0", str(chosen))
    if tokens is not None and tokens < 1:
        raise ExportError("capture", "at least 1 token", str(tokens))
    if forward < 0:
        raise ExportError("capture", "calls of the model counted from 0", f"forward={forward}")


def _is_compiled(module: torch.nn.Module) -> bool:
    """By `torch.compile(module)`, by `module.compile()`, or its forward alone (which `compiler.disable` marks too)."""
    forward = module.forward
    return (
        hasattr(module, "_orig_mod")
        or getattr(module, "_compiled_call_impl", None) is not None
        or (hasattr(forward, "_torchdynamo_orig_callable") and not getattr(forward, "_torchdynamo_disable", False))
    )


def _check_layer(where: str, layer: Layer) -> None:
    """Checks that the arrays of a layer match, have a dtype that a file can hold, and that the scale is positive."""
    q, k, v, mask = layer.q, layer.k, layer.v, layer.key_mask
    got = f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)}"
    agree = (
        q.shape[0] == k.shape[0] == v.shape[0]
        and k.shape[1:3] == v.shape[1:3]
        and q.shape[3] == k.shape[3]
        and k.shape[1] > 0
        and q.shape[1] % k.shape[1] == 0
    )
    if not agree:
        raise ExportError(where, "q [B, H, L, D], k [B, H_kv, S, D], v [B, H_kv, S, Dv], H a multiple of H_kv", got)
    if mask is not None and tuple(mask.shape) != (k.shape[0], k.shape[2]):
        raise ExportError(where, f"key_mask [{k.shape[0]}, {k.shape[2]}], as k has them", str(list(mask.shape)))
    if layer.scale is not None and not 0 < layer.scale < math.inf:
        raise ExportError(where, "a positive scale", str(layer.scale))
    entries = q.shape[1] * v.shape[3]
    if layer.o is not None and layer.o.shape[0] != entries:
        got = f"o {list(layer.o.shape)}"
        raise ExportError(where, f"o [H Dv, width], H Dv = {entries}", got, "the transpose of a weight of nn.Linear")
    if layer.residual_norm is not None and not 0 < layer.residual_norm < math.inf:
        raise ExportError(where, "a positive residual_norm", str(layer.residual_norm))
    for name, tensor in (("q", q), ("k", k), ("v", v), *((("o", layer.o),) if layer.o is not None else ())):
        if tensor.dtype not in _DTYPES or tensor.dtype == torch.bool:
            floats = "float32, float16, bfloat16 or float64"
            raise ExportError(f"{where}, {name}", floats, str(tensor.dtype), "convert it, e.g. with .float()")


def _tensor(array: Array, name: str, rank: int = 4) -> torch.Tensor:
    if isinstance(array, torch.Tensor):
        tensor = array.detach().cpu()
    else:
        if np.ma.is_masked(array):
            raise ExportError(f"save, {name}", "an array without a mask", "numpy.ma with hidden entries", "key_mask=")
        values = np.asarray(array)
        if values.dtype.name == "bfloat16":  # of ml_dtypes, as JAX has it
            tensor = torch.from_numpy(values.view(np.int16).copy()).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(np.array(values, order="C"))
    if tensor.dim() != rank:
        raise ExportError(f"save, {name}", f"{rank} axes", str(list(tensor.shape)))
    return tensor


def _model_name(model: torch.nn.Module) -> str:
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    return (os.path.basename(name) if os.path.isdir(name) else name) or type(model).__name__


def _write(folder: Path, layers: Mapping[int, Layer], common: Mapping[str, str], one_file: bool) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    texts = {name: text for name, text in common.items() if text}
    texts["exported_by"] = f"rfa_export {__version__}"
    if one_file:
        path = folder / "layers.safetensors"
        arrays, metadata = _several(layers)
        _write_whole(path, _safetensors(arrays, {**texts, **metadata, "layers": ",".join(map(str, layers))}))
        yield path
        return
    for number, layer in layers.items():
        path = folder / f"layer{number}.safetensors"
        about = {"origin": f"layer {number} of {texts['model']}", **texts}
        _write_whole(path, _safetensors(_arrays(layer), {**about, **layer.metadata(), "layers": str(number)}))
        yield path


def _write_whole(path: Path, content: bytes) -> None:
    """Under a temporary name first: an interrupted write leaves the old file."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _warn_of_others(folder: Path, written: Sequence[Path]) -> None:
    others = sorted({path.name for path in folder.glob("layer*.safetensors")} - {path.name for path in written})
    if others:
        warnings.warn(
            f"rfa_export: {folder} also has {', '.join(others)} of an earlier capture; try: another folder",
            stacklevel=4,
        )


def _several(layers: Mapping[int, Layer]) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Arrays and metadata of many layers; equal metadata are written once."""
    arrays, texts = {}, {}
    each = {number: (_arrays(layer), layer.metadata()) for number, layer in layers.items()}
    if len({layer.causal for layer in layers.values()}) > 1:
        both = ", ".join(f"{number} {'causal' if layer.causal else 'not'}" for number, layer in layers.items())
        raise ExportError("capture", "layers that are all causal or all not, in one file", both, "a file per layer")
    for number, (own, about) in each.items():
        arrays.update({f"layers.{number}.{name}": tensor for name, tensor in own.items()})
        for name, text in about.items():
            shared = all(other.get(name) == text for _, other in each.values())
            texts[name if shared else f"layers.{number}.{name}"] = text
    return arrays, texts


def _arrays(layer: Layer) -> dict[str, torch.Tensor]:
    norm = None if layer.residual_norm is None else torch.tensor([layer.residual_norm])
    arrays = {"q": layer.q, "k": layer.k, "v": layer.v, "key_mask": layer.key_mask, "o": layer.o, "residual_norm": norm}
    return {name: array for name, array in arrays.items() if array is not None}


def _safetensors(arrays: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> bytes:
    """A .safetensors file: length of the header, header, tensors, the widest dtype first so that each is aligned."""
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    parts: list[bytes] = []
    end = 0
    for name, tensor in sorted(arrays.items(), key=lambda entry: -entry[1].element_size()):
        part = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        begin, end = end, end + len(part)
        header[name] = {"dtype": _DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        parts.append(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])
