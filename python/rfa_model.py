"""Models of Transformers with exchanged attention: `rfa swap --engine transformers` runs this script.

    python3 rfa_model.py --threads 2

It speaks as `rfa_supervisor.answering` says. Of itself it says {"packages", "python", "device", "methods": {name: [option,
...]}, "projections": [name, ...]}. It answers:

  {"do": "open", "folder": path}  loads a model, in float32: {"kind", "causal", "layers", "heads", "key_heads", "head_dim",
      "scale", "width", "vocabulary", "max_tokens", "parameters"}
  {"do": "tokenize", "texts": [...], "max_tokens": n}  {"rows": [[id, ...], ...]}
  {"do": "check", "length": n}  runs a text of that length with its attention taken over: {"length": n}
  {"do": "original", "batch": i, "lengths": [...], "bytes": n}  followed by int32 ids [B, L]: squared lengths of hidden
      states [layers + 1, B, L], and of an encoder its last hidden states [B, L, W]
  {"do": "exchanged", "batch": i, "layers": [...], "draws": n, "method": {...}}  for each draw squared distances of hidden
      states, from the first of these layers on, [.., B, L]; `Model.squares` of attention in that layer, [8, B], unless
      there are no layers; and `Model.predictions`, or last hidden states

Arrays are float64, one after the other. Layers are those that attend. What cannot be run is refused by its name, with
{"refused": message, "tries": [...]}.
"""

import argparse
import os

from rfa_supervisor import answering, supervised


def started(threads):
    """What the process says of itself, and what answers."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import transformers_engine

    return transformers_engine.facts(threads), transformers_engine.Answers()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    answering("transformers", lambda: started(options.threads))


if __name__ == "__main__":
    supervised(main, 0)
