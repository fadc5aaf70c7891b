"""Which layers `rfa_export` writes with the output matrix: those that add attention times it, and nothing else.

Prints the architectures: python output_matrices.py
"""

import pathlib
import sys
import warnings
from collections.abc import Iterator

import torch
import transformers
from torch import Tensor, nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import rfa_export  # noqa: E402
from tiny_models import architectures, inputs_of, tiny  # noqa: E402

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
PLAIN = [
    "bert", "distilbert", "roberta", "gpt2", "opt", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "phi", "cohere",
    "stablelm", "starcoder2", "vit", "clip_text_model", "granite",
]  # fmt: skip
#: Heads with gates, with norms, or less one another; then norms behind the output matrix.
BEFORE, BEHIND = ["qwen3_next", "afmoe", "diffllama", "bitnet"], ["olmo2", "gemma3_text", "glm4"]
UNIT = 2.0**-24
NAMES = dict(architectures())


def made(kind: str) -> Iterator[tuple[nn.Module, dict[str, Tensor]]]:
    """The first model that runs."""
    for _recipe, model in tiny(kind, NAMES[kind]):
        for inputs in inputs_of(model) if isinstance(model, nn.Module) else ():
            yield model, inputs


def captured(kind: str) -> tuple[nn.Module, dict[int, rfa_export.Layer], dict[nn.Module, Tensor], list[str]]:
    """A model, its layers, what came out of its modules, and the warnings."""
    model, inputs = next(made(kind))
    outputs: dict[nn.Module, Tensor] = {}
    for module in model.modules():
        module.register_forward_hook(lambda module, _given, out: outputs.update({module: out}))
    with warnings.catch_warnings(record=True) as said, torch.no_grad(), rfa_export.capture(model, None) as found:
        warnings.simplefilter("always")
        model(**inputs)
    return model, found.layers, outputs, [str(warning.message) for warning in said]


def added(layer: rfa_export.Layer, o: Tensor) -> tuple[Tensor, Tensor]:
    """[B L, width]: softmax attention times o in double precision, and how far float32 may be from it."""
    group = layer.q.shape[1] // layer.k.shape[1]
    q, o = layer.q.double(), o.double()
    k, v = (x.double().repeat_interleave(group, 1) for x in (layer.k, layer.v))
    scale = layer.scale or q.shape[-1] ** -0.5
    logits, sizes = q @ k.mT * scale, q.abs() @ k.abs().mT * scale
    if layer.causal:
        logits = logits.masked_fill(~torch.ones(logits.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    weights = logits.softmax(-1)
    # a weight is off by twice the largest logit's error, and by the sums, products and exponentials around it
    off = UNIT * (2 * (q.shape[-1] + 2) * sizes.amax(-1, keepdim=True) + 2 * k.shape[2] + 8)
    flat = lambda x: x.transpose(1, 2).flatten(2).flatten(0, 1)  # noqa: E731
    out, error = flat(weights @ v), flat(off * (weights @ v.abs()))
    return out @ o, (error + (o.shape[0] + 1) * UNIT * out.abs()) @ o.abs()


def linear_of(model: nn.Module, layer: rfa_export.Layer) -> nn.Module:
    around = layer.module.rpartition(".")[0]
    for place in (layer.module, around):
        for name in (*rfa_export.OUTPUTS, "output.dense"):
            try:
                return model.get_submodule(f"{place}.{name}")
            except AttributeError:
                continue
    raise AssertionError(layer.module)


def matrix_of(linear: nn.Module) -> Tensor:
    return linear.weight.T if isinstance(linear, nn.Linear) else linear.weight


def within(model: nn.Module, layer: rfa_export.Layer, outputs: dict[nn.Module, Tensor]) -> bool:
    linear = linear_of(model, layer)
    own = outputs[linear].flatten(0, -2).double()
    wanted, bound = added(layer, matrix_of(linear).detach())
    bias = torch.zeros(1) if linear.bias is None else linear.bias.detach()
    return bool(((own - bias - wanted).abs() <= bound + 2 * UNIT * (own.abs() + bias.abs())).all())


if __name__ == "__main__":
    for kind in [*PLAIN, *BEFORE, *BEHIND]:
        model, layers, outputs, said = captured(kind)
        said = [text for text in said if "residual_norm" in text]
        for number, layer in layers.items():
            assert (layer.o is not None) == (kind in PLAIN), f"{kind}: layer {number}"
            assert (layer.residual_norm is not None) <= (layer.o is not None), kind
            # what comes out of the output matrix is that product, unless something lies before it
            assert within(model, layer, outputs) == (kind not in BEFORE), f"{kind}: layer {number}"
        assert layers and len(said) == (kind not in PLAIN), (kind, said)
        print(kind, flush=True)
