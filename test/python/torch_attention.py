"""Holds rfa.torch to the program: python torch_attention.py NODE PROGRAM, in an empty folder.

For each method, option and form, `rfa apply` computes attention of the same arrays in float32, by random vectors of the same
seed. The module computes in float64, so that what differs is rounding of the program. Prints one line for each case: the largest
difference as a share of its bound.

The bound follows the sums of attention, to first order in u = 2^-24. A kernel estimate is a sum of F products of features, a row one of
S estimates: (S + F + 6) u |phi_i|.|phi_j|. A feature that is a function of w.x with a slope of at most one has an error of (D + 2) u g,
g = 1 + |w|.|x|, which adds (D + 2) u (g_i.|phi_j| + |phi_i|.g_j); a row errs by the sum over j of both, times (|v_j| + |out_i|), over
|sum of weights|. An exponential has the error of its logarithm times itself.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from rfa._arrays import attention_arrays, write
from rfa.projections import PROJECTIONS
from rfa.torch import METHODS, Attention
from rfa.torch._features import Call

NODE, PROGRAM = sys.argv[1:3]
U = 2.0**-24
B, H, L, D, DV, M, SEED = 2, 3, 137, 7, 5, 19, 11
rng = np.random.default_rng(5)
q, k = (rng.standard_normal((B, H, L, D), dtype=np.float32) for _ in range(2))
v = rng.standard_normal((B, H, L, DV), dtype=np.float32)
mask = np.ones((B, L), bool)
mask[0, 120:] = False
write(Path("plain.safetensors"), attention_arrays(q, k, v), {})
write(Path("masked.safetensors"), attention_arrays(q, k, v, mask), {})
grouped = [x[:, :1].copy() for x in (k, v)]
write(Path("grouped.safetensors"), attention_arrays(q, *grouped), {})


def applied(file, method, flags):
    """What the program computes, [B, H, L, Dv]."""
    out = Path("out.safetensors")
    argv = [NODE, PROGRAM, "apply", "--method", method, "--input", file, "--output", str(out), "--force", "--seed", str(SEED)]
    done = subprocess.run([*argv, *flags, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    data = out.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    (name,) = [name for name in header if name not in ("__metadata__",) and header[name]["shape"] == [B, H, L, DV]]
    begin, end = header[name]["data_offsets"]
    return torch.frombuffer(bytearray(data[8 + size + begin : 8 + size + end]), dtype=torch.float32).view(B, H, L, DV).double()


def sizes_of(method, attention, x, y):
    """g of queries and keys and their weights, [B, H, n, F'], as the head of this file says."""
    if method in ("softmax", "lara"):
        return None
    rows = torch.zeros(0) if attention.rows is None else attention.rows.double()
    call = Call(rows, attention.scale, attention.causal, attention.options, key_mask=torch.tensor(mask))
    return METHODS[method].features(x, y, call), rows


def bound(method, attention, out, hidden):
    x, y, values = (torch.tensor(each).double() for each in (q, k, v))
    seen = torch.ones(L, L, dtype=torch.bool).tril() if attention.causal else torch.ones(L, L, dtype=torch.bool)
    seen = seen & (torch.tensor(mask)[:, None, None] if hidden else True)
    largest = 1 + (x.norm(dim=-1).max() + y.norm(dim=-1).max()) ** 2
    found = sizes_of(method, attention, x, y)
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
    below = (queries.values @ keys.values.mT * relative).sum(-1, keepdim=True).abs()
    spread = 1 + logs.abs().max()
    found = U * spread * (above @ values.abs() + above.sum(-1, keepdim=True) * out.abs()) / below
    return torch.where(below == 0, 0, found)  # queries without features


def held(title, method, file="plain.safetensors", causal=False, flags=(), **options):
    projection = options.pop("projection", None)
    attention = Attention(
        method, heads=H, head_dim=D, num_features=M, causal=causal, seed=SEED,
        projection=projection or "orth", **options,
    )  # fmt: skip
    hidden = file == "masked.safetensors"
    projected = method in METHODS and METHODS[method].projected
    words = ["--causal" if causal else "--no-causal", *flags, *(["--projection", projection] if projection else [])]
    words += ["--num-features", str(M)] if projected or method == "lara" else []
    theirs = applied(file, method, words)
    arrays = [q, *grouped] if file == "grouped.safetensors" else [q, k, v]
    tensors = [torch.tensor(x).double() for x in arrays]
    ours = attention(*tensors, key_mask=torch.tensor(mask) if hidden else None)
    allowed = bound(method, attention, ours, hidden) if file != "grouped.safetensors" else torch.full_like(ours, 1e-4)
    differs = (ours - theirs).abs()
    share = torch.where(differs == 0, 0, differs / allowed).nan_to_num(torch.inf).max().item()
    single = attention(*(x.float() for x in tensors), key_mask=torch.tensor(mask) if hidden else None)
    differs = (single - ours).abs()
    own = torch.where(differs == 0, 0, differs / allowed).nan_to_num(torch.inf).max().item()
    print(json.dumps([title, share, own]), flush=True)


for method in METHODS:
    for causal in (False, True):
        if METHODS[method].causal_only and not causal:
            continue
        form = "causal" if causal else "bidirectional"
        held(f"{method} {form}", method, causal=causal)
        held(f"{method} {form} masked", method, "masked.safetensors", causal=causal)
held("softmax bidirectional", "softmax")
held("softmax causal masked", "softmax", "masked.safetensors", causal=True)
held("lara", "lara")
held("lara means", "lara", flags=["--option", "sampling=mean"], sampling="mean")
for projection in PROJECTIONS:
    held(f"favor-hyp {projection}", "favor-hyp", projection=projection)
held("rfa tau 0.7", "rfa", flags=["--option", "tau=0.7"], tau=0.7)
held("rfa-gate 0.5", "rfa-gate", causal=True, flags=["--option", "constantGate=0.5"], constant_gate=0.5)
held("oprf a", "oprf", flags=["--option", "a=-0.1"], a=-0.1)
held("oprf prefix", "oprf", causal=True, flags=["--option", "prefix=20"], prefix=20)
held("saderf ridge", "saderf", flags=["--option", "ridge=0.1"], ridge=0.1)
held("cosformer length", "cosformer", flags=["--option", "maxLength=200"], max_length=200)
held("favor-pos scale", "favor-pos", flags=["--scale", "0.2"], scale=0.2)
