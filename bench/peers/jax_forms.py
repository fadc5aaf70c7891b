"""JAX on the CPU: its attention, and textbook linear attention, all compiled by jax.jit."""

import contextlib
import os
from functools import partial

import numpy

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from form import Form  # noqa: E402

PACKAGES = ["jax", "jaxlib"]
CHUNK = 128


def started(_threads):
    """XLA takes as many threads as the process may use processors."""
    return contextlib.nullcontext()


def to_numpy(out):
    """An array, or those of tokens one after another."""
    return [numpy.asarray(x) for x in out] if isinstance(out, list) else numpy.asarray(out)


def positive_queries(x, projection):
    logits = (x * x.shape[-1] ** -0.25) @ projection.T
    return jnp.exp(logits - logits.max(-1, keepdims=True))


def positive_key(x, projection):
    x = x * x.shape[-1] ** -0.25
    return jnp.exp(x @ projection.T - jnp.square(x).sum(-1, keepdims=True) / 2)


def positive_keys(x, projection):
    x = x * x.shape[-1] ** -0.25
    logits = x @ projection.T - jnp.square(x).sum(-1, keepdims=True) / 2
    return jnp.exp(logits - logits.max((-1, -2), keepdims=True))


def trigonometric(x, projection):
    length = jnp.sqrt(jnp.square(x).sum(-1, keepdims=True))
    angles = (x / length) @ projection[: projection.shape[0] // 2].T
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)


def elu(x, _projection):
    return jax.nn.elu(x) + 1


FEATURES = {
    "favor-pos": (positive_queries, positive_keys, positive_key),
    "rfa": (trigonometric, trigonometric, trigonometric),
    "elu": (elu, elu, elu),
}


def linear(q, k, v):
    return (q @ (k.mT @ v)) / (q @ k.sum(-2)[..., None])


def linear_causal(q, k, v):
    """A scan over chunks of tokens, the sums of the past carried."""

    def chunks(x):
        return jnp.moveaxis(x.reshape(*x.shape[:2], -1, CHUNK, x.shape[-1]), 2, 0)

    def body(carried, chunk):
        state, normalizer = carried
        qs, ks, vs = chunk
        weights = jnp.tril(qs @ ks.mT)
        denominator = weights.sum(-1, keepdims=True) + qs @ normalizer
        out = (weights @ vs + qs @ state) / denominator
        return (state + ks.mT @ vs, normalizer + ks.sum(-2)[..., None]), out

    heads, feature_dim = q.shape[1], q.shape[-1]
    zeros = jnp.zeros((1, heads, feature_dim, v.shape[-1])), jnp.zeros((1, heads, feature_dim, 1))
    _, out = jax.lax.scan(body, zeros, (chunks(q), chunks(k), chunks(v)))
    return jnp.moveaxis(out, 0, 2).reshape(v.shape)


def rows_first(array):
    """From [1, H, L, D] to the layout of JAX, [1, L, H, D], and back."""
    return array.transpose(0, 2, 1, 3)


def exact(case, inputs):
    q, k, v, _ = inputs.values()
    arrays = [jnp.asarray(rows_first(x)) for x in (q, k, v)]
    attend = jax.jit(partial(jax.nn.dot_product_attention, is_causal=case["causal"]))
    return Form(lambda: attend(*arrays).block_until_ready(), arranged=rows_first)


def attention(case, inputs):
    query_features, key_features, _ = FEATURES[case["method"]]
    combine = linear_causal if case["causal"] else linear
    arrays = [jnp.asarray(array) for array in inputs.values()]

    @jax.jit
    def attend(q, k, v, projection):
        return combine(query_features(q, projection), key_features(k, projection), v)

    return Form(lambda: attend(*arrays).block_until_ready())


def tokens_of(case, arrays):
    """Each token in arrays of its own: [(q, k, v), ...] of [1, H, 1, D]."""
    steps = range(case["position"], case["position"] + case["tokens"])
    return [tuple(jnp.asarray(x[:, :, t : t + 1]) for x in arrays) for t in steps]


def decoding(tokens, step, first):
    """Tokens through `step(state, q, k, v) -> state, out`, which reuses the memory of its state."""
    held = {}

    def reset():
        held["state"] = jax.block_until_ready(jax.tree.map(jnp.copy, first))

    def run():
        state, outs = held.pop("state"), []
        for token in tokens:
            state, out = step(state, *token)
            outs.append(out)
        return jax.block_until_ready(outs)

    return Form(run, reset=reset, arranged=lambda outs: numpy.stack(outs, 2))


def decode_exact(case, inputs):
    position, tokens = case["position"], case["tokens"]
    q, k, v, _ = inputs.values()
    room = ((0, 0), (0, tokens), (0, 0), (0, 0))
    keys, values = (jnp.pad(rows_first(x[:, :, :position]), room) for x in (k, v))

    @partial(jax.jit, donate_argnums=0)
    def step(state, q, k, v):
        keys, values, count = state
        keys = jax.lax.dynamic_update_slice(keys, rows_first(k), (0, count, 0, 0))
        values = jax.lax.dynamic_update_slice(values, rows_first(v), (0, count, 0, 0))
        seen = jnp.full((1,), count + 1)
        out = jax.nn.dot_product_attention(rows_first(q), keys, values, key_value_seq_lengths=seen)
        return (keys, values, count + 1), out.reshape(1, case["heads"], case["headDim"])

    return decoding(tokens_of(case, (q, k, v)), step, (keys, values, jnp.int32(position)))


def decode(case, inputs):
    query_features, _, key_features = FEATURES[case["method"]]
    q, k, v, projection = inputs.values()
    rows, position = jnp.asarray(projection), case["position"]
    past = key_features(jnp.asarray(k[:, :, :position]), rows)
    first = past.mT @ jnp.asarray(v[:, :, :position]), past.sum(-2)[..., None]

    @partial(jax.jit, donate_argnums=0)
    def step(sums, q, k, v):
        q, k = query_features(q, rows), key_features(k, rows).mT
        state, normalizer = sums[0] + k @ v, sums[1] + k
        return (state, normalizer), ((q @ state) / (q @ normalizer))[:, :, 0]

    return decoding(tokens_of(case, (q, k, v)), step, first)


def forms(case):
    decoding = case["kind"] == "decode"
    if case["method"] == "softmax":
        return {"jit": decode_exact if decoding else exact}
    if case["method"] not in FEATURES:
        return {}
    return {"jit": decode if decoding else attention}
