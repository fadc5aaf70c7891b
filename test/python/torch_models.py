"""What rfa.torch does in models of Transformers, and what it refuses: python torch_models.py. Prints what was tried."""

import copy
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import (
    BertConfig, BertLMHeadModel, BertModel, BloomConfig, BloomForCausalLM, EncoderDecoderModel, Gemma2Config, Gemma2ForCausalLM,
    GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MambaConfig, MambaModel, MPNetConfig, MPNetModel, T5Config, T5EncoderModel, ViTConfig, ViTModel,
)  # fmt: skip

from torch_small import IDS, NARROW, ROOT, llama, loud, off, refused, run

import rfa
import rfa.torch
import rfa_export
from rfa._arrays import host_array, write
from rfa.torch import METHODS, Attention, load_tuned
from rfa.torch._checks import ALSO_CALLED
from rfa.torch._layers import LAYER

q, k, v = (torch.randn(2, 3, 30, 8) for _ in range(3))


def module(method, **options):
    return Attention(method, heads=3, head_dim=8, num_features=16, seed=5, **options)


def each_model_keeps_its_method():
    one = llama()
    other = copy.deepcopy(one)
    plain = one(IDS).logits
    rfa.torch.use(one, "elu")
    before = one(IDS).logits
    rfa.torch.use(other, "favor-pos", num_features=16, seed=1)
    third = copy.deepcopy(other)
    rfa.torch.register("taylor", name="beside")
    assert torch.equal(one(IDS).logits, before) and off(other(IDS).logits, before) > 0.1
    assert torch.equal(third(IDS).logits, other(IDS).logits)
    rfa.torch.use(other, "favor-pos", num_features=16, seed=2)
    assert off(third(IDS).logits, other(IDS).logits) > 1e-3
    refused(lambda: rfa.torch.register("elu", name="beside"), "which is taylor")
    for name in ("sdpa", "eager"):
        refused(lambda: rfa.torch.register("elu", name=name), "which Transformers has", rfa.UsageError)
    for name in ("", "a b", "a/b", "|"):
        refused(lambda: rfa.torch.register("elu", name=name), "name: expected letters, digits", rfa.UsageError)
    refused(lambda: rfa.torch.register("elu", name=3), "name: expected text, got int", rfa.ArgumentTypeError)
    one.set_attn_implementation("sdpa")
    assert off(one(IDS).logits, plain) < 1e-5


def models_of_one_configuration_differ():
    config = LlamaConfig(**NARROW)
    one, other = loud(LlamaForCausalLM(config)), loud(LlamaForCausalLM(config))
    plain = other(IDS).logits
    rfa.torch.use(one, "elu")
    assert torch.equal(other(IDS).logits, plain) and one.config is one.model.layers[0].self_attn.config
    before = one(IDS).logits
    rfa.torch.use(other, "favor-pos", num_features=16)
    assert torch.equal(one(IDS).logits, before) and off(other(IDS).logits, plain) > 0.1


def a_stored_model_keeps_its_method():
    model = BertModel(BertConfig(**NARROW)).eval()
    rfa.torch.use(model, "favor-pos", num_features=16, seed=1)
    torch.save((model, IDS), "model.pt")
    # another model of the other process comes first, with another method
    load = """
import sys, torch, rfa.torch
from transformers import BertConfig, BertModel
torch.set_grad_enabled(False)
model, ids = torch.load("model.pt", weights_only=False)
rfa.torch.use(BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1)), "elu")
torch.save(model(ids).last_hidden_state, "out.pt")
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run([sys.executable, "-c", load], env=env, check=True)
    assert torch.equal(torch.load("out.pt"), model(IDS).last_hidden_state)


def models_of_one_method_have_draws_of_their_own():
    one = llama()
    both = copy.deepcopy(one)
    options = dict(num_features=16, seed=4)
    whole = rfa.torch.use(one, "favor-pos", **options)(IDS).logits
    assert torch.equal(rfa.torch.use(both, "favor-pos", **options)(IDS).logits, whole)
    assert one.config._attn_implementation == both.config._attn_implementation
    one.model.layers[1].self_attn.__dict__[LAYER] = 5
    assert off(one(IDS).logits, whole) > 1e-3 and torch.equal(both(IDS).logits, whole)


def what_a_model_adds_to_logits_is_refused():
    gemma = Gemma2ForCausalLM(Gemma2Config(**NARROW, num_key_value_heads=2, head_dim=8)).eval()
    refused(lambda: rfa.torch.use(gemma, "softmax")(IDS), "softcap")
    t5 = T5EncoderModel(T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)).eval()
    refused(lambda: rfa.torch.use(t5, "softmax")(IDS), "position_bias")
    bias = torch.randn(2, 1, 20, 20)
    refused(lambda: rfa.torch.use(llama(), "softmax")(IDS, attention_mask=bias), "added to logits")
    per_head = torch.ones(2, 4, 20, 20, dtype=torch.bool).tril()
    per_head[:, 1, 5, 2] = False
    refused(lambda: rfa.torch.use(llama(), "softmax")(IDS, attention_mask=per_head), "head to head")
    window = torch.ones(2, 1, 20, 20, dtype=torch.bool).tril().triu(-5)
    refused(lambda: rfa.torch.use(llama(), "softmax")(IDS, attention_mask=window), "a window")


def a_model_that_cannot_be_exchanged_is_refused():
    for model in (
        MPNetModel(MPNetConfig(**NARROW)),
        BloomForCausalLM(BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4)),
        MambaModel(MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2)),
    ):
        before = model.config._attn_implementation
        refused(lambda: rfa.torch.use(model, "elu"), "use: expected", rfa.UsageError)
        assert model.config._attn_implementation == before
    refused(lambda: rfa.torch.use(torch.nn.Linear(2, 2), "elu"), "a model of Transformers")
    pair = EncoderDecoderModel(
        encoder=BertModel(BertConfig(**NARROW)),
        decoder=BertLMHeadModel(BertConfig(**NARROW, is_decoder=True, add_cross_attention=True)),
    )
    held = [getattr(module, "config", None) for module in pair.modules()]
    refused(lambda: rfa.torch.use(pair, "elu"), "did not change with that of the model", rfa.UsageError)
    assert all(getattr(module, "config", None) is config for module, config in zip(pair.modules(), held))


def a_cache_gives_the_whole_text():
    model = llama()
    padded = torch.ones(2, 20, dtype=torch.long)
    padded[1, :6] = 0
    for method in ["softmax", *METHODS]:
        options = {"max_length": 20} if method == "cosformer" else {}
        rfa.torch.use(model, method, **options)
        for mask in (torch.ones_like(padded), padded):
            places = (mask.cumsum(-1) - 1).clamp_min(0)
            whole = model(IDS, attention_mask=mask, position_ids=places).logits[:, -1]

            def steps():
                past = model(IDS[:, :14], attention_mask=mask[:, :14], position_ids=places[:, :14], use_cache=True)
                past = past.past_key_values
                part = slice(14, 19)
                model(IDS[:, part], attention_mask=mask[:, :19], position_ids=places[:, part], past_key_values=past)
                last = slice(19, 20)
                out = model(IDS[:, last], attention_mask=mask, position_ids=places[:, last], past_key_values=past)
                return out.logits[:, -1]

            if method in ("oprf", "saderf"):
                refused(steps, "use_cache=False", rfa.UsageError)
            else:
                assert off(steps(), whole) < 1e-4, method
    refused(lambda: rfa.torch.use(model, "cosformer").generate(IDS, max_new_tokens=3, pad_token_id=0), "max_length")
    rfa.torch.use(model, "elu")
    for options in (dict(num_beams=2), dict(), dict(cache_implementation="static")):
        own = dict(max_new_tokens=4, do_sample=False, pad_token_id=0, **options)
        plain = {name: value for name, value in own.items() if name != "cache_implementation"}
        assert torch.equal(model.generate(IDS, **own), model.generate(IDS, use_cache=False, **plain)), options


def computation_is_in_float32():
    for method in ("softmax", "elu", "favor-pos", "lara"):
        own = module(method)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(own(q, k, v), Attention.forward(own, q, k, v))
            inside = own(q, k, v)
        assert torch.equal(inside, own(q, k, v)), method


def half_precision_rounds_no_random_vector():
    own = module("oprf", query_map=torch.eye(8).repeat(3, 1, 1) / 3).calibrate(q, k)
    wanted, rows = own(q, k, v), own.rows
    for change in (own.bfloat16, own.half, lambda: own.to(torch.float16), own.double):
        kind = torch.float64 if change == own.double else torch.float32
        change()
        assert {own.rows.dtype, own.query_map.dtype} == {kind} and torch.equal(own.rows.float(), rows)
        assert off(own(q, k, v), wanted) < 1e-6


def each_layer_has_its_own_draw():
    for model, inputs in (
        (ViTModel(ViTConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8)),
         dict(pixel_values=torch.randn(1, 3, 32, 32))),
        (BertModel(BertConfig(**NARROW)), dict(input_ids=IDS)),
    ):  # fmt: skip
        rfa.torch.use(model.eval(), "favor-pos", num_features=16, seed=4)(**inputs)
        attend = transformers.AttentionInterface()[model.config._attn_implementation]
        found = sorted(own.replicate for module, own in attend.modules.items() if module in set(model.modules()))
        assert found == list(range(model.config.num_hidden_layers)), found


def an_output_matrix_is_what_is_added():
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4)).eval()
    for model in (llama(), gpt2, BertModel(BertConfig(**NARROW)).eval()):
        with rfa_export.capture(model, None) as found:
            model(IDS)
        assert all(layer.o is not None and layer.residual_norm for layer in found.layers.values()), type(model)
    gemma = Gemma2ForCausalLM(Gemma2Config(**NARROW, num_key_value_heads=2, head_dim=8, attn_logit_softcapping=None)).eval()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with rfa_export.capture(gemma, None) as found:
            gemma(IDS)
    assert all(layer.o is None for layer in found.layers.values())
    assert any("left out of layer 0" in str(each.message) for each in said)


def dropout_and_weights_are_refused():
    model = rfa.torch.use(llama(attention_dropout=0.5), "elu")
    refused(lambda: model(IDS, output_attentions=True), "output_attentions")
    refused(lambda: model.train()(IDS), "dropout of 0.5")


def fewer_queries_than_keys_take_a_corner():
    for method in ["softmax", *METHODS]:
        options = {"max_length": 30} if method == "cosformer" else {}
        own = module(method, causal=True, **options)
        refused(lambda: own(q[:, :, 20:], k, v), 'causal_align="end"', rfa.InputError)
        if method in ("oprf", "saderf"):
            own.calibrate(q, k)
        whole = own.double()(q.double(), k.double(), v.double())
        for align, rows in (("start", slice(0, 10)), ("end", slice(20, 30))):
            part = module(method, causal=True, causal_align=align, **options).double()
            if method in ("oprf", "saderf"):
                part.calibrate(q, k)
            out = part(q[:, :, rows].double(), k.double(), v.double())
            assert off(out, whole[:, :, rows]) < 1e-6, (method, align)


def padded_queries_say_nothing():
    junk = [torch.cat([x, 5 * torch.randn(2, 3, 6, 8)], 2) for x in (q, k, v)]
    front = [x.roll(6, 2) for x in junk]
    mask = torch.arange(36)[None].expand(2, 36) < 30
    for method in ["softmax", *METHODS]:
        for causal in (False, True):
            if not causal and METHODS.get(method) and METHODS[method].causal_only:
                continue
            own = module(method, causal=causal)
            alone = own(q, k, v)
            assert off(own(*junk, key_mask=mask)[:, :, :30], alone) < 1e-5, method
            assert off(own(*front, key_mask=mask.roll(6, 1))[:, :, 6:], alone) < 1e-5, method
    fixed = [module("oprf").calibrate(*each)(q, k, v) for each in ((q, k), (*junk[:2], mask))]
    assert off(*fixed) < 1e-5
    refused(lambda: module("lara")(q, k, v, query_mask=mask[:, 6:]), "query_mask")


def damaged_parameters_are_refused():
    maps = host_array("query_map", torch.eye(8).repeat(2, 1, 1))
    facts = dict(format="rfa.tuned/1", method="rfa", options='{"tau": 2}', causal="false", heads="2", head_dim="8", num_features="16")
    place = Path("damaged.safetensors")

    def load(cut=0, edited=lambda header: header, arrays=None, **changed):
        own = {name: value for name, value in {**facts, **changed}.items() if value is not None}
        write(place, arrays or {"query_map": maps}, own)
        data = place.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        text = json.dumps(edited(header)).encode()
        place.write_bytes(len(text).to_bytes(8, "little") + text + maps.data[: len(maps.data) - cut])
        return lambda: load_tuned(place)

    def array(**changed):
        return load(edited=lambda header: {**header, "query_map": {**header["query_map"], **changed}})

    assert load()().options["tau"] == 2
    for make, words in (
        (lambda: load(cut=8), "query_map [2, 8, 8] at bytes 0 to 512 of 504"),
        (lambda: array(dtype="I32"), "query_map of I32"),
        (lambda: array(dtype="F16"), "query_map [2, 8, 8] at bytes 0 to 512 of 512"),
        (lambda: array(dtype="BF16"), "query_map of BF16"),
        (lambda: array(dtype="F64"), "query_map of F64"),
        (lambda: array(shape=[2, 8, 7]), "query_map [2, 8, 7] at bytes"),
        (lambda: array(shape=[-2, -8, 8]), "as rfa tune writes them"),
        (lambda: array(data_offsets=[-8, 504]), "at bytes -8 to 504"),
        (lambda: array(data_offsets=None), "as rfa tune writes them"),
        (lambda: load(edited=lambda header: {**header, "query_map": 3}), "as rfa tune writes them"),
        (lambda: load(edited=lambda header: {**header, "__metadata__": []}), "as rfa tune writes them"),
        (lambda: load(arrays={"layers.x.query_map": maps}), "'x'"),
        (lambda: load(heads=None), "none of the name 'heads'"),
        (lambda: load(causal=None), "none of the name 'causal'"),
        (lambda: load(causal="perhaps"), "causal 'perhaps'"),
        (lambda: load(heads="x"), "'x'"),
        (lambda: load(head_dim="4"), "query_map: expected [2, 4, 4], got [2, 8, 8]"),
        (lambda: load(heads="0"), "heads: expected a whole number"),
        (lambda: load(method="favr"), "method: expected one of"),
        (lambda: load(options="{"), "as rfa tune writes them"),
        (lambda: load(options="[1]"), "as rfa tune writes them"),
        (lambda: load(options='{"tua": 1}'), "got tua"),
        (lambda: load(options='{"heads": 2}'), "options heads"),
        (lambda: load(options='{"self": 2}'), "'self'"),
    ):
        action = make()
        refused(action, words, rfa.InputError)
        refused(action, "damaged.safetensors: expected", rfa.InputError)
    load()
    refused(lambda: load_tuned(place, causal="yes"), "causal: expected True or False", rfa.UsageError)
    refused(lambda: load_tuned(None), "path: expected a path, got NoneType", rfa.ArgumentTypeError)


def shapes_that_do_not_fit_are_named():
    token, one = [x[:, :, :1] for x in (q, k, v)], torch.randn(1, 3, 1, 8)
    states = {name: module(name, causal=True).step(*token)[1] for name in ("elu", "favor-pos", "rfa-gate")}
    assert module("favor-pos", rows=torch.randn(3, 5, 8)).num_features == 5
    none = q[:, :, :0]
    maps = torch.eye(8)
    for action, words in (
        (lambda: module("elu", causal=True).step(one, one, one, states["elu"]), "state: expected batch, heads and value dimension [1, 3, 8]"),
        (lambda: module("rfa-gate", causal=True).step(one, one, one, states["rfa-gate"]), "got [2, 3, 8] of rfa-gate"),
        (lambda: module("elu", causal=True).step(*token[:2], v[:, :, :1, :4], states["elu"]), "dimension [2, 3, 4] of elu"),
        (lambda: module("rfa", causal=True).step(*token, states["favor-pos"]), "of rfa with num_features=16, head_dim=8, seed=5 and replicate=0, got"),
        (lambda: module("favor-pos", causal=True, replicate=1).step(*token, states["favor-pos"]), "and replicate=1, got [2, 3, 8] of favor-pos"),
        (lambda: module("favor-pos", causal=True, rows=torch.randn(3, 5, 8)).step(*token, states["favor-pos"]), "num_features=5"),
        (lambda: module("favor-pos", rows=torch.randn(4, 5, 8)), "rows: expected [3, 5, 8], got [4, 5, 8]"),
        (lambda: module("favor-pos", rows=torch.randn(3, 0, 8)), "rows: expected [3, 1, 8], got [3, 0, 8]"),
        (lambda: module("favor-pos", rows=torch.randn(5, 8)), "rows: expected [3, 8, 8], got [5, 8]"),
        (lambda: module("elu", query_map=maps[:, :5].repeat(3, 1, 1)), "query_map: expected [3, 8, 8], got [3, 8, 5]"),
        (lambda: module("elu", query_map=torch.ones(())), "query_map: expected [3, 8, 8], got []"),
        (lambda: module("elu", key_map=maps.repeat(2, 1, 1)), "key_map: expected [3, 8, 8], got [2, 8, 8]"),
        (lambda: module("elu", key_map=maps[None])(q, k, v), "elu: expected query [B, 3, L, 8], key [B, 1, S, 8]"),
        (lambda: module("elu", causal=True)(none, none, none), "elu: expected at least one token"),
        (lambda: module("elu")(q, none, none), "elu: expected at least one token"),
        (lambda: module("favor-pos")(none, none, none), "favor-pos: expected at least one token"),
        (lambda: module("softmax")(q, none, none), "softmax: expected at least one token"),
        (lambda: module("lara")(none, none, none), "lara: expected at least one token"),
        (lambda: module("elu")(q, k[:, :0], v[:, :0]), "elu: expected query [B, 3, L, 8], key [B, H_kv, S, 8]"),
    ):
        refused(action, words, rfa.InputError)


def wrong_arguments_are_named():
    source = (ROOT / "src/attention/estimators/index.ts").read_text()
    names = dict(re.findall(r"\['(.+?)', '(.+?)'\]", source))
    assert ALSO_CALLED == {name: method for name, method in names.items() if method in (*METHODS, "softmax", "lara")}
    U, T, I = rfa.UsageError, rfa.ArgumentTypeError, rfa.InputError
    nan = q.clone()
    nan[0, 0, 0, 0] = torch.nan
    hidden = np.ma.array(q.numpy(), mask=q.numpy() > 2)
    for action, kind, words in (
        (lambda: module("performer"), U, "did you mean favor-pos?"),
        (lambda: Attention("rfa", heads=1, head_dim=4, num_feature=3), T, "did you mean num_features=?"),
        (lambda: Attention("rfa", heads=1, head_dim=4, num_features=2.5), U, "num_features: expected a whole number"),
        (lambda: Attention("rfa", heads="3", head_dim=4), U, "heads: expected a whole number"),
        (lambda: module("FAVOR-POS"), U, "did you mean favor-pos?"),
        (lambda: module("elu", projection="ortho"), U, "projection: expected one of iid"),
        (lambda: module("softmax", orth_sign="none"), U, "orth_sign: expected one of haar"),
        (lambda: module("elu", causal_den_guard="zzz"), U, "causal_den_guard: expected none, add:E"),
        (lambda: module("elu", den_guard="zzz", causal_den_guard="none", causal=True), U, "den_guard: expected none, add:E"),
        (lambda: module("elu", den_guard="add:1e999"), U, "den_guard: expected none, add:E"),
        (lambda: rfa.torch.use(llama(), "elu", name="x"), T, "got name"),
        (lambda: rfa.torch.use(BertModel, "elu"), T, "expected a model of Transformers, got the class BertModel"),
        (lambda: module("rfa", tau=0), U, "tau: expected a number above 0"),
        (lambda: module("rfa", scale=float("nan")), U, "scale: expected"),
        (lambda: module("oprf", a=1), U, "a: expected a number below"),
        (lambda: module("lara", sampling="two"), U, "sampling: expected"),
        (lambda: module("elu", causal="yes"), U, "causal: expected"),
        (lambda: module("elu", causal=True, causal_align="left"), U, "causal_align: expected"),
        (lambda: module("elu")(q.numpy(), k, v), T, "expected a tensor of PyTorch, got ndarray"),
        (lambda: module("elu", causal=True)(q.numpy(), k, v), T, "got ndarray"),
        (lambda: module("elu")(q.long(), k, v), T, "a tensor of floats"),
        (lambda: module("elu")(nan, k, v), I, "query: expected finite numbers"),
        (lambda: module("elu")(q, k, v, key_mask=torch.ones(2, 9)), I, "key_mask: expected [2, 30]"),
        (lambda: module("elu")(q, k, v, gate=torch.ones(2, 3, 30)), U, "expected no gate"),
        (lambda: load_tuned("none.safetensors"), I, "none.safetensors: expected a .safetensors file that rfa tune"),
        (lambda: host_array("q", hidden), I, "numpy.ma"),
    ):
        refused(action, words, kind)


run(globals(), "module")
