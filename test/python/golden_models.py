"""What Transformers computes of the tiny models of test/golden/models.test.ts: python golden_models.py FOLDER ... > models.json

Prints by its kind, for each folder, the output of the last layer at the tokens of IDS, and the logits of causal models.
"""

import json
import pathlib
import sys
from typing import Any

import torch
import transformers
from transformers import (
    BertModel,
    DistilBertModel,
    GPT2LMHeadModel,
    LlamaForCausalLM,
    MistralForCausalLM,
    Qwen2ForCausalLM,
    Qwen3ForCausalLM,
    RobertaModel,
)

IDS = [[4, 5, 6, 7, 8], [9, 2, 12, 0, 0]]
LENGTHS = [5, 3]
KINDS = {
    "bert": BertModel, "roberta": RobertaModel, "distilbert": DistilBertModel, "gpt2": GPT2LMHeadModel,
    "llama": LlamaForCausalLM, "mistral": MistralForCausalLM, "qwen2": Qwen2ForCausalLM, "qwen3": Qwen3ForCausalLM,
}  # fmt: skip
#: Where a model without its head has its layers.
PLACES = ["encoder.layer", "transformer.layer", "h", "layers"]
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def computed(folder: pathlib.Path) -> tuple[str, dict[str, Any]]:
    kind = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    model = KINDS[kind].from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    base = getattr(model, model.base_model_prefix, model)
    parts = dict(base.named_modules())
    last = next(parts[place] for place in PLACES if place in parts)[-1]
    kept: list[torch.Tensor] = []
    last.register_forward_hook(lambda _module, _inputs, out: kept.append(out[0] if isinstance(out, tuple) else out))
    mask = torch.tensor([[token < length for token in range(len(IDS[0]))] for length in LENGTHS])
    with torch.no_grad():
        out = model(input_ids=torch.tensor(IDS), attention_mask=mask.long())
    found = {"hidden": numbers(kept[0][mask])}
    if "logits" in out:
        found["logits"] = numbers(out.logits[mask])
    return kind, found


def numbers(rows: torch.Tensor) -> list[list[float]]:
    """Of float64: eight digits are the same on every machine."""
    return [[float(f"{x:.8g}") for x in row] for row in rows.tolist()]


if __name__ == "__main__":
    print(json.dumps(dict(computed(pathlib.Path(folder)) for folder in sys.argv[1:])))
