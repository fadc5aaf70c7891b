"""Small random models of every architecture of Transformers: sizes by the names that configurations use."""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from transformers import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_MAPPING_NAMES

#: Parameters of the largest model that is made.
LARGEST = 12_000_000
BATCH, TOKENS, VOCABULARY = 2, 12, 99
#: Values of numbers in configurations, by the first pattern that their name matches.
COUNTS = [
    (r".*vocab_size|vocab_size_.*", VOCABULARY),
    (r"max_.*positions?(_embeddings)?|n_positions|n_ctx|max_seq(uence)?_len(gth)?|max_position.*|seq_length", 64),
    (r"num_experts_per_tok|moe_k|moe_top_?k|num_selected_experts|top_k_experts", 2),
    (r"(num|n)_(local_|routed_)?experts|moe_num_experts|num_local_experts|n_routed_experts", 4),
    (r"(n|num|topk)_groups?(_limited)?|n_shared_experts", 1),
    (r"(num_hidden|n|num|encoder|decoder|num_encoder|num_decoder|e|d|text|num_hidden_layers.*)_layers?|depth|.*_num_layers|num_layers.*|layers|.*num_hidden_layers", 2),
    (r"first_k_dense_replace", 1),
]  # fmt: skip
SIZES = [
    (r"qk_(rope|nope)_head_dim|v_head_dim|head_dim|.*_head_dim|d_kv|attention_head_size|kv_channels|d_head|.*_head_size", 16),
    (r"(q|kv|o|attention)_lora_rank", 24),
    (r"(num|n)_(attention_)?heads?|(encoder|decoder|e|d)_attention_heads|num_attention_heads.*|.*_num_heads|attention_heads|.*num_attention_heads", 4),
    (r".*(intermediate_size|ffn_dim|ffn_hidden_size|mlp_dim)|d_ff|n_inner|d_inner|hidden_dim|inner_dim|dim_feedforward", 48),
    (r"hidden_size|d_model|n_embd|embed_dim|dim|emb_dim|.*embed_dim|.*embedding_size|.*hidden_size|projection_dim|.*_dim|width", 64),
]  # fmt: skip
IMAGES = [(r"image_size|img_size|input_size", 32), (r"patch_size", 8), (r"num_mel_bins|n_mels|num_mels", 16)]
KEY_HEADS = re.compile(r".*(key_value_heads|kv_heads|n_head_kv|num_kv_heads|multi_query_group_num)")
TOKEN = re.compile(r".*token_(id|index)")
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def architectures() -> Iterator[tuple[str, str]]:
    """Model types with the class that computes their hidden states, or else their logits."""
    for kind in CONFIG_MAPPING_NAMES:
        names = MODEL_MAPPING_NAMES.get(kind) or MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
        for name in [names] if isinstance(names, str) else list(names or ())[:1]:
            yield kind, name


def class_of(kind: str, name: str) -> type:
    place = importlib.import_module(CONFIG_MAPPING[kind].__module__.replace(".configuration_", ".modeling_"))
    return getattr(place, name)


def changes(config: PretrainedConfig, rules: list[tuple[str, int]]) -> dict[str, Any]:
    """Arguments of a small configuration of the same class."""
    out: dict[str, Any] = {}
    smaller = SIZES[0] in rules
    fields = {**vars(config), **{name: getattr(config, name, None) for name in config.attribute_map}}
    for name, value in fields.items():
        if name in config.sub_configs or name.startswith("_") or isinstance(value, bool) or not isinstance(value, int):
            continue
        if TOKEN.fullmatch(name):
            out[name] = SPECIAL.get(name, VOCABULARY - 1 - len(out) % 40)
        elif KEY_HEADS.fullmatch(name) and smaller:
            out[name] = 1 if value == 1 else 4 if value == getattr(config, "num_attention_heads", None) else 2
        elif any(re.fullmatch(pattern, name) for pattern, _size in rules):
            out[name] = next(size for pattern, size in rules if re.fullmatch(pattern, name))
    kinds = getattr(config, "layer_types", None)
    if isinstance(kinds, (list, tuple)) and kinds:  # a layer of each kind
        distinct = list(dict.fromkeys(kinds))
        out["layer_types"] = distinct * 2 if len(distinct) == 1 else distinct
        out |= {name: len(out["layer_types"]) for name in ("num_hidden_layers", "num_layers", "n_layer") if name in out}
    rope = getattr(config, "rope_parameters", None)
    if isinstance(rope, dict) and "mrope_section" in rope and smaller:
        out["rope_parameters"] = {**rope, "mrope_section": [2, 3, 3]}  # of 16 entries, in pairs
    for name in config.sub_configs:
        own = getattr(config, name, None)
        if isinstance(own, PretrainedConfig):
            out[name] = {"model_type": own.model_type, **changes(own, rules)}
    return out


RECIPES = {
    "small": COUNTS + SIZES + IMAGES,
    "small, images as they are": COUNTS + SIZES,
    "few layers": COUNTS + IMAGES,
    "few layers, images as they are": COUNTS,
}


def configurations(kind: str) -> Iterator[tuple[str, PretrainedConfig | Exception]]:
    make = CONFIG_MAPPING[kind]
    for name, rules in RECIPES.items():
        try:
            yield name, make(**changes(make(), rules))
        except Exception as error:
            yield name, error


def tiny(kind: str, name: str) -> Iterator[Any]:
    """Models that were made, or why not."""
    model_class = class_of(kind, name)
    for recipe, config in configurations(kind):
        if isinstance(config, Exception):
            yield recipe, config
            continue
        try:
            config._attn_implementation = "eager"
            with torch.device("meta"):
                count = sum(parameter.numel() for parameter in model_class(config).parameters())
            if count > LARGEST:  # the other recipes make it larger
                yield recipe, ValueError(f"{count} parameters")
                return
            torch.manual_seed(0)
            yield recipe, randomized(model_class(config).eval())
        except Exception as error:
            yield recipe, error


def randomized(model: nn.Module) -> nn.Module:
    """Weights that are large enough for attention to differ from token to token."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                size = 1.5 / max(1, parameter[0].numel()) ** 0.5 if parameter.dim() > 1 else 0.5
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * size)
    return model


# ---- inputs


def number(config: Any, *names: str, default: int) -> int:
    """Of a configuration or one of its parts."""
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
        if isinstance(value, int) and value > 0:
            return value
    for part in getattr(config, "sub_configs", {}):
        own = getattr(config, part, None)
        if own is not None:
            found = number(own, *names, default=0)
            if found:
                return found
    return default


def inputs_of(model: nn.Module) -> Iterator[dict[str, torch.Tensor]]:
    """What the class may need, the least first."""
    config, main = model.config, model.main_input_name
    takes = inspect.signature(model.forward).parameters
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 50, (BATCH, TOKENS), generator=generator)
    drawn = lambda *shape: torch.randn(*shape, generator=generator)  # noqa: E731
    side = number(config, "image_size", "img_size", "input_size", default=32)
    channels = number(config, "num_channels", "in_channels", "in_chans", default=3)
    mels = number(config, "num_mel_bins", "n_mels", "num_mels", "feature_size", "input_feat_per_channel", default=16)
    known: dict[str, list[torch.Tensor]] = {
        "input_ids": [ids],
        "decoder_input_ids": [ids.flip(1)],
        "pixel_values": [drawn(BATCH, channels, side, side), drawn(BATCH, 2, channels, side, side)],
        "input_values": [drawn(BATCH, 4000), drawn(BATCH, number(config, "max_length", default=64), mels)],
        "input_features": [
            drawn(BATCH, mels, 2 * number(config, "max_source_positions", default=64)), drawn(BATCH, 64, mels),
            drawn(BATCH, mels, 64),
        ],
        "inputs_embeds": [drawn(BATCH, TOKENS, number(config, "hidden_size", "d_model", default=64))],
        "hidden_states": [drawn(BATCH, TOKENS, number(config, "hidden_size", "d_model", default=64))],
    }  # fmt: skip
    seq = {"decoder_input_ids": ids.flip(1)} if "decoder_input_ids" in takes else {}
    for name in dict.fromkeys([main, "input_ids", "inputs_embeds", "pixel_values", "input_values", "input_features"]):
        for tensor in known.get(name, ()) if name in takes else ():
            yield {name: tensor, **(seq if name != "decoder_input_ids" else {})}
            if seq:
                yield {name: tensor}
            for other in ("pixel_values", "input_features", "input_values") if name == "input_ids" else ():
                for second in known[other] if other in takes else ():
                    yield {name: tensor, other: second, **seq}
