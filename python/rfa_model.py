"""Models of Transformers with exchanged attention: `rfa swap --engine transformers` runs this script.

    python3 rfa_model.py --threads 2 --device cpu

It speaks as `rfa_supervisor.answering` says. Of itself it says {"packages", "python", "device", "device_kind", "methods":
{name: [option, ...]}, "projections": [name, ...]}. It answers:

  {"do": "open", "folder": path, "inputs": file, "timed": bool}  loads a model, in float32: {"kind", "causal", "layers", "heads",
      "key_heads", "head_dim", "scale", "width", "vocabulary", "max_tokens", "parameters", "classes", "items"}; with a
      file of arrays it reads these in place of texts, `items` of them
  {"do": "change", "folder": path, "inputs": file}  loads a model of the same layers, which is exchanged in place of the
      first and measured against it: the same
  {"do": "tokenize", "texts": [...], "max_tokens": n}  {"rows": [[id, ...], ...]}
  {"do": "lengths", "count": n}  {"lengths": [...]}: positions of each of the first items of the file
  {"do": "check", "length": n}  runs a text of that length with its attention taken over: {"length": n}
  {"do": "original", "batch": i, "lengths": [...], "bytes": n}  followed by int32 ids [B, L], or of a file its
      "items": squared lengths of hidden states [layers + 1, B, L], and of an encoder its last hidden states [B, L, W]
  {"do": "exchanged", "batch": i, "layers": [...], "draws": n, "method": {...}}  for each draw squared distances of hidden
      states, from the first of these layers on, of a changed model from layer 0 on, [.., B, L]; `Model.squares` of attention in that layer, [8, B], unless
      there are no layers; and `Model.predictions`, or last hidden states, and of a model that predicts classes whether
      they are those of the original, [B]

  {"do": "capture", "batch": i, "layer": n}  queries [B, H, L, D], keys and values [B, Hkv, L, D] of a batch that the original
      has run, as attention reads them
  {"do": "output", "layer": n}  the matrix [H D, W] that outputs of attention are multiplied by; nothing where there is none

  {"do": "time", "method": {...} or null, "layers": [...], "lengths": [...], "bytes": n, "runs": r, "ns": t}  followed by
      int32 ids: times of forward passes of the model as its users run it, at least one, at most r, no new one after t ns:
      {"ns": [...]}; without a method of the model as it is, of "identity" without attention
  {"do": "gate", "method", "layers", "lengths", "bytes"}  how far outputs of that forward are from those that "exchanged"
      runs: {"error": largest difference, "largest": entry}

Arrays are float64, one after the other. Layers are those that attend. What cannot be run is refused by its name, with
{"refused": message, "tries": [...]}.
"""

import argparse
import os

from rfa_supervisor import answering, supervised


def started(threads, device):
    """What the process says of itself, and what answers."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import transformers_engine

    device = transformers_engine.device_of(device)
    return transformers_engine.facts(threads, device), transformers_engine.Answers(device)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    answering("transformers", lambda: started(options.threads, options.device))


if __name__ == "__main__":
    supervised(main, 0)
