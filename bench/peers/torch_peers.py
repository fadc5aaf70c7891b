"""Attention in plain PyTorch operations, in the fastest order of them that gives the same numbers:
in place where a temporary would be a pass over memory more, and without factors that cancel.

Reads one JSON request per line and answers with one JSON line: {"ns": nanoseconds of one run}, or
{"ns": null} for a case that has no counterpart here. The first line it prints is its own facts.
Needs torch (Debian: apt-get install python3-torch libopenblas0-pthread).
"""

import argparse
import json
import sys
import time

import torch
import torch.nn.functional as F

CHUNK = 128  # tokens per chunk of the causal forms: the fastest of 64, 128, 256 at D = 64


def positive_queries(x, projection):
    """exp(w.x) up to a factor per row, which cancels: the largest is 1; [H, L, M]."""
    logits = x @ projection.transpose(-1, -2)
    return logits.sub_(logits.amax(-1, keepdim=True)).exp_()


def positive_keys(x, projection):
    """exp(w.x - |x|^2 / 2) up to one factor; [H, L, M]."""
    logits = x @ projection.transpose(-1, -2)
    shift = x.square().sum(-1, keepdim=True).div_(2).add_(logits.max())
    return logits.sub_(shift).exp_()


def trigonometric(x, projection):
    """[sin w.x, cos w.x] of x over its length; M^-1/2 cancels."""
    angles = F.normalize(x, dim=-1) @ projection.transpose(-1, -2)
    count = angles.shape[-1]
    features = angles.new_empty(*angles.shape[:-1], 2 * count)
    torch.sin(angles, out=features[..., :count])
    torch.cos(angles, out=features[..., count:])
    return features


def linear(query, key, value):
    """phi(q) (phi(k)^T v) / phi(q) sum phi(k)."""
    state = key.transpose(-1, -2) @ value
    return (query @ state).div_(query @ key.sum(-2).unsqueeze(-1))


def linear_causal(query, key, value):
    """The same over the past, chunk by chunk."""
    heads, length, _ = query.shape
    state = query.new_zeros(heads, key.shape[-1], value.shape[-1])
    normalizer = query.new_zeros(heads, key.shape[-1], 1)
    mask = query.new_ones(CHUNK, CHUNK).tril()
    out = []
    for start in range(0, length, CHUNK):
        q, k, v = (t[:, start : start + CHUNK] for t in (query, key, value))
        n = q.shape[1]
        scores = (q @ k.transpose(-1, -2)).mul_(mask[:n, :n])
        numerator = (q @ state).baddbmm_(scores, v)
        out.append(numerator.div_((q @ normalizer).add_(scores.sum(-1, keepdim=True))))
        state.baddbmm_(k.transpose(-1, -2), v)
        normalizer.add_(k.sum(-2).unsqueeze(-1))
    return torch.cat(out, 1)


def features_of(method, query, key, projection):
    scale = query.shape[-1] ** -0.25
    if method == "favor-pos":
        return positive_queries(query * scale, projection), positive_keys(key * scale, projection)
    if method == "favor-relu":
        return tuple(((x * scale) @ projection.transpose(-1, -2)).relu_() for x in (query, key))
    if method == "rfa":
        return trigonometric(query, projection), trigonometric(key, projection)
    if method == "elu":
        return F.elu(query).add_(1), F.elu(key).add_(1)
    return None


def softmax(query, key, value, causal):
    logits = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    if causal:
        length = query.shape[-2]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        logits.masked_fill_(future, float("-inf"))
    return torch.softmax(logits, -1, out=logits) @ value


def attention_call(case):
    heads, length, dim = case["heads"], case["length"], case["headDim"]
    torch.manual_seed(0)
    query, key, value = (torch.randn(heads, length, dim) for _ in range(3))
    projection = torch.randn(case["numFeatures"], dim)
    method, causal = case["method"], case["causal"]
    if method == "softmax-online":
        if hasattr(F, "scaled_dot_product_attention"):
            fused = F.scaled_dot_product_attention
            return lambda: fused(query[None], key[None], value[None], is_causal=causal)
        return lambda: softmax(query, key, value, causal)
    combine = linear_causal if causal else linear
    if features_of(method, query[:, :1], key[:, :1], projection) is None:
        return None
    return lambda: combine(*features_of(method, query, key, projection), value)


def decode_call(case):
    """One pass of `tokens` tokens, one at a time, state or cache kept by the caller."""
    heads, tokens, dim = case["heads"], case["tokens"], case["headDim"]
    torch.manual_seed(0)
    query, key, value = (torch.randn(heads, tokens, dim) for _ in range(3))
    projection = torch.randn(case["numFeatures"], dim)

    def softmax_tokens():
        keys, values = torch.empty_like(key), torch.empty_like(value)
        for t in range(tokens):
            keys[:, t], values[:, t] = key[:, t], value[:, t]
            logits = (query[:, t : t + 1] * dim**-0.5) @ keys[:, : t + 1].transpose(-1, -2)
            logits.softmax(-1) @ values[:, : t + 1]

    def rfa_tokens():
        state = torch.zeros(heads, 2 * case["numFeatures"], dim)
        normalizer = torch.zeros(heads, 2 * case["numFeatures"], 1)
        for t in range(tokens):
            q = trigonometric(query[:, t : t + 1], projection)
            k = trigonometric(key[:, t : t + 1], projection).transpose(-1, -2)
            state += k @ value[:, t : t + 1]
            normalizer += k
            (q @ state) / (q @ normalizer)

    return {"softmax": softmax_tokens, "rfa": rfa_tokens}.get(case["method"])


OPERATIONS = {
    "matMulWide": ((8, 2048, 64), (8, 64, 2048), torch.matmul),
    "matMulDeep": ((8, 2048, 2048), (8, 2048, 64), torch.matmul),
    "exp": ((1024, 1024), (), lambda x, _: x.exp()),
    "sin": ((1024, 1024), (), lambda x, _: x.sin()),
    "addRow": ((1024, 1024), (1024,), torch.add),
    "softmax": ((1024, 1024), (), lambda x, _: x.softmax(-1)),
    "transpose": ((8, 2048, 64), (), lambda x, _: x.transpose(-1, -2).contiguous()),
}


def operation_call(case):
    shape_a, shape_b, operation = OPERATIONS[case["op"]]
    a, b = torch.randn(shape_a), torch.randn(shape_b)
    return lambda: operation(a, b)


CALLS = {"attention": attention_call, "decode": decode_call, "operation": operation_call}


def processors_used():
    """Processor time over wall time of a matrix product: what its BLAS really uses."""
    a, b = torch.randn(512, 2048), torch.randn(2048, 512)
    a @ b
    wall, used = time.perf_counter(), time.process_time()
    for _ in range(4):
        a @ b
    return (time.process_time() - used) / (time.perf_counter() - wall)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    facts = {"torch": torch.__version__, "threads": torch.get_num_threads()}
    print(json.dumps({**facts, "processors_used": round(processors_used(), 2)}), flush=True)
    prepared = {}
    for line in sys.stdin:
        case = json.loads(line)
        name = json.dumps(case, sort_keys=True)
        if name not in prepared:
            prepared.clear()  # one case at a time, or its inputs would fill the cache
            prepared[name] = CALLS[case["kind"]](case)
            if prepared[name]:
                prepared[name]()
        call, ns = prepared[name], None
        if call:
            start = time.perf_counter_ns()
            call()
            ns = time.perf_counter_ns() - start
        print(json.dumps({"ns": ns}), flush=True)


if __name__ == "__main__":
    with torch.inference_mode():
        main()
