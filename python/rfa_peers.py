"""PyTorch beside rfa: `rfa bench --peers torch` runs this script, which times what PyTorch has of the methods.

    python3 rfa_peers.py torch --threads 2

It needs PyTorch alone. The first line that it prints comes at once: {"loading": "torch"}. The second says what it is:
{"version", "python", "instruction_set"}, or {"missing": reason}. Then it answers each request, a JSON object in a line, with one:

  {"do": "make", "case": {...}, "bytes": n}  followed by n bytes, float32: query [B, H, L, D], key [B, H, L, D],
      value [B, H, L, Dv] and, where case.projected, the projection [H, M, D]; builds the form of the case: {"id": i}
  {"do": "output", "id": i}  runs it once: {"output": base64 of float32 [B, H, L, Dv]}
  {"do": "time", "id": i, "runs": n, "ns": t}  at least one run, at most n, no new one after t ns: {"ns": [...]}
  {"do": "drop", "id": i}  frees it: {"dropped": i}

A case is {"method", "causal", "batch", "heads", "length", "head_dim", "value_dim", "num_features"}; any number are there at
once, until they are dropped. What goes wrong with a request is answered with {"error": "..."}. The script ends when its
input does, in the midst of a run too.
"""

import argparse
import base64
import ctypes
import itertools
import json
import os
import platform
import queue
import signal
import sys
import threading
import time

if __name__ == "__main__":  # whoever waits knows that a Python runs
    print('{"loading": "torch"}', flush=True)

try:
    import torch
    import torch.nn.functional as F

    MISSING = None
except Exception as error:  # a broken installation raises whatever it likes
    MISSING = f"{type(error).__name__}: {error}".splitlines()[0][:300]

CHUNK = 128  # tokens per chunk of causal forms: the fastest of 64, 128, 256


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


def trigonometric(x, rows):
    angles = F.normalize(x, dim=-1) @ rows.mT
    return torch.cat([angles.sin(), angles.cos()], -1)


def elu(x, _rows):
    return F.elu(x).add_(1)


FEATURES = {
    "favor-pos": (positive_queries, positive_keys),
    "rfa": (trigonometric, trigonometric),
    "elu": (elu, elu),
}


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


def softmax(q, k, v, causal):
    """All weights of a head in memory, as textbooks have it."""
    logits = (q @ k.mT).mul_(q.shape[-1] ** -0.5)
    if causal:
        hidden = torch.ones(logits.shape[-2:], dtype=torch.bool).triu_(1)
        logits.masked_fill_(hidden, -float("inf"))
    return torch.softmax(logits, -1) @ v


def form_of(case, q, k, v, projection):
    """A function that runs the case once."""
    method, causal = case["method"], case["causal"]
    if method == "softmax-online":
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    if method == "softmax":
        return lambda: softmax(q, k, v, causal)
    query_features, key_features = FEATURES[method]
    combine = linear_causal if causal else linear
    rows = projection if method != "favor-pos" else projection * q.shape[-1] ** -0.25
    return lambda: combine(query_features(q, rows), key_features(k, rows), v)


def tensors_of(case, data):
    """Query, key, value and projection, which share the memory of what was read."""
    batch, heads, length = case["batch"], case["heads"], case["length"]
    head_dim, value_dim, features = case["head_dim"], case["value_dim"], case["num_features"]
    shapes = [(batch, heads, length, dim) for dim in (head_dim, head_dim, value_dim)]
    if case["projected"]:
        shapes.append((heads, features, head_dim))
    floats = torch.frombuffer(data, dtype=torch.float32)
    sizes = [torch.Size(shape).numel() for shape in shapes]
    parts = [part.view(shape) for part, shape in zip(floats.split(sizes), shapes)]
    return parts if case["projected"] else [*parts, None]


def bytes_of(out):
    """Without NumPy, which PyTorch does not need."""
    if str(out.dtype) != "torch.float32":
        raise TypeError(f"expected a float32 output, got {out.dtype}")
    out = out.contiguous()
    return ctypes.string_at(out.data_ptr(), 4 * out.numel())


def times(run, runs, ns):
    found, begin = [], time.perf_counter_ns()
    while len(found) < runs and (not found or time.perf_counter_ns() - begin < ns):
        start = time.perf_counter_ns()
        run()
        found.append(time.perf_counter_ns() - start)
    return found


class Answers:
    def __init__(self):
        self.ids = itertools.count(1)
        self.runs = {}  # by the ids of their cases

    def answer(self, request, data):
        if request["do"] == "make":
            run = form_of(request["case"], *tensors_of(request["case"], data))
            made = next(self.ids)
            self.runs[made] = run
            return {"id": made}
        if request["do"] == "drop":
            del self.runs[request["id"]]
            return {"dropped": request["id"]}
        run = self.runs[request["id"]]
        if request["do"] == "output":
            return {"output": base64.b64encode(bytes_of(run())).decode()}
        return {"ns": times(run, request["runs"], request["ns"])}


def reading(requests):
    """Takes requests as they come; at the end of the input the process ends, whatever it is doing."""
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        data = bytearray(request.get("bytes", 0))
        view, read = memoryview(data), 0
        while read < len(data):
            count = sys.stdin.buffer.readinto(view[read:])
            if not count:
                os._exit(0)
            read += count
        requests.put((request, data))
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["torch"])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # what becomes of a run is the choice of who asks for it
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    requests = queue.SimpleQueue()
    threading.Thread(target=reading, args=(requests,), daemon=True).start()
    out = os.fdopen(os.dup(1), "w")  # libraries that print do so to stderr
    os.dup2(2, 1)

    def tell(answer):
        print(json.dumps(answer), file=out, flush=True)

    if MISSING:
        tell({"missing": MISSING})
        os._exit(1)
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    facts = {"version": torch.__version__, "python": platform.python_version()}
    tell({**facts, "instruction_set": torch.backends.cpu.get_cpu_capability()})
    answers = Answers()
    with torch.inference_mode():
        while True:
            request, data = requests.get()
            try:
                tell(answers.answer(request, data))
            except Exception as error:
                tell({"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]})


if __name__ == "__main__":
    main()
