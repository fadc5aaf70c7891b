"""Small random models for tests of rfa.torch, and what is looked at in them."""

import sys
import types
from pathlib import Path

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rfa

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(3)
torch.set_grad_enabled(False)
NARROW = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
IDS = torch.randint(3, 99, (2, 20))


def loud(model):
    """With weights that are not small."""
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.data.normal_(0, 1.5 / weight.shape[-1] ** 0.5)
    return model.eval()


def llama(**options):
    return loud(LlamaForCausalLM(LlamaConfig(**NARROW, **options)))


def off(one, other):
    return ((one - other).norm() / other.norm()).item()


def refused(action, words, kind=rfa.Error):
    try:
        action()
    except kind as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError(f"expected a refusal with {words}")


def run(names, *helpers):
    """Runs the functions of a script but for its helpers, and prints their names."""
    for name, action in list(names.items()):
        if isinstance(action, types.FunctionType) and action.__module__ == "__main__" and name not in helpers:
            action()
            print(name, flush=True)
