"""The package performer-pytorch: its FastAttention, with the projection of the case."""

from importlib.util import find_spec

from performer_pytorch.performer_pytorch import FastAttention, causal_linear_attention

from form import Form
from torch_forms import started, tensors, to_numpy  # noqa: F401

PACKAGES = ["performer-pytorch", "torch"]


def attention(case, inputs, causal_form=None):
    q, k, v, projection = tensors(inputs).values()
    layer = FastAttention(case["headDim"], nb_features=len(projection), causal=case["causal"])
    layer.projection_matrix.copy_(projection)
    if causal_form:
        layer.causal_linear_fn = causal_form
    # of the sums of keys: only the causal forms have it
    epsilon = {"normalizerEpsilon": 1e-6} if case["causal"] else {}
    return Form(lambda: layer(q, k, v), departs={"featureEpsilon": 1e-4, **epsilon})


def extension(case, inputs):
    """With the C++ loop of pytorch-fast-transformers, which the package itself chooses on GPUs alone."""
    import fast_transformers.causal_product  # noqa: F401

    return attention(case, inputs, causal_linear_attention)


def forms(case):
    if case["kind"] == "decode" or case["method"] != "favor-pos":
        return {}
    if not case["causal"]:
        return {"FastAttention": attention}
    # its own causal form holds an M x D matrix per token of a chunk: several times slower, and known from short inputs
    own = {"FastAttention": attention} if case["length"] <= 2048 else {}
    return {**own, "FastAttention, C++ loop": extension} if find_spec("fast_transformers") else own
