"""What the modules of rfa.torch do, by themselves and in models: python torch_modules.py NODE PROGRAM, in an empty folder.

Prints what was tried.
"""

import json
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rfa
import rfa.torch
from rfa._random import Stream, stream_rows
from rfa.projections import ORTH_SIGNS, PROJECTIONS, draw_projection
from rfa.torch import METHODS, Attention, load_tuned

NODE, PROGRAM = sys.argv[1:3]
DRAWS = """
const {drawProjection} = await import(process.argv[2])
const out = JSON.parse(process.argv[1]).map(request => [...drawProjection(request)])
process.stdout.write(JSON.stringify(out))
"""
torch.manual_seed(3)
H, L, D, DV, M = 3, 75, 5, 4, 13
q, k = torch.randn(2, H, L, D).double(), torch.randn(2, H, L, D).double()
v = torch.randn(2, H, L, DV).double()


def module(method, causal=False, **options):
    own = Attention(method, heads=H, head_dim=D, num_features=M, causal=causal, seed=5, **options)
    return own


def close(one, other, digits=11):
    torch.testing.assert_close(one, other, rtol=10**-digits, atol=10**-digits)


def draws_are_those_of_the_program():
    requests = [
        dict(name=name, heads=2, numFeatures=count, headDim=dim, seed=seed, replicate=3, redraw=redraw, orthSign=sign)
        for name in PROJECTIONS
        for sign in ORTH_SIGNS
        for count, dim, seed, redraw in ((11, 7, 2**40 + 5, 0), (16, 8, 0, 2), (67, 5, 7, 0), (5, 5, 1, 0))
        if name != "moment" or count > dim
    ]
    requests.append(dict(requests[0], name="sobol", numFeatures=70, headDim=512))
    place = (Path(PROGRAM).parents[1] / "dist/src/attention/index.js").as_uri()
    argv = [NODE, "--input-type=module", "-e", DRAWS, json.dumps(requests), place]
    theirs = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    for request, values in zip(requests, theirs):
        ours = draw_projection(
            request["name"], heads=2, num_features=request["numFeatures"], head_dim=request["headDim"],
            seed=request["seed"], replicate=3, redraw=request["redraw"], orth_sign=request["orthSign"],
        )  # fmt: skip
        # sums of up to 67 numbers of a length of about 3, through a QR factorisation, in double precision
        np.testing.assert_allclose(ours.ravel(), values, rtol=0, atol=1e-12, err_msg=str(request))


def texts_of_other_lengths_have_the_draws_of_the_program():
    one = module("lara")
    for texts, tokens in ((1, 3), (2, 9), (1, 75), (2, 2)):
        part = [x[:texts, :, :tokens] for x in (q, k, v)]
        close(one(*part), module("lara")(*part))
    many = stream_rows(7, "noise.noise", 3, (2, 4, D))
    for place, row in ((0, 0), (1, 3)):
        assert (many[place, row] == Stream(7, "noise.noise", 3, place, row).normals(D)).all()


def tokens_one_by_one_give_the_causal_form():
    for method in METHODS:
        own = module(method, True, **({"max_length": L} if method == "cosformer" else {}))
        if method in ("oprf", "saderf"):
            own.calibrate(q, k)
        state, outs = None, []
        for t in range(L):
            out, state = own.step(*(x[:, :, t : t + 1] for x in (q, k, v)), state)
            outs.append(out)
        whole = own(q, k, v)
        # signed features divide by small sums
        close(torch.cat(outs, 2), whole, 7 if method in ("rfa", "rfa-gate", "favor-trig") else 10)


def guards_act_token_by_token_too():
    for method, facts in METHODS.items():
        if "den_guard" not in facts.options:
            continue
        own = module(method, True, den_guard="clamp:0.9", **({"max_length": L} if method == "cosformer" else {}))
        state, outs = None, []
        for t in range(L):
            out, state = own.step(*(x[:, :, t : t + 1] for x in (q, k, v)), state)
            outs.append(out)
        close(torch.cat(outs, 2), own(q, k, v), 7)
    plain, guarded = (module("rfa-gate", True, den_guard=guard)(q, k, v) for guard in ("none", "clamp:0.9"))
    assert not torch.allclose(plain, guarded)
    for guard in ("clamp", "clip:1", "add:-1", 3):
        try:
            module("rfa", den_guard=guard)
        except rfa.UsageError as error:
            assert "abs-clamp:E" in str(error)
        else:
            raise AssertionError(guard)


def gates_may_be_given():
    gate = torch.rand(2, H, L)
    own = module("rfa-gate", True)
    state, outs = None, []
    for t in range(L):
        row = [x[:, :, t : t + 1] for x in (q, k, v)]
        out, state = own.step(*row, state, gate=gate[:, :, t : t + 1])
        outs.append(out)
    close(torch.cat(outs, 2), own(q, k, v, gate=gate), 7)
    constant = own(q, k, v, gate=torch.full((2, H, L), 0.95, dtype=torch.float64))
    close(constant, own(q, k, v))


def gradients_are_those_of_differences():
    for method in [*METHODS, "softmax", "lara"]:
        causal = method == "rfa-gate"
        own = Attention(method, heads=1, head_dim=3, num_features=4, causal=causal, seed=5)
        if method in ("oprf", "saderf"):  # statistics are constants
            own.calibrate(q[:, :1, :, :3], k[:, :1, :, :3])
        generator = torch.Generator().manual_seed(1)
        arrays = [torch.rand(1, 1, 6, 3, generator=generator).double() / 2 + 0.1 for _ in range(3)]
        arrays = [x.requires_grad_() for x in arrays]
        assert torch.autograd.gradcheck(own, arrays), method


def random_vectors_can_be_learned():
    own = module("favor-pos")
    rows = own.rows
    del own.rows
    own.rows = torch.nn.Parameter(rows)
    own(q, k, v).sum().backward()
    assert [name for name, _ in own.named_parameters()] == ["rows"] and own.rows.grad.abs().max() > 0


def later_tokens_change_nothing_before_them():
    for method in METHODS:
        own = module(method, True, **({"max_length": L} if method == "cosformer" else {}))
        other = [x.clone() for x in (q, k, v)]
        for x in other:
            x[:, :, 70:] += 1
        close(own(*other)[:, :, :70], own(q, k, v)[:, :, :70], 7)
        assert not torch.allclose(own(*other)[:, :, 70:], own(q, k, v)[:, :, 70:])


def hidden_keys_count_for_nothing():
    mask = torch.ones(2, L, dtype=torch.bool)
    mask[1, 60:] = False
    for method in [*METHODS, "softmax"]:
        for causal in (False, True):
            if METHODS.get(method) and METHODS[method].causal_only and not causal:
                continue
            own = module(method, causal)
            other = [k.clone(), v.clone()]
            for x in other:
                x[1, :, 60:] = 9
            close(own(q, *other, key_mask=mask), own(q, k, v, key_mask=mask))
    assert torch.equal(module("elu")(q, k, v, key_mask=mask & False), torch.zeros(2, H, L, DV).double())


def what_was_calibrated_moves_with_the_module():
    own = module("oprf").calibrate(q, k)
    held = list(own.state_dict())
    moved = own.to("meta")(*(x.to("meta") for x in (q, k, v)))
    assert moved.is_meta and held == ["rows"]


def values_keep_their_kind():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        out = module("favor-pos")(*(x.to(dtype) for x in (q, k, v)))
        assert out.dtype == dtype and bool(out.isfinite().all())
    constant = module("favor-hyp", True)(q, k, torch.full_like(v, 7.0))
    close(constant, torch.full_like(v, 7.0))
    large = module("favor-pos")(40 * q, 40 * k, v)
    assert bool(large.isfinite().all()) and large.abs().max() <= v.abs().max() + 1e-9
    grouped = module("rfa")(q, k[:, :1], v[:, :1])
    close(grouped, module("rfa")(q, k[:, :1].expand(-1, H, -1, -1), v[:, :1].expand(-1, H, -1, -1)))


def learned_parameters_are_loaded():
    for name in ("tuned.safetensors", "out.safetensors"):
        Path(name).unlink(missing_ok=True)
    rfa_argv = [NODE, PROGRAM, "tune", "--quick", "--learn", "maps,rows", "--draws", "2", "--steps", "5"]
    subprocess.run([*rfa_argv, "--output", "tuned.safetensors"], capture_output=True, check=True)
    from safetensors import safe_open

    fixture = ROOT / "fixtures" / "minilm-layer5.safetensors"
    with safe_open(fixture, "pt") as arrays:
        names = arrays.keys()
        inputs = [arrays.get_tensor(name).float() for name in ("q", "k", "v")]
        mask = arrays.get_tensor("key_mask").bool() if "key_mask" in names else None
    argv = ["apply", "--method", "favor-pos", "--input", str(fixture), "--parameters", "tuned.safetensors"]
    subprocess.run([NODE, PROGRAM, *argv, "--output", "out.safetensors", "--force"], capture_output=True, check=True)
    with safe_open("out.safetensors", "pt") as arrays:
        theirs = arrays.get_tensor("out")
    own = load_tuned("tuned.safetensors")
    ours = own(*inputs, key_mask=mask)
    plain = Attention("favor-pos", heads=12, head_dim=32, num_features=own.num_features)(*inputs, key_mask=mask)
    # means of values with positive weights, of logits of up to 60 in float32: 60 (256 + 64) 2^-24 of the largest value
    bound = 60 * 320 * 2.0**-24 * inputs[2].abs().max()
    assert (ours - theirs).abs().max() < bound < (plain - theirs).abs().max()
    second = load_tuned("tuned.safetensors", draw=1)(*inputs, key_mask=mask)
    assert (second - theirs).abs().max() > bound


def models_run_with_exchanged_attention():
    ids = torch.randint(0, 50, (2, 70))
    padded = torch.ones_like(ids)
    padded[1, 50:] = 0
    for model in (
        GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=24, n_head=3, n_layer=2)),
        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=50, hidden_size=24, num_attention_heads=4, num_key_value_heads=2,
                num_hidden_layers=2, intermediate_size=20,
            )
        ),
        BertModel(BertConfig(vocab_size=50, hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=20)),
    ):  # fmt: skip
        model.eval()
        for mask in (None, padded):
            with torch.no_grad():
                before = model(ids, attention_mask=mask)[0]
                exact = rfa.torch.use(model, "softmax")(ids, attention_mask=mask)[0]
                other = rfa.torch.use(model, "favor-pos", num_features=16)(ids, attention_mask=mask)[0]
                model.set_attn_implementation("sdpa")
            real = slice(None) if mask is None else mask.bool()
            torch.testing.assert_close(exact[real], before[real], rtol=1e-4, atol=1e-4)
            assert bool(other[real].isfinite().all()) and not torch.allclose(other[real], before[real], atol=1e-4)
    generated = rfa.torch.use(
        GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=24, n_head=3, n_layer=2)).eval(), "elu"
    )
    options = dict(max_new_tokens=6, do_sample=False, pad_token_id=0)
    cached = generated.generate(ids[:1], use_cache=True, **options)
    assert torch.equal(cached, generated.generate(ids[:1], use_cache=False, **options))


def wrong_uses_are_refused():
    T, U, I = rfa.ArgumentTypeError, rfa.UsageError, rfa.InputError
    cases = [
        (lambda: module("favr"), U, "method: expected one of"),
        (lambda: module("favor-pos", tau=1), T, "favor-pos: expected no options, got tau"),
        (lambda: module("rfa", temperature=1), T, "rfa: expected tau, norm_epsilon, feature_scale, den_guard, causal_den_guard, got temperature"),
        (lambda: module("rfa-gate"), U, "expected causal=True"),
        (lambda: module("lara", True), U, "expected causal=False"),
        (lambda: module("rfa", projection="haar"), U, "projection: expected one of iid"),
        (lambda: Attention("rfa", heads=0, head_dim=4), U, "heads: expected a whole number of at least 1"),
        (lambda: Attention("rfa", heads=1, head_dim=4, seed=-1), U, "seed: expected"),
        (lambda: Attention("rfa", heads=1, head_dim=9, num_features=4, projection="moment"), U, "for moment"),
        (lambda: module("rfa")(q[:, :2], k, v), I, "rfa: expected query [B, 3, L, 5]"),
        (lambda: module("rfa")(q, k[..., :4], v), I, "key [B, H_kv, S, 5]"),
        (lambda: module("rfa")(q, k, v[:, :, :9]), I, "got query"),
        (lambda: module("rfa")(q[0], k[0], v[0]), I, "got query"),
        (lambda: module("elu", True)(q[:, :, :9], k, v), I, "the same length"),
        (lambda: module("lara")(q, k, v, key_mask=torch.zeros(2, L)), U, "no padding"),
        (lambda: module("lara").step(q, k, v), U, "recurrent form"),
        (lambda: module("oprf", True).step(q[:, :, :1], k[:, :, :1], v[:, :, :1]), U, "calibrate"),
        (lambda: module("cosformer", True).step(q[:, :, :1], k[:, :, :1], v[:, :, :1]), U, "max_length"),
        (lambda: module("cosformer", max_length=9)(q, k, v), U, "at most max_length = 9"),
        (lambda: load_tuned("none.safetensors"), I, "expected a .safetensors file"),
        (lambda: load_tuned(ROOT / "fixtures" / "minilm-layer5.safetensors"), I, "rfa.tuned/1"),
        (lambda: load_tuned("tuned.safetensors", draw=7), I, "draw 7"),
        (lambda: rfa.torch.register("favr"), U, "method: expected one of"),
    ]
    for action, kind, words in cases:
        try:
            action()
        except kind as error:
            assert words in str(error), str(error)
        else:
            raise AssertionError(f"expected {kind.__name__} with {words}")


for name, action in list(globals().items()):
    if isinstance(action, types.FunctionType) and action.__module__ == "__main__" and name not in ("module", "close"):
        action()
        print(name, flush=True)
