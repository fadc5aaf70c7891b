"""Learned parameters and chosen layers in models of Transformers, and folders that keep them: python torch_tuned.py.

Prints what was tried.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import (
    BertConfig, BertModel, Gemma3ForCausalLM, Gemma3TextConfig, GPT2Config, GPT2LMHeadModel, LlamaForCausalLM, ViTConfig, ViTModel,
)  # fmt: skip

from torch_small import IDS, NARROW, ROOT, llama, loud, off, refused, run

import rfa
import rfa.torch
from rfa._arrays import host_array, write

FILE = Path("tuned.safetensors")
FACTS = dict(
    format="rfa.tuned/1", method="favor-pos", options="{}", projection="orth", num_features="16", causal="true",
    heads="4", key_heads="2", head_dim="8", learned="maps", seed="3",
)  # fmt: skip


def tuned(layers=(0, 1), rows=False, sizes=(4, 2, 8), dtype=torch.float32, **facts):
    """A file of learned parameters of layers."""
    heads, keys, dim = sizes
    own = {**FACTS, "heads": str(heads), "key_heads": str(keys), "head_dim": str(dim), **facts}
    generator = torch.Generator().manual_seed(4)
    arrays = {}
    for layer in layers:
        start = f"layers.{layer}." + ("draws.0." if rows else "")
        for name, count in (("query_map", heads), ("key_map", keys)):
            arrays[start + name] = torch.eye(dim) + 0.2 * torch.randn(count, dim, dim, generator=generator)
        if rows:
            arrays[start + "projection"] = torch.randn(heads, 16, dim, generator=generator)
        own.setdefault(f"layers.{layer}.scale", str(dim**-0.5))
    write(FILE, {name: host_array(name, array.to(dtype)) for name, array in arrays.items()}, own)
    return FILE


def grouped():
    return llama(num_key_value_heads=2)


def attended(model, place, action):
    """What one module attends to."""
    found = []
    hook = model.get_submodule(place).register_forward_hook(lambda _module, _inputs, out: found.append(out[0]))
    action()
    hook.remove()
    return found[0]


def other_layers_keep_exact_attention():
    for model, place in (
        (grouped(), "model.layers.{}.self_attn"),
        (loud(GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4))), "transformer.h.{}.attn"),
        (loud(BertModel(BertConfig(**NARROW))), "encoder.layer.{}.attention.self"),
    ):
        mask = torch.ones_like(IDS)
        mask[1, 15:] = 0
        read = lambda layer: attended(model, place.format(layer), lambda: model(IDS, attention_mask=mask))[mask.bool()]  # noqa: E731
        exact = read(0)
        both = read(rfa.torch.use(model, "favor-pos", num_features=16) and 0)
        rfa.torch.use(model, "favor-pos", num_features=16, layers=range(1, 2))
        assert off(read(0), exact) < 1e-6, place
        second = read(1)
        rfa.torch.use(model, "favor-pos", num_features=16, layers=[0])
        assert torch.equal(read(0), both) and off(read(1), second) > 0.01
        rfa.torch.use(model, "favor-pos", num_features=16, layers=[1, 0, 1])
        assert torch.equal(read(0), both)
    model = rfa.torch.use(grouped(), "elu", layers=[1])
    own = dict(max_new_tokens=4, do_sample=False, pad_token_id=0)
    assert torch.equal(model.generate(IDS, **own), model.generate(IDS, use_cache=False, **own))


def windows_may_stay_in_other_layers():
    kinds = dict(layer_types=["sliding_attention", "full_attention"], sliding_window=8, head_dim=8)
    model = loud(Gemma3ForCausalLM(Gemma3TextConfig(**NARROW, **kinds)))
    refused(lambda: rfa.torch.use(model, "softmax")(IDS), "sliding_window=8")
    model.set_attn_implementation("sdpa")
    exact = model(IDS).logits
    assert off(rfa.torch.use(model, "softmax", layers=[1])(IDS).logits, exact) < 1e-5
    assert off(rfa.torch.use(model, "elu", layers=[1])(IDS).logits, exact) > 0.01


def a_file_gives_each_layer_its_parameters():
    model = grouped()
    plain = rfa.torch.use(model, "favor-pos", num_features=16)(IDS).logits
    whole = rfa.torch.use(model, tuned=tuned())(IDS).logits
    assert off(whole, plain) > 0.01
    # rows are drawn as without a file, and each layer has the maps of its number
    places = [attention for name, attention in model.named_modules() if name.endswith("self_attn")]
    attend = rfa.torch._transformers._registered  # what use has made, by name
    assert model.config._attn_implementation in attend
    from transformers import AttentionInterface

    modules = AttentionInterface()[model.config._attn_implementation].modules
    for layer, place in enumerate(places):
        own, file = modules[place], rfa.torch.load_tuned(FILE, layer=layer)
        drawn = rfa.torch.Attention("favor-pos", heads=4, head_dim=8, num_features=16, replicate=layer, causal=True)
        assert torch.equal(own.query_map, file.query_map) and torch.equal(own.key_map, file.key_map)
        assert torch.equal(own.rows, drawn.rows)
    assert off(rfa.torch.use(model, tuned=FILE, seed=1)(IDS).logits, whole) > 0.001
    some = rfa.torch.use(model, tuned=FILE, layers=[1])(IDS).logits
    assert torch.equal(rfa.torch.use(model, tuned=tuned(layers=[1]))(IDS).logits, rfa.torch.use(model, tuned=FILE, layers=[1])(IDS).logits)
    assert off(some, whole) > 0.01
    learned = rfa.torch.use(model, tuned=tuned(rows=True, learned="maps,rows"))
    out = learned(IDS).logits
    assert torch.equal(rfa.torch.use(learned, tuned=FILE, seed=1)(IDS).logits, out)
    cache = rfa.torch.StateCache(learned)
    stepped = [learned(part, past_key_values=cache).logits for part in IDS.split([15, 1, 4], 1)]
    assert off(torch.cat(stepped, 1), out) < 1e-4


def half_precision_is_read():
    whole = rfa.torch.load_tuned(tuned(rows=True), layer=1)
    half = rfa.torch.load_tuned(tuned(rows=True, dtype=torch.float16), layer=1)
    for name in ("query_map", "key_map", "rows"):
        assert torch.equal(getattr(half, name), getattr(whole, name).half().float()), name


def options_of_a_file_count():
    model = grouped()
    file = dict(method="oprf", options='{"a": -0.1}')
    rfa.torch.StateCache(rfa.torch.use(model, tuned=tuned(**file)))
    refused(lambda: rfa.torch.StateCache(rfa.torch.use(model, tuned=tuned(method="oprf"))), "expected statistics")
    with_cache = rfa.torch.use(model, tuned=tuned(method="elu", options='{"denGuard": "add:0.5"}', learned="maps"))
    assert off(with_cache(IDS).logits, rfa.torch.use(model, tuned=tuned(method="elu"))(IDS).logits) > 0.01


def files_of_other_models_are_refused():
    model = grouped()
    before = model.config._attn_implementation
    for file, words in (
        (dict(sizes=(6, 2, 8)), "expected heads=6 in layer 0, got heads=4"),
        (dict(sizes=(4, 4, 8)), "expected key_heads=4 in layer 0, got key_heads=2"),
        (dict(sizes=(4, 2, 16)), "expected head_dim=16 in layer 0, got head_dim=8"),
        (dict(layers=(0, 5)), "expected layers from 0 to 1, which the model has, got parameters of 5"),
        (dict(preset="performer"), "expected parameters of preset exact, got those of performer"),
        (dict(num_features="0"), "num_features: expected a whole number"),
        (dict(layers=()), "expected parameters of layers"),
    ):
        refused(lambda: rfa.torch.use(model, tuned=tuned(**file)), words, rfa.InputError)
        refused(lambda: rfa.torch.use(model, tuned=tuned(**file)), "tuned.safetensors: expected", rfa.InputError)
        assert model.config._attn_implementation == before
    for file, words in (
        (dict(causal="false"), "expected causal=False in layer 0, got causal=True"),
        ({"layers.1.scale": "0.5"}, "expected scale=0.5 in layer 1, got scale=0.353"),
    ):
        refused(lambda: rfa.torch.use(model, tuned=tuned(**file))(IDS), words, rfa.InputError)
    bert = loud(BertModel(BertConfig(**NARROW)))
    refused(lambda: rfa.torch.use(bert, tuned=tuned(sizes=(4, 4, 8)))(IDS), "expected causal=True in layer 0, got causal=False")
    vit = ViTModel(ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48, image_size=32, patch_size=8))
    refused(lambda: rfa.torch.use(vit, tuned=tuned(layers=[0])), "expected heads=4, head_dim=8 in layer 0, got heads=2, head_dim=16")


def wrong_arguments_are_refused():
    model, T, U, I = grouped(), rfa.ArgumentTypeError, rfa.UsageError, rfa.InputError
    tuned()
    for action, words, kind in (
        (lambda: rfa.torch.use(model), "expected a method or tuned=, got neither", U),
        (lambda: rfa.torch.use(model, "elu", tuned=FILE), "expected a method or tuned=, got both", U),
        (lambda: rfa.torch.use(model, tuned=FILE, num_features=8), "num_features: expected no option", T),
        (lambda: rfa.torch.use(model, tuned=3), "path: expected a path, got int", T),
        (lambda: rfa.torch.use(model, tuned="none.safetensors"), "none.safetensors: expected", I),
        (lambda: rfa.torch.use(model, tuned=FILE, layers=[0, 3]), "expected parameters of [0, 3], got those of [0, 1]", I),
        (lambda: rfa.torch.use(model, "elu", layers=[0, 2]), "layers: expected layers from 0 to 1, which the model has, got 2", U),
        (lambda: rfa.torch.use(model, "elu", layers=[-1]), "got -1", U),
        (lambda: rfa.torch.use(model, "elu", layers=1), "layers: expected numbers of layers", T),
        (lambda: rfa.torch.use(model, "elu", layers=[]), "layers: expected numbers of layers", T),
        (lambda: rfa.torch.use(model, "elu", layers="01"), "layers: expected numbers of layers", T),
        (lambda: rfa.torch.register("elu", name="some", layers=[0]), "got layers", T),
        (lambda: rfa.torch.save(model, "folder"), "save: expected a model after rfa.torch.use", U),
        (lambda: rfa.torch.load("folder"), "folder: expected a folder that rfa.torch.save has written", I),
        (lambda: rfa.torch.load(3), "folder: expected a path, got int", T),
    ):
        refused(action, words, kind)
    assert not Path("folder").exists()


def folders_keep_the_attention():
    encoder = loud(BertModel(BertConfig(**NARROW)))
    saved = {
        "options": rfa.torch.use(grouped(), "rfa", tau=2.0, num_features=np.int64(8), seed=5),
        "layers": rfa.torch.use(encoder, "favor-pos", num_features=8, layers=[1]),
        "tuned": rfa.torch.use(grouped(), tuned=tuned(rows=True), layers=[0]),
    }
    FILE.unlink()
    outs = {}
    for name, model in saved.items():
        rfa.torch.save(model, name)
        outs[name] = model(IDS)[0]
        model.set_attn_implementation("sdpa")
        assert off(model(IDS)[0], outs[name]) > 0.01
        loaded = rfa.torch.load(name)
        assert type(loaded) is type(model) and torch.equal(loaded(IDS)[0], outs[name])
        assert off(type(model).from_pretrained(name)(IDS)[0], model(IDS)[0]) < 1e-6
    torch.save((IDS, outs), "outs.pt")
    read = """
import torch, rfa.torch
torch.set_grad_enabled(False)
ids, outs = torch.load("outs.pt")
for name, out in outs.items():
    assert torch.equal(rfa.torch.load(name)(ids)[0], out), name
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run([sys.executable, "-c", read], env=env, check=True)
    assert rfa.torch.load("options", dtype=torch.float64).dtype == torch.float64
    torch.save((saved["tuned"], IDS), "whole.pt")  # with its parameters
    facts = json.loads(Path("options/rfa.json").read_text())
    assert facts["options"] == {"num_features": 8, "tau": 2.0} and facts["seed"] == 5
    for changed, words in (
        ({"format": "rfa.exchange/2"}, "expected a folder that rfa.torch.save has written, got format 'rfa.exchange/2'"),
        ({"options": [1]}, "expected a folder that rfa.torch.save has written"),
        ({"options": {"tua": 1}}, "got tua"),
        ({"method": "favr"}, "method: expected one of"),
    ):
        Path("options/rfa.json").write_text(json.dumps({**facts, **changed}))
        refused(lambda: rfa.torch.load("options"), words)
    Path("options/rfa.json").write_text("[]")
    refused(lambda: rfa.torch.load("options"), "expected a folder that rfa.torch.save has written", rfa.InputError)
    Path("options/rfa.json").write_text(json.dumps(facts))
    config = json.loads(Path("options/config.json").read_text())
    Path("options/config.json").write_text(json.dumps({**config, "architectures": ["MyModel"]}))
    refused(lambda: rfa.torch.load("options"), "expected a class of Transformers, got MyModel", rfa.InputError)


def a_stored_model_keeps_its_parameters():
    model = rfa.torch.use(grouped(), tuned=tuned(), layers=[1])
    torch.save((model, IDS, model(IDS).logits), "stored.pt")
    FILE.unlink()
    read = """
import torch, rfa.torch
torch.set_grad_enabled(False)
model, ids, out = torch.load("stored.pt", weights_only=False)
assert torch.equal(model(ids).logits, out)
rfa.torch.save(model, "again")
assert torch.equal(rfa.torch.load("again")(ids).logits, out)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run([sys.executable, "-c", read], env=env, check=True)
    assert isinstance(model, LlamaForCausalLM)


run(globals(), "tuned", "grouped", "attended")
