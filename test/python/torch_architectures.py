"""Softmax in place of softmax in every architecture of Transformers that a tiny configuration builds: the same outputs, or a refusal.

    python torch_architectures.py

Architectures are those of AutoModel. A recipe of sizes goes into each configuration by the usual names of its fields; models
with more than `LARGEST` parameters, counted without memory, and models that do not build or run, are passed over. Prints one
line for each that was tried, and a last one with the numbers.
"""

import json
import sys
import warnings
from pathlib import Path

import torch
import transformers
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rfa
import rfa.torch

transformers.logging.set_verbosity_error()
warnings.simplefilter("ignore")
torch.set_num_threads(2)
LARGEST, L, VOCABULARY = 3_000_000, 24, 99
#: By the names of fields: width, layers, heads, ...
SIZES = {
    32: "hidden_size d_model n_embd embed_dim dim embedding_size word_embed_proj_dim",
    2: "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers",
    4: "num_attention_heads num_heads n_head n_heads encoder_attention_heads decoder_attention_heads",
    48: "intermediate_size ffn_dim d_ff n_inner encoder_ffn_dim decoder_ffn_dim moe_intermediate_size",
    8: "head_dim d_kv qk_nope_head_dim v_head_dim qk_rope_head_dim",
    16: "kv_lora_rank q_lora_rank shared_expert_intermediate_size",
    64: "max_position_embeddings n_positions max_target_positions max_source_positions max_seq_len",
    VOCABULARY: "vocab_size",
}
GIVEN = {name: size for size, names in SIZES.items() for name in names.split()}
GIVEN |= {"num_key_value_heads": 2, "num_experts": 2, "num_local_experts": 2, "n_routed_experts": 2, "num_experts_per_tok": 1}
GIVEN |= {"image_size": 32, "patch_size": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def sized(kind):
    """A configuration with the sizes that its class names."""
    names = set(kind().to_dict())
    return kind(**{name: value for name, value in GIVEN.items() if name in names})


def built(config):
    """A model with weights that are not small; None: too large."""
    with torch.device("meta"):
        count = sum(weight.numel() for weight in AutoModel.from_config(config).parameters())
    if count > LARGEST:
        return None
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        noise = torch.randn(weight.shape, generator=generator)
        weight.data = noise * (1.5 / weight.shape[-1] ** 0.5 if weight.dim() > 1 else 0.5)
    return model


def inputs_of(model):
    """Texts by themselves, and with padding behind and before them; or pictures."""
    generator = torch.Generator().manual_seed(1)
    if model.main_input_name == "pixel_values":
        return [{"pixel_values": torch.randn(2, 3, 32, 32, generator=generator)}]
    ids = torch.randint(3, VOCABULARY, (2, L), generator=generator)
    masks = [torch.ones_like(ids) for _ in range(3)]
    masks[1][1, 15:] = 0
    masks[2][1, :9] = 0
    decoder = {"decoder_input_ids": ids} if getattr(model.config, "is_encoder_decoder", False) else {}
    return [{"input_ids": ids, "attention_mask": mask, **decoder} for mask in masks]


def hidden(model, inputs):
    torch.manual_seed(2)
    out = next(each for each in model(**inputs).values() if torch.is_tensor(each))
    mask = inputs.get("attention_mask")
    return out if mask is None or out.shape[:2] != mask.shape else out[mask.bool()]


def outcome(model):
    """Differences from what was computed before, or the refusal; None: the model does not run."""
    before, cases = [], []
    for inputs in inputs_of(model):
        try:
            own = hidden(model, inputs)
            before.append(own)
            cases.append(inputs)
        except Exception:
            continue
    if not before or not all(bool(each.isfinite().all()) for each in before):
        return None
    try:
        rfa.torch.use(model, "softmax")
        after = [hidden(model, inputs) for inputs in cases]
    except rfa.Error as error:
        return str(error)
    return max(((a - b).norm() / a.norm()).item() for a, b in zip(before, after))


def tried(name):
    if CONFIG_MAPPING[name] not in MODEL_MAPPING:
        return None
    try:
        model = built(sized(CONFIG_MAPPING[name]))
    except Exception:
        return None
    if model is None:
        return None
    with torch.no_grad():
        return outcome(model)


names = sys.argv[1:] or sorted(CONFIG_MAPPING)
same, refused, wrong = 0, 0, []
for name in names:
    try:
        found = tried(name)
    except Exception as error:
        found = error
    if found is None:
        continue
    if isinstance(found, str):
        refused += 1
    elif isinstance(found, float) and found < 1e-5:
        same += 1
    else:
        wrong.append(name)
    print(json.dumps([name, found if isinstance(found, (str, float)) else f"{type(found).__name__}: {found}"]), flush=True)
print(json.dumps({"same": same, "refused": refused, "wrong": wrong}))
