"""The package linear-attention-transformer: softmax of queries over channels, of keys over tokens."""

from linear_attention_transformer.linear_attention_transformer import causal_linear_attn, linear_attn

from form import Form
from torch_forms import started, tensors, to_numpy  # noqa: F401

PACKAGES = ["linear-attention-transformer", "torch"]


def attention(case, inputs):
    q, k, v, _ = tensors(inputs).values()
    if case["causal"]:
        # buckets of one token: with longer ones a token would not see its own bucket
        return Form(lambda: causal_linear_attn(q, k, v, bucket_size=1))
    return Form(lambda: linear_attn(q, k, v))


def forms(case):
    return {"linear_attn": attention} if case == {**case, "kind": "attention", "method": "efficient"} else {}
