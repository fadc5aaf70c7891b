"""Exports folders of Transformers in one command each: python export_folders.py NODE PROGRAM, in an empty folder.

Prints what was tried. Small random models of `models.py` stand in for pretrained ones.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import torch
import transformers
from transformers import AutoModel, AutoTokenizer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rfa
import rfa.torch
from rfa.export import create, main, read_texts

NODE, PROGRAM = sys.argv[1:3]
transformers.logging.set_verbosity_error()
subprocess.run([sys.executable, str(Path(__file__).with_name("models.py")), ".", "bert", "gpt2", "llama"], check=True)
texts = ["A man is eating a piece of bread while a dog looks on.", "Two of them.", "In the beginning was the word."]
Path("texts.txt").write_text("\n\n".join(texts))


def header(path):
    data = Path(path).read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def command(*argv):
    """What `python -m rfa.export` prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    argv = [sys.executable, "-m", "rfa.export", *argv]
    return subprocess.run(argv, capture_output=True, check=True, text=True, env=environment).stdout


for name in ("bert", "gpt2", "llama"):
    print(command("--model", name, "--texts", "texts.txt", "--max-tokens", "40", "--force"), end="")
    found = header(f"{name}.safetensors")
    assert {"layers.0.q", "layers.1.v", "layers.0.o", "layers.1.residual_norm", "key_mask"} <= {
        key.replace("layers.0.key_mask", "key_mask") for key in found
    }, sorted(found)
    assert found["layers.0.q"]["shape"][0] == 3 and found["__metadata__"]["origin"] == "3 texts"
    run = rfa.error_sweep(
        input=f"{name}.safetensors", layer=[0, 1], methods="elu", targets="raw", output=f"run-{name}", progress=False
    )
    assert len(run.rows) == 2 and all(row["projected_rel_l2_median"] > 0 for row in run.rows)
    print(name)

model, tokenizer = AutoModel.from_pretrained("gpt2"), AutoTokenizer.from_pretrained("gpt2")
files = rfa.torch.export(model, texts[:1], "apart", tokenizer=tokenizer, layers=[1], separate=True)
assert [str(file) for file in files] == ["apart/layer1.safetensors"]
assert header(files[0])["q"]["shape"][0] == 1 and header(files[0])["__metadata__"]["causal"] == "true"

before = Path("gpt2.safetensors").read_bytes()
assert main(["--model", "gpt2", "--texts", "texts.txt"]) == 2
assert Path("gpt2.safetensors").read_bytes() == before
assert main(["--model", "gpt2", "--texts", "texts.txt", "--max-texts", "1", "--force"]) == 0
assert header("gpt2.safetensors")["__metadata__"]["origin"] == "1 texts"
created = []
for content in (b"one", b"other"):
    try:
        create(Path("new.safetensors"), content, force=False)
        created.append(content)
    except rfa.UsageError as error:
        assert "new.safetensors, which exists" in str(error)
assert created == [b"one"] and Path("new.safetensors").read_bytes() == b"one"
try:
    create(Path("torn.safetensors"), None, force=False)
except TypeError:
    assert not Path("torn.safetensors").exists()
# killed by the system in the midst of its write: the file is the one before
KILLED = """
import resource, signal, pathlib, rfa.export
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
rfa.export.create(pathlib.Path("new.safetensors"), bytes(4000), force=True)
"""
env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
assert subprocess.run([sys.executable, "-c", KILLED], env=env, check=False).returncode == -signal.SIGXFSZ
assert Path("new.safetensors").read_bytes() == b"one"

assert main(["--model", "none", "--texts", "texts.txt"]) == 3
assert main(["--model", "gpt2", "--texts", "texts.txt", "--max-texts", "0"]) == 2

empty = Path("empty.txt")
empty.write_text("\n\n")
Path("folder").mkdir()
for name in ("pipe", "folder/a.txt"):
    os.mkfifo(name)
shutil.copytree("gpt2", "piped")
Path("piped/tokenizer.json").unlink()
os.mkfifo("piped/tokenizer.json")
Path("windows.txt").write_bytes(b"one\r\ntwo\r\n")
assert read_texts("windows.txt") == ["one", "two"]
CASES = [
    (lambda: rfa.torch.export("none", texts, "x.safetensors"), rfa.InputError, "a folder with config.json"),
    (lambda: rfa.torch.export(model, texts, "x.safetensors"), rfa.UsageError, "the tokenizer of the loaded model"),
    (lambda: rfa.torch.export("gpt2", [], "x.safetensors"), rfa.InputError, "at least one text"),
    (lambda: rfa.torch.export("gpt2", "empty.txt", "x.safetensors"), rfa.InputError, "at least one text"),
    (lambda: rfa.torch.export("gpt2", "none.txt", "x.safetensors"), rfa.InputError, "expected texts in none.txt"),
    (lambda: rfa.torch.export("gpt2", "pipe", "x.safetensors"), rfa.InputError, "got [Errno 22] no regular file: 'pipe'"),
    (lambda: rfa.torch.export("gpt2", "folder", "x.safetensors"), rfa.InputError, "no regular file: 'folder/a.txt'"),
    (lambda: rfa.torch.export("piped", texts, "x.safetensors"), rfa.InputError, "tokenizer.json, which is no regular file"),
    (lambda: rfa.torch.load_tuned("pipe"), rfa.InputError, "got no regular file"),
    (lambda: rfa.torch.export("gpt2", texts, "x.safetensors", max_tokens=0), rfa.UsageError, "max_tokens"),
    (lambda: rfa.torch.export("gpt2", texts, "x.safetensors", layers=[9]), rfa.InputError, "layer"),
    (lambda: rfa.torch.swap(model, texts), rfa.UsageError, "the tokenizer of the loaded model"),
    (lambda: rfa.torch.swap(torch.nn.Linear(2, 2), texts), rfa.ArgumentTypeError, "a model of Transformers"),
    (lambda: rfa.torch.swap("gpt2", []), rfa.UsageError, "at least one text"),
    (lambda: rfa.torch.swap("none", texts, progress=False), rfa.InputError, "none"),
    (lambda: rfa.torch.swap("gpt2", texts, method="elu"), rfa.ArgumentTypeError, "methods"),
]
signal.alarm(240)  # where one waits for a pipe
for action, kind, words in CASES:
    try:
        action()
    except kind as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError(f"expected {kind.__name__} with {words}")
signal.alarm(0)
assert not Path("x.safetensors").exists()
print("refusals")

# what is swapped in PyTorch is what the program swaps: the same random vectors, the same loss
for name, kind in (("gpt2", transformers.AutoModelForCausalLM), ("llama", transformers.AutoModelForCausalLM)):
    arguments = ["--methods", "favor-pos", "--num-features", "16", "--replicates", "1", "--no-yardsticks", "--seed", "4"]
    argv = ["swap", "--model", name, "--texts", "texts.txt", *arguments, "--output", f"swap-{name}", "--json"]
    subprocess.run([NODE, PROGRAM, *argv], capture_output=True, check=True)
    (record,) = [each for each in rfa.read(f"swap-{name}").records if each["cell"]["projection"] == "orth"]
    loaded, reader = kind.from_pretrained(name).eval(), AutoTokenizer.from_pretrained(name)
    sums = {}
    for form in ("exact", "swapped"):
        if form == "swapped":
            rfa.torch.use(loaded, "favor-pos", num_features=16, seed=4)
        losses, tokens = [], 0
        for text in texts:
            ids = reader(text, return_tensors="pt")["input_ids"]
            with torch.no_grad():
                logits = loaded(ids).logits[0, :-1].double()
            losses.append(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum").item())
            tokens += len(logits)
        sums[form] = sum(losses) / tokens
    found = record["result"]
    # hidden states of both programs agree to 1e-5 of their largest entry (model.test.ts), logits to about as much of
    # theirs, which are below 10 here: losses to 1e-4. Another draw changes them by 1e-2 and more
    added = sums["swapped"] - sums["exact"]
    assert abs(added - found["causal_effects"]["nats_added"]["mean"]) < 1e-4, (name, added, found["causal_effects"])
    assert abs(added) > 1e-2
    # a loaded model is measured as its folder is
    given = {"methods": "favor-pos", "num_features": 16, "replicates": 1, "yardsticks": False, "seed": 4}
    plain = kind.from_pretrained(name)
    again = rfa.torch.swap(plain, texts, tokenizer=reader, output=f"loaded-{name}", progress=False, **given)
    (same,) = [each for each in again.records if each["cell"]["projection"] == "orth"]
    assert same["result"]["causal_effects"] == found["causal_effects"], (same["result"], found)
    assert str(rfa.read(f"loaded-{name}")) == str(again) and name in str(again), str(again)
    print(f"{name} swapped")
