"""JAX on the CPU: its attention, and textbook linear attention, all compiled by jax.jit."""

import contextlib
import os
from functools import partial

import numpy

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jaxlib  # noqa: E402

from rfa_peers import Form, decoding  # noqa: E402

PACKAGES = {"jax": jax.__version__, "jaxlib": jaxlib.__version__}
INSTRUCTION_SET = None
CHUNK = 128


def started(threads):
    """XLA takes one thread per processor that the process may use, and looks when it first computes."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    return contextlib.nullcontext()


def array(floats, shape):
    return numpy.frombuffer(floats, numpy.float32).reshape(shape)


def bytes_of(out):
    out = numpy.concatenate(out, 2) if isinstance(out, list) else numpy.asarray(out)
    if out.dtype != "float32":
        raise TypeError(f"expected a float32 output, got {out.dtype}")
    return out.tobytes()


def positive_queries(x, rows):
    logits = (x * x.shape[-1] ** -0.25) @ rows.mT
    return jnp.exp(logits - logits.max(-1, keepdims=True))


def positive_key(x, rows):
    x = x * x.shape[-1] ** -0.25
    return jnp.exp(x @ rows.mT - jnp.square(x).sum(-1, keepdims=True) / 2)


def positive_keys(x, rows):
    x = x * x.shape[-1] ** -0.25
    logits = x @ rows.mT - jnp.square(x).sum(-1, keepdims=True) / 2
    return jnp.exp(logits - logits.max((-1, -2), keepdims=True))


def trigonometric(x, rows):
    length = jnp.sqrt(jnp.square(x).sum(-1, keepdims=True))
    angles = (x / length) @ rows.mT
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)


def elu(x, _rows):
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
    batch, heads, length, width = k.shape

    def chunks(x):
        x = jnp.pad(x, ((0, 0), (0, 0), (0, -length % CHUNK), (0, 0)))
        return jnp.moveaxis(x.reshape(batch, heads, -1, CHUNK, x.shape[-1]), 2, 0)

    def body(carried, chunk):
        state, normalizer = carried
        qs, ks, vs = chunk
        weights = jnp.tril(qs @ ks.mT)
        denominator = weights.sum(-1, keepdims=True) + qs @ normalizer
        out = (weights @ vs + qs @ state) / denominator
        return (state + ks.mT @ vs, normalizer + ks.sum(-2)[..., None]), out

    zeros = (jnp.zeros((batch, heads, width, size)) for size in (v.shape[-1], 1))
    _, out = jax.lax.scan(body, tuple(zeros), (chunks(q), chunks(k), chunks(v)))
    return jnp.moveaxis(out, 0, 2).reshape(batch, heads, -1, v.shape[-1])[:, :, :length]


def rows_first(x):
    """From [B, H, L, D] to the layout of JAX, [B, L, H, D], and back."""
    return x.transpose(0, 2, 1, 3)


def exact(case, q, k, v, _projection):
    arrays = [jnp.asarray(rows_first(x)) for x in (q, k, v)]
    attend = jax.jit(partial(jax.nn.dot_product_attention, is_causal=case["causal"]))
    return Form(lambda: attend(*arrays).block_until_ready(), arranged=rows_first)


def rows_of(projection):
    return None if projection is None else jnp.asarray(projection)


def attention(case, q, k, v, projection):
    query_features, key_features, _ = FEATURES[case["method"]]
    combine = linear_causal if case["causal"] else linear
    arrays = [*map(jnp.asarray, (q, k, v)), rows_of(projection)]

    @jax.jit
    def attend(q, k, v, rows):
        return combine(query_features(q, rows), key_features(k, rows), v)

    return Form(lambda: attend(*arrays).block_until_ready())


def stepping(case, arrays, first, step):
    """Tokens through `step(state, q, k, v) -> state, out`, which reuses the memory of its state, from `first()` on."""
    tokens = [tuple(jnp.asarray(x[:, :, t : t + 1]) for x in arrays) for t in range(case["tokens"])]
    held = {}

    def begin():
        held["state"] = jax.block_until_ready(first())

    def token(t):
        held["state"], out = step(held["state"], *tokens[t % len(tokens)])
        return out

    return decoding(case, begin, token, done=jax.block_until_ready)


def decode_exact(case, q, k, v, _projection):
    batch, heads, _, dim = q.shape

    def first():
        caches = (jnp.zeros((batch, case["length"], heads, size)) for size in (dim, v.shape[-1]))
        return *caches, jnp.int32(0)

    @partial(jax.jit, donate_argnums=0)
    def step(state, q, k, v):
        keys, values, count = state
        keys = jax.lax.dynamic_update_slice(keys, rows_first(k), (0, count, 0, 0))
        values = jax.lax.dynamic_update_slice(values, rows_first(v), (0, count, 0, 0))
        seen = jnp.full((batch,), count + 1)
        out = jax.nn.dot_product_attention(rows_first(q), keys, values, key_value_seq_lengths=seen)
        return (keys, values, count + 1), rows_first(out)

    return stepping(case, (q, k, v), first, step)


def decode(case, q, k, v, projection):
    query_features, _, key_features = FEATURES[case["method"]]
    rows = rows_of(projection)
    width = key_features(jnp.asarray(k[:, :, :1]), rows).shape[-1]

    def first():
        return tuple(jnp.zeros((*q.shape[:2], width, size)) for size in (v.shape[-1], 1))

    @partial(jax.jit, donate_argnums=0)
    def step(sums, q, k, v):
        q, k = query_features(q, rows), key_features(k, rows).mT
        state, normalizer = sums[0] + k @ v, sums[1] + k
        return (state, normalizer), (q @ state) / (q @ normalizer)

    return stepping(case, (q, k, v), first, step)


def forms(case):
    if case["method"] == ("softmax" if case["decode"] else "softmax-online"):
        return {"jit": decode_exact if case["decode"] else exact}
    if case["method"] not in FEATURES:
        return {}
    return {"jit": decode if case["decode"] else attention}
