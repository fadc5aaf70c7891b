"""PyTorch: its fused attention, and textbook linear attention in plain operations, eager and compiled in the default mode."""

import sys
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

from form import Form

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from rfa_peers import (  # noqa: E402
    CHUNK,
    elu,
    half_norms,
    linear,
    linear_causal,
    positive_keys,
    positive_queries,
    trigonometric,
)

PACKAGES = ["torch"]


def started(threads):
    """What everything runs in."""
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    return torch.inference_mode()


def to_numpy(out):
    """An array, or those of tokens one after another."""
    return [x.numpy() for x in out] if isinstance(out, list) else out.numpy()


def tensors(inputs):
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


# Features of queries and keys [1, H, L, D] by rows [M, D] that have the scale D^-1/4 in them. Left out is what cancels: a
# factor per query, one of all keys, M^-1/2.


def scaled_rows(case, projection):
    if case["method"] == "rfa":
        return projection[: len(projection) // 2].clone()
    return projection * case["headDim"] ** -0.25


def positive_key(x, rows):
    """Of a token among unknown ones: no maximum is known."""
    return (x @ rows.mT).sub_(half_norms(x)).exp_()


FEATURES = {
    "favor-pos": (positive_queries, positive_keys, positive_key),
    "rfa": (trigonometric, trigonometric, trigonometric),
    "elu": (elu, elu, elu),
}


def linear_causal_at_once(q, k, v):
    """All chunks at once, for a compiler: sums of the past by a cumulative sum over chunks."""

    def chunks(x):
        return x.reshape(*x.shape[:2], -1, CHUNK, x.shape[-1])

    qs, ks, vs = chunks(q), chunks(k), chunks(v)
    states, sums = ks.mT @ vs, ks.sum(-2).unsqueeze(-1)
    before, before_sums = states.cumsum(2) - states, sums.cumsum(2) - sums
    weights = (qs @ ks.mT).tril()
    numerator = weights @ vs + qs @ before
    return (numerator / (weights.sum(-1, keepdim=True) + qs @ before_sums)).reshape(v.shape)


def sdpa(case, inputs):
    q, k, v, _ = tensors(inputs).values()
    return Form(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=case["causal"]))


def attention_form(compiled):
    def make(case, inputs):
        q, k, v, projection = tensors(inputs).values()
        rows = scaled_rows(case, projection)
        query_features, key_features, _ = FEATURES[case["method"]]
        if case["causal"]:
            combine = linear_causal_at_once if compiled else linear_causal
        else:
            combine = linear

        def attend(q, k, v, rows):
            return combine(query_features(q, rows), key_features(k, rows), v)

        if compiled:
            torch._dynamo.reset()
            attend = torch.compile(attend, dynamic=False)
        return Form(lambda: attend(q, k, v, rows))

    return make


def tokens_of(case, inputs):
    """Each token in tensors of its own, as a model makes them, and those before them."""
    q, k, v, projection = tensors(inputs).values()
    position = case["position"]
    steps = [
        tuple(x[:, :, t : t + 1].contiguous() for x in (q, k, v))
        for t in range(position, position + case["tokens"])
    ]
    return steps, k[:, :, :position], v[:, :, :position], projection


def one_after_another(outs):
    """Of tokens [1, H, 1, D] to [1, H, L, D]."""
    return numpy.concatenate(outs, 2)


def decode_sdpa(case, inputs):
    steps, past_keys, past_values, _ = tokens_of(case, inputs)
    position = case["position"]
    shape = (1, case["heads"], position + case["tokens"], case["headDim"])
    keys, values = torch.empty(shape), torch.empty(shape)
    keys[:, :, :position], values[:, :, :position] = past_keys, past_values

    def run():
        outs = []
        for t, (q, k, v) in enumerate(steps, position):
            keys[:, :, t : t + 1], values[:, :, t : t + 1] = k, v
            outs.append(F.scaled_dot_product_attention(q, keys[:, :, : t + 1], values[:, :, : t + 1]))
        return outs

    return Form(run, arranged=one_after_another)


def decode_form(compiled):
    def make(case, inputs):
        steps, past_keys, past_values, projection = tokens_of(case, inputs)
        query_features, _, key_features = FEATURES[case["method"]]
        rows = scaled_rows(case, projection)
        k = key_features(past_keys, rows)
        first = (k.mT @ past_values, k.sum(-2).unsqueeze(-1))
        state, normalizer = (x.clone() for x in first)

        def step(q, k, v, rows, state, normalizer):
            q, k = query_features(q, rows), key_features(k, rows).mT
            state += k @ v
            normalizer += k
            return (q @ state).div_(q @ normalizer)

        if compiled:
            torch._dynamo.reset()
            step = torch.compile(step, dynamic=False)

        def reset():
            state.copy_(first[0])
            normalizer.copy_(first[1])

        def run():
            return [step(*token, rows, state, normalizer) for token in steps]

        return Form(run, arranged=one_after_another, reset=reset)

    return make


def forms(case):
    decoding = case["kind"] == "decode"
    if case["method"] == "softmax":
        return {"sdpa": decode_sdpa if decoding else sdpa}
    if case["method"] not in FEATURES:
        return {}
    make = decode_form if decoding else attention_form
    return {"eager": make(compiled=False), "compile": make(compiled=True)}
