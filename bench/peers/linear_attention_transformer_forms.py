"""The package linear-attention-transformer: softmax of queries over channels, of keys over tokens."""

from importlib.metadata import version

from linear_attention_transformer.linear_attention_transformer import causal_linear_attn, linear_attn

from rfa_peers import Form
from torch_forms import INSTRUCTION_SET, array, bytes_of, started  # noqa: F401
from torch_forms import PACKAGES as TORCH

PACKAGES = {"linear-attention-transformer": version("linear-attention-transformer"), **TORCH}


def preset(_case):
    return "linear-attention-transformer"


def attention(case, q, k, v, _projection):
    if case["causal"]:
        # buckets of one token: with longer ones a token would not see its own bucket
        return Form(lambda: causal_linear_attn(q, k, v, bucket_size=1))
    return Form(lambda: linear_attn(q, k, v))


def forms(case):
    return {} if case["decode"] or case["method"] != "efficient" else {"linear_attn": attention}
