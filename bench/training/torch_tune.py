"""What `rfa tune` learns, in PyTorch: python torch_tune.py FILE STEPS RATE M.

FILE has layers.N.q, k, v and key_mask. Maps and random vectors of favor-pos are learned layer by layer on four texts of five, Adam on the
mean over heads of the squared relative error. Prints held-out errors before and after, and seconds of CPU, as JSON.
"""

import json
import sys
import time

import torch
from safetensors.torch import load_file


def attend(q, k, v, mask, rows):
    scale = q.shape[-1] ** -0.25
    logits = (k * scale) @ rows.mT - 0.5 * (k * scale).square().sum(-1, keepdim=True)
    logits = logits.masked_fill(~mask[:, None, :, None], float("-inf"))
    peaks = logits.detach().amax(-2, keepdim=True)  # [B, H, 1, M], given to queries
    keys = (logits - peaks).exp()
    queries = (q * scale) @ rows.mT + peaks
    queries = (queries - queries.detach().amax(-1, keepdim=True)).exp()
    top = queries @ (keys.mT @ v)
    return top / (queries @ keys.sum(-2).unsqueeze(-1))


def main(path, steps, rate, features):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    arrays = load_file(path)
    layers = sorted({int(name.split(".")[1]) for name in arrays})
    answer = {"before": [], "after": [], "seconds": []}
    for layer in layers:
        q, k, v, mask = (arrays[f"layers.{layer}.{name}"] for name in ("q", "k", "v", "key_mask"))
        q, k, v, mask = q.float(), k.float(), v.float(), mask.bool()
        heads, dim = q.shape[1], q.shape[-1]
        exact = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        judged = mask[:, None, :, None]
        held = torch.arange(len(q)) % 5 == 4
        rows = torch.cat([torch.linalg.qr(torch.randn(heads, dim, dim))[0] for _ in range(-(-features // dim))], -2)
        rows = (rows * torch.randn(heads, features, dim).norm(dim=-1, keepdim=True))[:, :features].contiguous()
        maps = torch.eye(dim).repeat(2, heads, 1, 1)
        learned = [maps.requires_grad_(), rows.requires_grad_()]

        def error(texts):
            out = attend(q[texts] @ maps[0], k[texts] @ maps[1], v[texts], mask[texts], rows)
            squares = ((out - exact[texts]) * judged[texts]).square().sum((0, 2, 3))
            return squares / (exact[texts] * judged[texts]).square().sum((0, 2, 3))

        def held_out():
            with torch.no_grad():
                return error(held).sqrt().mean().item()

        answer["before"].append(held_out())
        optimizer = torch.optim.Adam(learned, lr=rate)
        train = ~held
        begin = time.process_time()
        best = held_out()
        for step in range(steps):
            optimizer.zero_grad(set_to_none=True)
            error(train).mean().backward()
            optimizer.step()
            if step % 5 == 4 or step == steps - 1:
                best = min(best, held_out())
        answer["seconds"].append(time.process_time() - begin)
        answer["after"].append(best)
    print(json.dumps(answer))


main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
