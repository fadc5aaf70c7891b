"""The model of model.ts in PyTorch: python torch_training.py REQUEST, a file of JSON.

Prints loss, milliseconds of CPU of each step and the version as JSON; gradients of the first step go into a file of floats,
weight by weight.
"""

import json
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from torch_forms import linear_causal_at_once  # noqa: E402

CHUNK = 128  # tokens up to which one masked product is faster than sums over chunks


def floats(path, shapes):
    data = torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.float32)
    parts = data.split([torch.Size(shape).numel() for shape in shapes])
    return [part.view(shape).clone() for part, shape in zip(parts, shapes)]


def trigonometric(x, rows):
    angles = F.normalize(x, dim=-1) @ rows.mT
    return torch.cat([angles.sin(), angles.cos()], -1)


def positive(x, rows, dims):
    """Times a factor that cancels, which needs no gradient."""
    scaled = x * x.shape[-1] ** -0.25
    logits = scaled @ rows.mT - 0.5 * scaled.square().sum(-1, keepdim=True)
    return (logits - logits.detach().amax(dims, keepdim=True)).exp()


FEATURES = {
    "elu": lambda q, k, rows: (F.elu(q) + 1, F.elu(k) + 1),
    "rfa": lambda q, k, rows: (trigonometric(q, rows), trigonometric(k, rows)),
    "favor-pos": lambda q, k, rows: (positive(q, rows, -1), positive(k, rows, (-1, -2))),
}


def attend(method, q, k, v, rows):
    if method in ("softmax", "softmax-online"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    q, k = FEATURES[method](q, k, rows)
    if v.shape[-2] > CHUNK:
        return linear_causal_at_once(q, k, v)
    weights = (q @ k.mT).tril()
    return weights @ v / weights.sum(-1, keepdim=True)


def loss_of(method, sizes, weights, tokens, rows):
    batch, length, width, heads = (sizes[name] for name in ("batch", "length", "width", "heads"))

    def norm(name, x):
        return F.layer_norm(x, [width], weights[name + ".weight"], weights[name + ".bias"])

    def linear(name, x):
        return torch.addmm(weights[name + ".bias"], x, weights[name + ".weight"])

    x = (weights["embedding"][tokens[:, :-1]] + weights["positions"]).view(-1, width)
    for at in map(str, range(sizes["layers"])):
        qkv = linear(at + ".qkv", norm(at + ".norm", x))
        q, k, v = qkv.view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
        out = attend(method, q, k, v, rows).transpose(1, 2).reshape(-1, width)
        x = x + linear(at + ".out", out)
        x = x + linear(at + ".down", F.relu(linear(at + ".up", norm(at + ".mlp_norm", x))))
    return F.cross_entropy(linear("head", norm("norm", x)), tokens[:, 1:].reshape(-1))


def main(request):
    torch.set_num_threads(1)
    sizes, method = request["sizes"], request["method"]
    shapes = [weight["shape"] for weight in request["weights"]]
    names = [weight["name"] for weight in request["weights"]]
    values = floats(request["weights_file"], shapes)
    weights = {name: value.requires_grad_() for name, value in zip(names, values)}
    tokens = torch.tensor(request["tokens"]).view(sizes["batch"], sizes["length"] + 1)
    head_dim = sizes["width"] // sizes["heads"]
    (rows,) = floats(request["projection_file"], [[sizes["heads"], sizes["numFeatures"], head_dim]])
    optimizer = torch.optim.Adam(weights.values(), lr=3e-3, betas=(0.9, 0.999), eps=1e-8, fused=True)

    loss = loss_of(method, sizes, weights, tokens, rows)
    loss.backward()
    gradients = torch.cat([weight.grad.flatten() for weight in weights.values()])
    Path(request["gradients_file"]).write_bytes(bytes(gradients.contiguous().untyped_storage()))

    times = []
    for _ in range(request["warmup"] + request["steps"]):
        begin = time.process_time()
        optimizer.zero_grad(set_to_none=True)
        loss_of(method, sizes, weights, tokens, rows).backward()
        optimizer.step()
        times.append(1e3 * (time.process_time() - begin))
    answer = {"loss": loss.item(), "milliseconds": times[request["warmup"] :], "version": torch.__version__}
    print(json.dumps(answer))


main(json.loads(Path(sys.argv[1]).read_text()))
