"""Holds rfa.torch to the program: python torch_attention.py NODE LIBRARY, LIBRARY its dist/src/index.js.

For each method, option and form, the library computes attention of the same arrays in float32, by random vectors of the same
seed. The module computes in float64, so that what differs is rounding of the program. Prints one line for each case: the largest
difference as a share of its bound.

The bound follows the sums of attention, to first order in u = 2^-24. A kernel estimate is a sum of F products of features, a row one of
S estimates: (S + F + 6) u |phi_i|.|phi_j|. A feature that is a function of w.x with a slope of at most one has an error of (D + 2) u g,
g = 1 + |w|.|x|, which adds (D + 2) u (g_i.|phi_j| + |phi_i|.g_j); a row errs by the sum over j of both, times (|v_j| + |out_i|), over
|sum of weights|. An exponential has the error of its logarithm times itself.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from rfa.projections import PROJECTIONS
from rfa.torch import METHODS, Attention
from rfa.torch._features import Call, guard_of
from rfa.torch._forms import guarded

NODE, LIBRARY = sys.argv[1:3]
#: Takes arrays, then cases one a line on stdin; answers each with a line of numbers.
COMPUTE = """
const {attention, tf, useBackend} = await import(process.argv[1])
const {createInterface} = await import('node:readline')
await useBackend('auto')
let arrays
for await (const line of createInterface({input: process.stdin})) {
  const given = JSON.parse(line)
  if (!arrays) {
    arrays = Object.fromEntries(Object.entries(given).map(([name, {data, shape}]) => [name, tf.tensor(data, shape)]))
    continue
  }
  const {masked, ...options} = given
  const out = attention(arrays.q, arrays.k, arrays.v, {...options, ...(masked && {keyMask: arrays.mask})})
  process.stdout.write(JSON.stringify([...out.dataSync()]) + '\\n')
}
"""
U = 2.0**-24
B, H, L, D, DV, M, SEED = 2, 3, 137, 7, 5, 19, 11
rng = np.random.default_rng(5)
q, k = (rng.standard_normal((B, H, L, D), dtype=np.float32) for _ in range(2))
v = rng.standard_normal((B, H, L, DV), dtype=np.float32)
mask = np.ones((B, L), bool)
mask[0, 120:] = False
program = subprocess.Popen(
    [NODE, "--input-type=module", "-e", COMPUTE, LIBRARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def ask(document):
    program.stdin.write(json.dumps(document) + "\n")
    program.stdin.flush()


ask({name: {"data": x.ravel().tolist(), "shape": x.shape} for name, x in dict(q=q, k=k, v=v, mask=mask.astype(float)).items()})


def computed(options):
    """What the program computes, [B, H, L, Dv]; texts of JSON keep every float32."""
    ask(options)
    return torch.tensor(json.loads(program.stdout.readline()), dtype=torch.float64).view(B, H, L, DV)


def sizes_of(method, attention, x, y, hidden):
    """Features of both sides and the random vectors; `None` for methods that are not feature maps."""
    if method in ("softmax", "lara"):
        return None
    rows = torch.zeros(0) if attention.rows is None else attention.rows.double()
    seen = torch.tensor(mask) if hidden else None
    call = Call(rows, attention.scale, attention.causal, attention.options, key_mask=seen, query_mask=seen)
    return METHODS[method].features(x, y, call), rows


def bound(method, attention, out, hidden):
    x, y, values = (torch.tensor(each).double() for each in (q, k, v))
    seen = torch.ones(L, L, dtype=torch.bool).tril() if attention.causal else torch.ones(L, L, dtype=torch.bool)
    seen = seen & (torch.tensor(mask)[:, None, None] if hidden else True)
    largest = 1 + (x.norm(dim=-1).max() + y.norm(dim=-1).max()) ** 2
    found = sizes_of(method, attention, x, y, hidden)
    if found is None:  # softmaxes, up to four one in another, of logits up to the largest products
        return (4 * (L + 2 * D + 8) * U * largest) * values.abs().amax() * torch.ones_like(out)
    (queries, keys), rows = found
    terms = L + 2 * (keys.values if keys.values is not None else keys.logs).shape[-1] + 2 * D + 8
    if keys.values is None:
        logs = queries.logs[:, :, :, None] + keys.logs[:, :, None]
        weights = torch.logsumexp(logs, -1).masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num(0)
        largest = 1 + queries.logs.abs().max() + keys.logs.abs().max()
        return terms * U * largest * (weights @ values.abs() + out.abs())
    sizes, errors = [], []
    for z, features in ((x, queries), (y, keys)):
        size = features.values.abs()
        gauge = 1 + z.abs() @ rows.abs().mT if rows.numel() else size
        sizes.append(size)
        errors.append(torch.cat([gauge, gauge], -1) if size.shape[-1] == 2 * gauge.shape[-1] else gauge)
    logs = torch.zeros_like(sizes[1][..., :1]) if keys.logs is None else keys.logs
    relative = (logs.mT - torch.where(seen, logs.mT, -torch.inf).amax(-1, keepdim=True)).exp() * seen
    summed = (L + sizes[1].shape[-1] + 6) * (sizes[0] @ sizes[1].mT)
    above = (summed + (D + 2) * (errors[0] @ sizes[1].mT + sizes[0] @ errors[1].mT)) * relative
    below = (queries.values @ keys.values.mT * relative).sum(-1, keepdim=True)
    guard = guard_of(attention.options, attention.causal)
    if guard is not None:  # acts on the sums as they are: it moves by no more than they do
        offset = torch.where(seen, logs.mT, -torch.inf).amax(-1, keepdim=True).nan_to_num(neginf=0)
        scale = (offset + (0 if queries.logs is None else queries.logs)).exp()
        below = guarded(below * scale, *guard) / scale
    below = below.abs()
    spread = 1 + logs.abs().max()
    found = U * spread * (above @ values.abs() + above.sum(-1, keepdim=True) * out.abs()) / below
    return torch.where(below == 0, 0, found)  # queries without features


def held(title, method, masked=False, causal=False, projection="orth", **options):
    own = {re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name): value for name, value in options.items()}
    sizes = {"heads": H, "head_dim": D, "num_features": M}
    attention = Attention(method, **sizes, causal=causal, seed=SEED, projection=projection, **own)
    given = {"projection": projection} if method in METHODS and METHODS[method].projected else {}
    theirs = computed({"method": method, "numFeatures": M, "causal": causal, "seed": SEED, "masked": masked, **given, **options})
    tensors = [torch.tensor(x) for x in (q, k, v)]
    seen = torch.tensor(mask) if masked else None
    ours = attention(*(x.double() for x in tensors), key_mask=seen)
    allowed = bound(method, attention, ours, masked)

    def share(other):
        differs = (ours - other).abs()
        shares = torch.where(differs == 0, 0, differs / allowed).nan_to_num(torch.inf)
        # queries of masked tokens belong to no text
        return (shares if seen is None else shares * seen[:, None, :, None]).max().item()

    print(json.dumps([title, share(theirs), share(attention(*tensors, key_mask=seen))]), flush=True)


for method in METHODS:
    for causal in (False, True):
        if METHODS[method].causal_only and not causal:
            continue
        form = "causal" if causal else "bidirectional"
        held(f"{method} {form}", method, causal=causal)
        held(f"{method} {form} masked", method, True, causal)
held("softmax bidirectional", "softmax")
held("softmax causal masked", "softmax", True, True)
held("lara", "lara")
held("lara means", "lara", sampling="mean")
for projection in PROJECTIONS:
    held(f"favor-hyp {projection}", "favor-hyp", projection=projection)
    held(f"rfa {projection} causal", "rfa", causal=True, projection=projection)
held("rfa tau 0.7", "rfa", tau=0.7)
held("rfa-gate 0.5", "rfa-gate", causal=True, constantGate=0.5)
held("oprf a", "oprf", a=-0.1)
held("oprf prefix", "oprf", causal=True, prefix=20)
held("saderf ridge", "saderf", ridge=0.1)
held("cosformer epsilon", "cosformer", causal=True, featureEpsilon=0.1, denGuard="clamp:1e-2")
held("favor-relu epsilon", "favor-relu", featureEpsilon=1e-3, causalDenGuard="add:1")
held("rfa norm", "rfa", normEpsilon=0.5, featureScale=0.1, denGuard="abs-clamp:1")
held("rfa-arccos norm", "rfa-arccos", causal=True, normEpsilon=0.5, featureScale=0.1, featureEpsilon=0.01, denGuard="add:0.1")
for method, facts in METHODS.items():
    if "den_guard" in facts.options:
        for guard in ("add:2", "clamp:3", "abs-clamp:0.3"):
            for masked in (False, True):
                held(f"{method} {guard} causal{masked * ' masked'}", method, masked, True, denGuard=guard)
            if not facts.causal_only:
                held(f"{method} {guard}", method, True, denGuard=guard, causalDenGuard="none")
                held(f"{method} {guard} causal only", method, causal=True, causalDenGuard=guard)
held("cosformer length", "cosformer", maxLength=200)
held("hedgehog exp", "hedgehog", nonlinearity="exp")
held("hedgehog exp causal", "hedgehog", True, True, nonlinearity="exp")
held("favor-pos scale", "favor-pos", scale=0.2)
program.stdin.close()
program.wait()
