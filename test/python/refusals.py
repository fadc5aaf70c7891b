"""What rfa_export refuses, warns of and chooses: ends with an error where it does otherwise."""

import pathlib
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_utils import AttentionInterface
from transformers.models.mllama import configuration_mllama, modeling_mllama

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import rfa_export  # noqa: E402

transformers.logging.set_verbosity_error()
torch.manual_seed(0)
GET_INTERFACE = AttentionInterface.get_interface
made = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(made.name)
HEADS, TOKENS, WIDTH = 5, 13, 35
x = torch.randn(2, TOKENS, WIDTH)
ids = torch.randint(3, 97, (2, TOKENS))
triangle = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, tokens: torch.Tensor, **options: Any) -> torch.Tensor:
        parts = self.projection(tokens).chunk(3, -1)
        return scaled_dot_product_attention(*(part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts), **options)


def capture(model: nn.Module, run: Callable[[], Any], **options: Any) -> rfa_export.Capture:
    folder = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with rfa_export.capture(model, folder, **options) as captured, torch.no_grad():
            run()
    return captured


def refused(pattern: str, run: Callable[[], Any], error: type[Exception] = rfa_export.ExportError) -> None:
    before = len(list(FOLDER.rglob("*.safetensors")))
    try:
        run()
    except error as refusal:
        assert re.search(pattern, str(refusal)), f"{refusal}\n  does not match\n{pattern}"
    else:
        raise AssertionError(f"expected to be refused: {pattern}")
    assert len(list(FOLDER.rglob("*.safetensors"))) == before, "nothing is written"


def refused_capture(pattern: str, model: nn.Module, run: Callable[[], Any], **options: Any) -> None:
    error = options.pop("error", rfa_export.ExportError)
    refused(pattern, lambda: capture(model, run, **options), error)
    assert AttentionInterface.get_interface is GET_INTERFACE
    for module in model.modules():  # is as it was
        assert not module._forward_hooks and not module._forward_pre_hooks


def plain_attention() -> None:
    model = Attention().eval()

    def with_(**options: Any) -> Callable[[], torch.Tensor]:
        return lambda: model(x, **options)

    refused_capture(r"0 and -inf, got a bias .*ALiBi", model, with_(attn_mask=torch.randn(TOKENS, TOKENS)))
    window = triangle.triu(-3)
    refused_capture(r"padding, a causal mask, or both, got a mask of another pattern", model, with_(attn_mask=window))
    per_head = torch.stack([triangle] * 4 + [triangle | True])
    refused_capture(r"one mask for all heads", model, with_(attn_mask=per_head))
    blank = torch.ones(2, 1, 1, TOKENS, dtype=torch.bool)
    blank[1] = False
    refused_capture(r"a text that is padding alone", model, with_(attn_mask=blank))
    refused_capture(r"without dropout, got dropout 0.25 .*model\.eval\(\)", model, with_(dropout_p=0.25))
    refused_capture(r"layers 0 to 0, got 3, 7; try: layers with attention: Attention", model, with_(), layers=[0, 7, 3])
    refused_capture(r"layer 0 \(Attention\): expected heads of 0 to 4, got \[5\]", model, with_(), heads=[5])
    refused_capture(r"at least 1 token, got 0", model, with_(), tokens=0)
    refused_capture(r"layers from 0, got \[-1\]", model, with_(), layers=[-1])
    refused_capture(r"a recipe of any, bert, gpt2, llama, got 't5'", model, with_(), recipe="t5")
    refused_capture(r"a layer of the recipe's kind, got attention in Attention \(Attention\)", model, with_(), recipe="gpt2")
    refused_capture(r"to be called in the block, got 0 calls; try: pass", model, lambda: None)
    refused_capture(r"got 0 calls, attention outside of it 1 times", model, lambda: model.forward(x))
    refused_capture(r"counted from 0, got forward=-1", model, with_(), forward=-1)
    refused_capture(r"to be called 3 times, got 1 calls", model, with_(), forward=2)
    compiled = nn.Sequential(torch.compile(model))
    refused(r"not compiled, got one of torch\.compile", lambda: capture(compiled, lambda: compiled(x)))
    linear = nn.Linear(WIDTH, 3)
    refused_capture(r"got a forward without any; try: .*rfa_export\.save", linear, lambda: linear(x))
    refused_capture("of the user's own", model, lambda: raises(), error=KeyError)
    refused_capture(
        r"the model was called 2 times; call 0 is exported", model, lambda: (model(x), model(x)), error=UserWarning
    )

    kept = capture(model, with_(is_causal=True), heads=[4, 1], tokens=9).layers[0]
    whole = capture(model, with_(is_causal=True)).layers[0]
    assert kept.causal and torch.equal(kept.q, whole.q[:, [4, 1], :9]) and torch.equal(kept.v, whole.v[:, [4, 1], :9])
    additive = torch.zeros(TOKENS, TOKENS).masked_fill(~triangle, -1e9)
    for mask in (triangle, additive):
        assert capture(model, with_(attn_mask=mask)).layers[0].causal
    present = torch.arange(TOKENS) < torch.tensor([[TOKENS], [9]])
    both = present[:, None, :, None] & present[:, None, None, :]  # padding neither sees nor is seen
    found = capture(model, with_(attn_mask=both)).layers[0]
    assert not found.causal and torch.equal(found.key_mask, present)


def raises() -> None:
    raise KeyError("of the user's own")


def multihead_attention() -> None:
    model = nn.TransformerEncoderLayer(WIDTH, HEADS, 31, batch_first=True)
    refused_capture(r"layer 0 \(self_attn\): .*dropout 0.1", model, lambda: model(x))
    extra = nn.MultiheadAttention(WIDTH, HEADS, add_bias_kv=True).eval()
    refused_capture(r"keys that are tokens, got add_bias_kv", extra, lambda: extra(x, x, x))
    static = torch.randn(2 * HEADS, 4, WIDTH // HEADS)
    plain = nn.MultiheadAttention(WIDTH, HEADS).eval()
    weights = plain.in_proj_weight, plain.in_proj_bias, None, None, False, 0.0, plain.out_proj.weight, plain.out_proj.bias

    class Static(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            options = dict(training=False, static_k=static, static_v=static)
            return nn.functional.multi_head_attention_forward(x, x, x, WIDTH, HEADS, *weights, **options)

    fixed = Static()
    refused_capture(r"keys that are tokens, got static_k or static_v", fixed, lambda: fixed(x.transpose(0, 1)))


def multihead_causal() -> None:
    """Torch trusts is_causal where neither padding nor weights are asked for, and then does not look at the mask."""
    model = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    nothing = torch.zeros(TOKENS, TOKENS)
    for weights in (False, True):
        outputs = []
        run = lambda: outputs.append(model(x, x, x, attn_mask=nothing, is_causal=True, need_weights=weights)[0])  # noqa: E731, B023
        layer = capture(model, run).layers[0]
        mixed = scaled_dot_product_attention(layer.q, layer.k, layer.v, is_causal=layer.causal)
        torch.testing.assert_close(model.out_proj(mixed.transpose(1, 2).flatten(2)), outputs[0])
        assert layer.causal is not weights


class Two(nn.Module):
    """Attends twice; `late` raises after the attention of `enc`, and is caught where `careful`."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.dec = Attention(), Attention()
        self.late, self.careful = False, False

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        try:
            self.failing(tokens)
        except KeyError:
            if not self.careful:
                raise
        parts = self.dec(tokens)
        return parts, scaled_dot_product_attention(*[parts] * 3)

    def failing(self, tokens: torch.Tensor) -> None:
        handle = self.enc.projection.register_forward_hook(lambda *_: raises()) if self.careful else None
        try:
            self.enc(tokens)
            if self.late:
                raises()
        finally:
            if handle:
                handle.remove()


def outside_of_a_call() -> None:
    model = Two().eval()
    found = capture(model, lambda: (model(x), model.enc(x), scaled_dot_product_attention(*[x[:, None]] * 3)))
    assert found.modules == ["enc", "dec", "Two"], found.modules
    assert list(found.layers) == [0, 1, 2]


def after_a_call_that_raises() -> None:
    model = Two().eval()
    model.late = True

    def run() -> None:
        try:
            model(x)
        except KeyError:
            scaled_dot_product_attention(*[x[:, None]] * 3)

    assert capture(model, run).modules == ["enc"]


def after_a_part_that_raises() -> None:
    model = Two().eval()
    model.careful = True
    assert capture(model, lambda: model(x)).modules == ["dec", "Two"]


def compiled_models() -> None:
    whole = Attention().eval()
    whole.compile()
    refused(r"one of torch\.compile \(Attention\)", lambda: capture(whole, lambda: whole(x)))
    part = nn.Sequential(Attention().eval())
    part[0].forward = torch.compile(part[0].forward)
    refused(r"one of torch\.compile \(0\)", lambda: capture(part, lambda: part(x)))
    exempt = nn.Sequential(Attention().eval())
    exempt[0].forward = torch.compiler.disable(exempt[0].forward)
    assert capture(exempt, lambda: exempt(x)).modules == ["0"]


class Delegated(nn.Module):
    """Hands its queries to an attention function, as models of Transformers do."""

    is_causal = True

    def forward(self, name: str, **options: Any) -> Any:
        attend = transformers.AttentionInterface().get_interface(name, None)
        return attend(self, *(options.pop(part, x[:, None]) for part in ("query", "key", "value")), None, **options)


class Undecided(Delegated):
    def __init__(self) -> None:
        super().__init__()

    def __getattribute__(self, name: str) -> Any:
        if name == "is_causal":
            raise AttributeError(name)
        return super().__getattribute__(name)


def attention_functions() -> None:
    model = Delegated()
    lengths = torch.tensor([0, 5, TOKENS])
    for name in ("sinks", "indices", "topk_indices", "block_indices", "cu_seq_lens_q", "cu_seq_lens_k", "cache"):
        refused_capture(rf"scaled logits, got .* \({name}\)", model, lambda: model("sdpa", **{name: lengths}))  # noqa: B023
    AttentionInterface.register("flash_attention_own", lambda *_, **__: (torch.zeros(1), None))
    positions = torch.arange(TOKENS)[None]
    one = dict.fromkeys(("query", "key", "value"), x[:1, None])
    flash = lambda at: model("flash_attention_own", position_ids=at, **one)  # noqa: E731
    refused_capture(r"rise by 1, got packed texts", model, lambda: flash(positions % 5))
    assert capture(model, lambda: flash(positions + 2)).layers[0].causal


def causal_by_default() -> None:
    """Transformers takes a module that does not say otherwise for a causal one, in sdpa and for more than one query."""
    model = Undecided()
    outputs = []
    layer = capture(model, lambda: outputs.append(model("sdpa")[0])).layers[0]
    own = scaled_dot_product_attention(layer.q, layer.k, layer.v, is_causal=layer.causal)
    torch.testing.assert_close(own.transpose(1, 2), outputs[0])
    assert layer.causal
    assert not capture(model, lambda: model("sdpa", query=x[:, None, -1:])).layers[0].causal


def static_cache() -> None:
    """The slots that a prompt leaves empty are no keys."""
    sizes = dict(vocab_size=97, hidden_size=60, num_hidden_layers=1, num_attention_heads=6, num_key_value_heads=2)
    for implementation in ("sdpa", "eager"):
        config = transformers.LlamaConfig(**sizes, intermediate_size=31, attn_implementation=implementation)
        llama = transformers.LlamaModel(config).eval()
        cache = transformers.StaticCache(config=config, max_cache_len=TOKENS + 3)
        layer = capture(llama, lambda: llama(ids, past_key_values=cache, use_cache=True)).layers[0]  # noqa: B023
        whole = capture(llama, lambda: llama(ids)).layers[0]  # noqa: B023
        assert layer.causal and layer.key_mask is None and torch.equal(layer.k, whole.k), layer.k.shape


def recipes() -> None:
    text = dict(
        vocab_size=97, hidden_size=60, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, intermediate_size=31
    )
    config = configuration_mllama.MllamaTextConfig(**text, cross_attention_layers=[1])
    takes = rfa_export.RECIPES["llama"]
    assert takes(modeling_mllama.MllamaTextSelfAttention(config, 0))
    assert not takes(modeling_mllama.MllamaTextCrossAttention(config, 1))


def transformers_models() -> None:
    sizes = dict(vocab_size=97, hidden_size=60, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2)
    llama = transformers.LlamaModel(transformers.LlamaConfig(**sizes, intermediate_size=31)).eval()
    windowed = transformers.MistralConfig(**sizes, intermediate_size=31, sliding_window=5)
    mistral = transformers.MistralModel(windowed).eval()
    refused_capture(r"a mask of another pattern .*window", mistral, lambda: mistral(ids))
    t5 = transformers.T5Model(
        transformers.T5Config(vocab_size=97, d_model=35, d_kv=7, num_heads=5, num_layers=2, d_ff=31)
    ).eval()
    refused_capture(r"a bias", t5, lambda: t5(input_ids=ids, decoder_input_ids=ids))

    def continued() -> None:
        seen = llama(ids, use_cache=True).past_key_values
        llama(ids[:, :4], past_key_values=seen)

    refused_capture(r"queries that continue the keys of an earlier call", llama, continued, forward=1)
    leading = torch.ones_like(ids)
    leading[1, :4] = 0
    padded = lambda: llama(ids, attention_mask=leading)  # noqa: E731
    refused_capture(r'begins with padding.*padding_side = "right"', llama, padded, error=UserWarning)
    for heads, shared in (([3, 4, 5], 1), ([0, 3], 2), ([5, 4, 3], 3), ([3, 4, 5, 0, 1, 2], 2)):
        layer = capture(llama, lambda: llama(ids), heads=heads, layers=[1]).layers[1]
        whole = capture(llama, lambda: llama(ids)).layers[1]
        assert (layer.q.shape[1], layer.k.shape[1]) == (len(heads), shared)
        group = len(heads) // shared
        for place, head in enumerate(heads):
            assert torch.equal(layer.k[:, place // group], whole.k[:, head // 3])

    bart_sizes = dict(d_model=35, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=31, decoder_ffn_dim=31)
    bart_heads = dict(encoder_attention_heads=5, decoder_attention_heads=5)
    bart = transformers.BartModel(transformers.BartConfig(vocab_size=97, **bart_sizes, **bart_heads)).eval()
    read = lambda: bart(ids, decoder_input_ids=ids[:, :7])  # noqa: E731
    found = capture(bart, read)
    assert found.modules[2:4] == ["decoder.layers.0.self_attn", "decoder.layers.0.encoder_attn"]
    assert [layer.causal for layer in found.layers.values()] == [False, False, True, False, True, False]
    refused_capture(r"all causal or all not, in one file, got 0 not, .*2 causal", bart, read, one_file=True)


def files() -> None:
    q, k, v = torch.randn(2, 6, TOKENS, 8), torch.randn(2, 2, 9, 8), torch.randn(2, 2, 9, 3)
    path = FOLDER / "own.safetensors"
    for convert in (torch.Tensor.bfloat16, torch.Tensor.half, torch.Tensor.float, torch.Tensor.double):
        arrays = {"q": convert(q), "k": convert(k), "v": convert(v), "key_mask": torch.arange(18).reshape(2, 9) % 3 > 0}
        rfa_export.save(path, **arrays, causal=True, scale=0.5, origin="drawn")
        loaded = load_file(path)  # the library's own reader
        assert loaded.keys() == arrays.keys()
        assert all(loaded[name].dtype == array.dtype and torch.equal(loaded[name], array) for name, array in arrays.items())
        with safe_open(path, "pt") as file:
            texts = file.metadata()
        wanted = {"causal": "true", "scale": "0.5", "origin": "drawn", "layout": "bhld", "tokens": str(TOKENS)}
        assert wanted.items() <= texts.items(), texts
        assert texts["exported_by"].startswith("rfa_export ")
    rfa_export.save(path, q.transpose(1, 2).numpy(), k.transpose(1, 2).numpy(), v.transpose(1, 2).numpy(), layout="blhd")
    assert torch.equal(load_file(path)["k"], k)
    rfa_export.save(path, q, k, v, key_mask=np.ones((2, 9), dtype=np.int64))
    path.unlink()
    refused(r"q \[B, H, L, D\].*H a multiple of H_kv, got q \[2, 5, 13, 8\]", lambda: rfa_export.save(path, q[:, :5], k, v))
    refused(r"key_mask \[2, 9\], as k has them, got \[2, 8\]", lambda: rfa_export.save(path, q, k, v, key_mask=torch.ones(2, 8)))
    refused(r"save, q: expected 4 axes, got \[6, 13, 8\]", lambda: rfa_export.save(path, q[0], k, v))
    refused(r"save, q: expected float32.*got torch.int64", lambda: rfa_export.save(path, q.long(), k, v))
    refused(r"a positive scale, got -1", lambda: rfa_export.save(path, q, k, v, scale=-1))
    refused(r"save, origin: expected a text, got 7", lambda: rfa_export.save(path, q, k, v, origin=7))
    refused(r"layout bhld or blhd, got 'lbhd'", lambda: rfa_export.save(path, q, k, v, layout="lbhd"))
    refused(r"ends in \.safetensors, got .*own\.npz", lambda: rfa_export.save(path.with_suffix(".npz"), q, k, v))


def whole_files() -> None:
    """A write that fails leaves the file that was there, and nothing beside it; a capture tells of another's files."""
    folder = FOLDER / "whole"
    folder.mkdir()
    path, arrays = folder / "own.safetensors", [torch.randn(1, 2, 3, 4) for _ in range(3)]
    rfa_export.save(path, *arrays)
    before = path.read_bytes()
    write = pathlib.Path.write_bytes

    def cut_off(self: pathlib.Path, content: bytes) -> None:
        write(self, content[:100])
        raise OSError("no space left")

    pathlib.Path.write_bytes = cut_off
    try:
        refused("no space left", lambda: rfa_export.save(path, *arrays, causal=True), OSError)
    finally:
        pathlib.Path.write_bytes = write
    assert path.read_bytes() == before and list(folder.iterdir()) == [path]

    model = Two().eval()
    with rfa_export.capture(model, folder):
        model(x)
    for options, others in (({"layers": [1]}, "layer0.safetensors, layer2"), ({"one_file": True}, "layer0.+layer1.+layer2")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            with rfa_export.capture(model, folder, **options):
                model(x)
        assert len(caught) == 1 and re.search(f"also has {others}.safetensors of an earlier", str(caught[0].message)), caught
        assert caught[0].filename == __file__


TESTS = [
    plain_attention, multihead_attention, multihead_causal, outside_of_a_call, after_a_call_that_raises,
    after_a_part_that_raises, compiled_models, attention_functions, causal_by_default, static_cache, recipes,
    transformers_models, files, whole_files,
]  # fmt: skip
failures = []
for test in TESTS:
    try:
        test()
    except Exception:
        failures.append(f"{test.__name__}: {traceback.format_exc()}")
if failures:
    sys.exit("\n".join(failures))
print("refusals and files are as they should be")
