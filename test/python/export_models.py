"""Exports small random models of every kind, and beside each what its attention gave: python export_models.py FOLDER

FOLDER/NAME holds the files of `rfa_export.capture` and `own.safetensors` with `layers.N.own` [B, H, L, Dv], the model's
own attention output, as it enters the output projection. `after.safetensors` holds `layers.N.added` [B, L, width], what
comes out of it without its bias, and `layers.N.stream` [B, L, width], the hidden states that the model hands out.
"""

import copy
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import rfa_export  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
BATCH, TOKENS, VOCABULARY = 3, 13, 97
transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore", "rfa_export: the model was called 4 times")
torch.manual_seed(0)

ids = torch.randint(3, VOCABULARY, (BATCH, TOKENS))
padding = torch.ones(BATCH, TOKENS, dtype=torch.long)
padding[1, 9:] = 0
padding[2, 4:] = 0
Layers = dict[int, nn.Module]


def peaked(model: nn.Module) -> nn.Module:
    """Weights of 5 times what they are drawn with: attention that a wrong scale, mask or rotation would change."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(5)
    return model.eval()


def write_after(name: str, projections: Layers, run: Callable[[], Any]) -> None:
    inputs: dict[int, torch.Tensor] = {}
    hooks = []
    for number, module in projections.items():

        def keep(_module: nn.Module, given: Any, number: int = number) -> None:
            inputs[number] = given[0].detach()

        hooks.append(module.register_forward_pre_hook(keep))
    with torch.no_grad():
        hidden = run().hidden_states
    for hook in hooks:
        hook.remove()
    after = {}
    for number, module in projections.items():
        twin = copy.deepcopy(module).double()  # so that the bias can be taken off without a trace
        if twin.bias is not None:
            nn.init.zeros_(twin.bias)
        after[f"layers.{number}.added"] = twin(inputs[number].double()).float().detach()
    after |= {f"layers.{number}.stream": hidden[number].contiguous() for number in projections}
    (FOLDER / name / "after.safetensors").write_bytes(rfa_export._safetensors(after, {}))


@contextmanager
def outputs_of(projections: Layers, heads: int, calls: Sequence[int] = (0,)) -> Iterator[dict[str, torch.Tensor]]:
    """What enters output projections, in one of their calls, as [B, H, L, Dv]."""
    own: dict[str, torch.Tensor] = {}
    counts = dict.fromkeys(projections, 0)
    hooks = []
    for number, module in projections.items():

        def keep(_module: nn.Module, inputs: Any, number: int = number) -> None:
            if counts[number] in calls:
                own[f"layers.{number}.own"] = inputs[0].detach().unflatten(-1, (heads, -1)).transpose(1, 2)
            counts[number] += 1

        hooks.append(module.register_forward_pre_hook(keep))
    yield own
    for hook in hooks:
        hook.remove()


def export(
    name: str,
    model: nn.Module,
    run: Callable[[], Any],
    projections: Layers,
    heads: int,
    **options: Any,
) -> None:
    folder = FOLDER / name
    calls = (options.get("forward", 0),)
    with outputs_of(projections, heads, calls) as own, torch.no_grad():
        with rfa_export.capture(model, folder, **options):
            run()
    write_own(folder, own)


def write_own(folder: pathlib.Path, own: dict[str, torch.Tensor]) -> None:
    (folder / "own.safetensors").write_bytes(rfa_export._safetensors(own, {}))


def bert(implementation: str) -> None:
    sizes = dict(hidden_size=35, num_attention_heads=5, num_hidden_layers=3, intermediate_size=31)
    model = peaked(BertModel(BertConfig(vocab_size=VOCABULARY, **sizes, attn_implementation=implementation)))
    dense = {number: model.encoder.layer[number].attention.output.dense for number in (0, 2)}
    inputs = {"input_ids": ids, "attention_mask": padding}
    export(f"bert-{implementation}", model, lambda: model(**inputs), dense, 5, layers=[2, 0], recipe="bert")
    write_after(f"bert-{implementation}", dense, lambda: model(**inputs, output_hidden_states=True))


def gpt2(implementation: str) -> None:
    config = GPT2Config(
        vocab_size=VOCABULARY, n_embd=35, n_head=5, n_layer=2, n_positions=31, attn_implementation=implementation,
        scale_attn_by_inverse_layer_idx=True,
    )  # fmt: skip
    model = peaked(GPT2LMHeadModel(config))
    dense = {number: block.attn.c_proj for number, block in enumerate(model.transformer.h)}
    inputs = {"input_ids": ids, "attention_mask": padding}
    export(f"gpt2-{implementation}", model, lambda: model(**inputs), dense, 5, one_file=True, recipe="gpt2")
    write_after(f"gpt2-{implementation}", dense, lambda: model(**inputs, output_hidden_states=True))


def llama_model(implementation: str, dtype: torch.dtype = torch.float32) -> LlamaForCausalLM:
    sizes = dict(hidden_size=60, num_attention_heads=6, num_key_value_heads=2, num_hidden_layers=2)
    config = LlamaConfig(vocab_size=VOCABULARY, **sizes, intermediate_size=31, attn_implementation=implementation)
    return peaked(LlamaForCausalLM(config)).to(dtype)


def llama(implementation: str) -> None:
    model = llama_model(implementation)
    dense = {number: block.self_attn.o_proj for number, block in enumerate(model.model.layers)}
    export(f"llama-{implementation}", model, lambda: model(input_ids=ids), dense, 6, recipe="llama")
    padded = {"input_ids": ids, "attention_mask": padding}
    options = {"one_file": True, "recipe": "llama"}
    export(f"llama-{implementation}-padded", model, lambda: model(**padded), dense, 6, **options)
    name = f"llama-{implementation}-padded"
    write_after(name, dense, lambda: model(**padded, output_hidden_states=True))


def llama_decoding() -> None:
    model = llama_model("sdpa")
    dense = {number: block.self_attn.o_proj for number, block in enumerate(model.model.layers)}
    generate = lambda: model.generate(ids, max_new_tokens=4, do_sample=False)  # noqa: E731
    export("llama-step", model, generate, dense, 6, forward=2)


def llama_half() -> None:
    model = llama_model("sdpa", torch.bfloat16)
    with rfa_export.capture(model, FOLDER / "llama-bfloat16"), torch.no_grad():
        model(input_ids=ids)


def encoder() -> None:
    """In inference, where PyTorch would take its fused path around the attention modules."""
    layer = nn.TransformerEncoderLayer(30, 6, 31, batch_first=True)
    model = peaked(nn.TransformerEncoder(layer, 2))
    dense = {number: identity(layer.self_attn) for number, layer in enumerate(model.layers)}
    x, hidden = torch.randn(BATCH, TOKENS, 30), padding == 0
    with torch.inference_mode(), rfa_export.capture(model, FOLDER / "encoder"):
        model(x, src_key_padding_mask=hidden)
    with multihead_outputs(dense, 6) as own:  # with gradients, so that its modules are called
        model(x, src_key_padding_mask=hidden)
    write_own(FOLDER / "encoder", own)


def identity(module: nn.MultiheadAttention) -> nn.MultiheadAttention:
    """Its output is then its attention, to no rounding at all."""
    nn.init.eye_(module.out_proj.weight)
    nn.init.zeros_(module.out_proj.bias)
    return module


@contextmanager
def multihead_outputs(modules: Layers, heads: int) -> Iterator[dict[str, torch.Tensor]]:
    own: dict[str, torch.Tensor] = {}
    hooks = []
    for number, module in modules.items():

        def keep(_module: nn.Module, _inputs: Any, output: Any, number: int = number) -> None:
            own[f"layers.{number}.own"] = output[0].detach().unflatten(-1, (heads, -1)).transpose(1, 2)

        hooks.append(module.register_forward_hook(keep))
    yield own
    for hook in hooks:
        hook.remove()


def multihead(name: str, weights: bool, **masks: Any) -> None:
    """Self-attention under a causal mask, by the path that returns weights and the one that does not."""
    model = peaked(nn.MultiheadAttention(30, 6, batch_first=True))
    x = torch.randn(BATCH, TOKENS, 30)
    with multihead_outputs({0: identity(model)}, 6) as own, torch.no_grad():
        with rfa_export.capture(model, FOLDER / name):
            model(x, x, x, need_weights=weights, **masks)
    write_own(FOLDER / name, own)


def cross_attention() -> None:
    model = peaked(nn.MultiheadAttention(30, 6, kdim=11, vdim=17, batch_first=True))
    inputs = torch.randn(BATCH, TOKENS, 30), torch.randn(BATCH, 9, 11), torch.randn(BATCH, 9, 17)
    hidden = torch.zeros(BATCH, 9, dtype=torch.bool)
    hidden[0, 2:5] = True
    with multihead_outputs({0: identity(model)}, 6) as own, torch.no_grad():
        with rfa_export.capture(model, FOLDER / "multihead-cross"):
            model(*inputs, key_padding_mask=hidden)
    write_own(FOLDER / "multihead-cross", own)


class Own(nn.Module):
    """A module that somebody wrote, with values of another dimension and a scale of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(30, 5 * 7), nn.Linear(30, 5 * 7), nn.Linear(30, 5 * 9)
        self.out = nn.Linear(5 * 9, 30)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = (layer(x).unflatten(-1, (5, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value))
        mixed = scaled_dot_product_attention(*parts, is_causal=True, scale=0.7)
        return self.out(mixed.transpose(1, 2).flatten(2))


def own_module() -> None:
    model = Own().eval()
    x = torch.randn(BATCH, TOKENS, 30) * 3
    export("own", model, lambda: model(x), {0: model.out}, 5)


for attention in ("sdpa", "eager"):
    bert(attention)
    gpt2(attention)
    llama(attention)
llama_decoding()
llama_half()
encoder()
triangle = nn.Transformer.generate_square_subsequent_mask(TOKENS)
multihead("multihead", weights=True, attn_mask=triangle, key_padding_mask=padding == 0)
multihead("multihead-causal", weights=False, attn_mask=triangle, is_causal=True)
cross_attention()
own_module()
