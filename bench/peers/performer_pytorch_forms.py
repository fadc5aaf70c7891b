"""The package performer-pytorch: its FastAttention, with the projection of the case, which its heads share."""

from importlib.metadata import version
from importlib.util import find_spec

from performer_pytorch.performer_pytorch import FastAttention, causal_linear_attention

from rfa_peers import Form
from torch_forms import INSTRUCTION_SET, array, bytes_of, started  # noqa: F401
from torch_forms import PACKAGES as TORCH

PACKAGES = {"performer-pytorch": version("performer-pytorch"), **TORCH}


def preset(_case):
    return "performer-pytorch"


def attention(case, q, k, v, projection, causal_form=None):
    layer = FastAttention(case["head_dim"], nb_features=case["num_features"], causal=case["causal"])
    layer.projection_matrix.copy_(projection[0])
    if causal_form:
        layer.causal_linear_fn = causal_form
    return Form(lambda: layer(q, k, v))


def extension(*given):
    """With the C++ loop of pytorch-fast-transformers, which the package itself chooses on GPUs alone."""
    import fast_transformers.causal_product  # noqa: F401

    return attention(*given, causal_form=causal_linear_attention)


def forms(case):
    if case["decode"] or case["method"] != "favor-pos":
        return {}
    if not case["causal"]:
        return {"FastAttention": attention}
    # its own causal form holds an M x D matrix per token of a chunk: several times slower, and known from short inputs
    own = {"FastAttention": attention} if case["length"] <= 2048 else {}
    return {**own, "FastAttention, C++ loop": extension} if find_spec("fast_transformers") else own
