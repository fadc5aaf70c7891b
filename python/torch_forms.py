"""PyTorch as a peer of rfa: its fused attention, attention and linear attention as textbooks have them, eager and compiled."""

import ctypes
import functools

import torch
import torch.nn.functional as F

from rfa_peers import Form, decoding
from rfa_plugin import Module

PACKAGES = {"torch": torch.__version__}
INSTRUCTION_SET = torch.backends.cpu.get_cpu_capability()
CHUNK = 128  # tokens per chunk of causal forms: the fastest of 64, 128, 256


def started(threads):
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    return torch.inference_mode()


def array(floats, shape):
    return torch.frombuffer(floats, dtype=torch.float32).view(shape)


def bytes_of(out):
    """Without NumPy, which PyTorch does not need."""
    out = torch.cat(out, 2) if isinstance(out, list) else out
    if str(out.dtype) != "torch.float32":
        raise TypeError(f"expected a float32 output, got {out.dtype}")
    out = out.contiguous()
    return ctypes.string_at(out.data_ptr(), 4 * out.numel())


# Features of queries and keys [B, H, L, D] by rows [.., M, D]: for favor-pos those of the projection times D^-1/4. Left out is
# what cancels: a factor per query, one of all keys, M^-1/2.


def half_norms(x):
    return x.square().sum(-1, keepdim=True).mul_(0.5 * x.shape[-1] ** -0.5)


def positive_queries(x, rows):
    logits = x @ rows.mT
    return logits.sub_(logits.amax(-1, keepdim=True)).exp_()


def positive_keys(x, rows):
    logits = x @ rows.mT
    return logits.sub_(half_norms(x).add_(logits.amax((-1, -2), keepdim=True))).exp_()


def positive_key(x, rows):
    """Of a token among unknown ones: no maximum is known."""
    return (x @ rows.mT).sub_(half_norms(x)).exp_()


def trigonometric(x, rows):
    angles = F.normalize(x, dim=-1) @ rows.mT
    return torch.cat([angles.sin(), angles.cos()], -1)


def elu(x, _rows):
    return F.elu(x).add_(1)


FEATURES = {
    "favor-pos": (positive_queries, positive_keys, positive_key),
    "rfa": (trigonometric, trigonometric, trigonometric),
    "elu": (elu, elu, elu),
}


def scaled_rows(case, projection):
    return projection if case["method"] != "favor-pos" else projection * case["head_dim"] ** -0.25


def linear(q, k, v):
    return (q @ (k.mT @ v)).div_(q @ k.sum(-2).unsqueeze(-1))


def linear_causal(q, k, v):
    """Chunks one after another, the sums of the past updated in place."""
    state = q.new_zeros(*q.shape[:2], k.shape[-1], v.shape[-1])
    normalizer = q.new_zeros(*q.shape[:2], k.shape[-1], 1)
    past = torch.ones(CHUNK, CHUNK).tril()
    out = torch.empty_like(v)
    for start in range(0, q.shape[-2], CHUNK):
        rows = slice(start, start + CHUNK)
        qs, ks, vs = q[:, :, rows], k[:, :, rows], v[:, :, rows]
        n = qs.shape[-2]
        weights = (qs @ ks.mT).mul_(past[:n, :n])
        denominator = (qs @ normalizer).add_(weights.sum(-1, keepdim=True))
        out[:, :, rows] = (qs @ state).add_(weights @ vs).div_(denominator)
        state += ks.mT @ vs
        normalizer += ks.sum(-2).unsqueeze(-1)
    return out


def linear_causal_at_once(q, k, v):
    """All chunks at once, for a compiler: sums of the past by a cumulative sum over chunks."""
    length = v.shape[-2]

    def chunks(x):
        return F.pad(x, (0, 0, 0, -length % CHUNK)).unflatten(-2, (-1, CHUNK))

    qs, ks, vs = chunks(q), chunks(k), chunks(v)
    states, sums = ks.mT @ vs, ks.sum(-2).unsqueeze(-1)
    before, before_sums = states.cumsum(2) - states, sums.cumsum(2) - sums
    weights = (qs @ ks.mT).tril()
    numerator = weights @ vs + qs @ before
    out = numerator / (weights.sum(-1, keepdim=True) + qs @ before_sums)
    return out.flatten(2, 3)[:, :, :length]


def textbook(case, q, k, v, _projection):
    """All weights of a head in memory."""

    def attend():
        logits = (q @ k.mT).mul_(q.shape[-1] ** -0.5)
        if case["causal"]:
            hidden = torch.ones(logits.shape[-2:], dtype=torch.bool).triu_(1)
            logits.masked_fill_(hidden, -float("inf"))
        return torch.softmax(logits, -1) @ v

    return Form(attend)


def sdpa(case, q, k, v, _projection):
    return Form(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=case["causal"]))


def compiled(function):
    torch._dynamo.config.cache_size_limit = torch._dynamo.config.accumulated_cache_size_limit = 1024
    return torch.compile(function, dynamic=False)


def attention(case, q, k, v, projection, compiler=None):
    rows = scaled_rows(case, projection)
    query_features, key_features, _ = FEATURES[case["method"]]
    causal = linear_causal_at_once if compiler else linear_causal
    combine = causal if case["causal"] else linear

    def attend(q, k, v, rows):
        return combine(query_features(q, rows), key_features(k, rows), v)

    once = compiler(attend) if compiler else attend
    return Form(lambda: once(q, k, v, rows))


module_of = functools.cache(Module)


def of_file(case, q, k, v, projection):
    """A map or an attention of a file, see rfa_plugin.py; features are summed as those of the methods above."""
    file = case["file"]
    module = module_of(file["path"], file["library"])
    scale = case["head_dim"] ** -0.25
    rows = [] if projection is None else [projection]
    combine = linear_causal if case["causal"] else linear

    def value(*arrays):
        if module.torch:
            return module.value(arrays, file["options"], causal=case["causal"])
        given = [x.numpy() for x in arrays]
        return torch.from_numpy(module.value(given, file["options"], causal=case["causal"])).float()

    def attend():
        if module.name == "attention":
            return value(q, k, v, *rows)
        return combine(value(q * scale, *rows), value(k * scale, *rows), v)

    return Form(attend)


def tokens_of(*arrays):
    """Each token in separate tensors, as a model makes them."""
    return [tuple(x[:, :, t : t + 1].contiguous() for x in arrays) for t in range(arrays[0].shape[2])]


def decode_sdpa(case, q, k, v, _projection):
    tokens = tokens_of(q, k, v)
    keys, values = (x.new_empty(*x.shape[:2], case["length"], x.shape[-1]) for x in (k, v))

    def token(t):
        q, k, v = tokens[t % len(tokens)]
        keys[:, :, t : t + 1], values[:, :, t : t + 1] = k, v
        return F.scaled_dot_product_attention(q, keys[:, :, : t + 1], values[:, :, : t + 1])

    return decoding(case, lambda: None, token)


def decode(case, q, k, v, projection, compiler=None):
    tokens = tokens_of(q, k, v)
    query_features, _, key_features = FEATURES[case["method"]]
    rows = scaled_rows(case, projection)
    width = key_features(tokens[0][1], rows).shape[-1]
    state = q.new_zeros(*q.shape[:2], width, v.shape[-1])
    normalizer = q.new_zeros(*q.shape[:2], width, 1)

    def step(q, k, v, rows, state, normalizer):
        q, k = query_features(q, rows), key_features(k, rows).mT
        state += k @ v
        normalizer += k
        return (q @ state).div_(q @ normalizer)

    once = compiler(step) if compiler else step

    def begin():
        state.zero_()
        normalizer.zero_()

    return decoding(case, begin, lambda t: once(*tokens[t % len(tokens)], rows, state, normalizer))


def forms(case):
    if "file" in case:
        return {"eager": of_file}
    if case["decode"]:
        exact, make = {"softmax": {"sdpa": decode_sdpa}}, decode
    else:
        exact, make = {"softmax": {"textbook": textbook}, "softmax-online": {"sdpa": sdpa}}, attention
    if case["method"] not in FEATURES:
        return exact.get(case["method"], {})
    return {"eager": make, "compile": lambda *given: make(*given, compiler=compiled)}
