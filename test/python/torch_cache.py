"""Generation with a state of constant size: python torch_cache.py. Prints what was tried."""

import copy

import torch
from transformers import (
    BartConfig, BartForConditionalGeneration, BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM,
    LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen3Config, Qwen3ForCausalLM,
)  # fmt: skip

from torch_small import IDS, NARROW, llama, loud, off, refused, run

import rfa
import rfa.torch
from rfa.torch import METHODS, Attention, StateCache

#: Options that a method needs to do without the whole text.
NEEDED = {"oprf": {"a": -0.1}, "cosformer": {"max_length": 200}}
RECURRENT = [method for method in METHODS if method != "saderf"]
#: The first text has 6 tokens of padding, the second one 19.
PADDED = torch.ones_like(IDS)
PADDED[0, :6] = 0
PADDED[1, :19] = 0


def grouped():
    """Grouped keys, rotary positions, numbers in float64."""
    return llama(num_key_value_heads=2, max_position_embeddings=5000).double()


def others():
    yield loud(GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4))).double()
    yield loud(Qwen3ForCausalLM(Qwen3Config(**NARROW, num_key_value_heads=1, head_dim=8))).double()
    yield loud(GPTNeoXForCausalLM(GPTNeoXConfig(**NARROW))).double()


def same_tokens(model, **options):
    own = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, **options}
    torch.manual_seed(1)
    cached = model.generate(IDS, past_key_values=StateCache(model), **own)
    own.pop("prefill_chunk_size", None)
    torch.manual_seed(1)
    assert torch.equal(cached, model.generate(IDS, use_cache=False, **own)), options


def stepped(model, ids, sizes, cache=None, **options):
    """Logits of a text in parts."""
    cache = cache or StateCache(model)
    parts = [model(part, past_key_values=cache, **options).logits for part in ids.split(sizes, 1)]
    return torch.cat(parts, 1), cache


def tokens_are_those_of_whole_texts():
    model = grouped()
    for method in RECURRENT:
        same_tokens(rfa.torch.use(model, method, **NEEDED.get(method, {})), attention_mask=PADDED)
    for each in (model, *others()):
        for method in ("elu", "favor-pos", "rfa-gate"):
            rfa.torch.use(each, method)
            same_tokens(each)
            same_tokens(each, num_beams=3, attention_mask=PADDED, eos_token_id=None)
            same_tokens(each, attention_mask=PADDED, prefill_chunk_size=7)
    for _ in range(2):
        same_tokens(model, do_sample=True, num_return_sequences=2)


def logits_are_those_of_whole_texts():
    """In parts, sums have another order: what rounding makes of that in float32 is 2^29 times what it makes in float64."""
    ids = torch.randint(3, 99, (2, 150))
    for method in RECURRENT:
        double = rfa.torch.use(grouped(), method, **NEEDED.get(method, {}))
        single = copy.deepcopy(double).float()
        whole = double(ids).logits
        rounding = off(single(ids).logits.double(), whole)
        for sizes in ([150], [1] * 150, [70, 1, 1, 64, 14]):
            parts, cache = stepped(double, ids, sizes)
            # both of them are rounded; each by no more than a few times a typical error
            assert off(parts, whole) < 8 * 2.0**-29 * rounding, (method, sizes)
            assert cache.get_seq_length() == 150
        assert off(stepped(single, ids, [70, 1, 79])[0].double(), whole) < 8 * rounding, method


def memory_does_not_grow():
    model = rfa.torch.use(grouped(), "favor-pos", num_features=16)
    ids = torch.randint(3, 99, (1, 4096))
    cache = StateCache(model)
    assert cache.nbytes == 0
    sizes = [1, 31, *[128] * 31, *[1] * 96]
    sums = 2 * 4 * 16 * (8 + 1) * 8  # layers, heads, M, value dimension and weight, bytes
    others = 2 * (4 * 16 * 8 + 8)  # the largest logarithms, and a count
    for part in ids.split(sizes, 1):
        last = model(part, past_key_values=cache).logits[:, -1]
        assert cache.nbytes == sums + others
    held = [x for layer in cache.layers for x in layer.state.tensors().values()]
    assert sum(x.untyped_storage().nbytes() for x in held) == cache.nbytes
    whole = model(ids, use_cache=False).logits[:, -1]
    rounding = off(copy.deepcopy(model).float()(ids, use_cache=False).logits[:, -1].double(), whole)
    assert cache.get_seq_length() == 4096 and off(last, whole) < 8 * 2.0**-29 * rounding


def padding_says_nothing():
    other = torch.where(PADDED.bool(), IDS, 7)
    places = (PADDED.cumsum(-1) - 1).clamp_min(0)
    for method in RECURRENT:
        model = rfa.torch.use(grouped(), method, **NEEDED.get(method, {}))
        own, alone = StateCache(model), StateCache(model)
        for part in (slice(0, 4), slice(4, 13), slice(13, 20)):
            given = dict(attention_mask=PADDED[:, : part.stop], position_ids=places[:, part], past_key_values=own)
            last = model(other[:, part], **given).logits[:, -1]
        short = model(IDS[:1, 6:], past_key_values=alone).logits[:, -1]
        # in float64, up to the rounding of sums of small signed numbers
        assert off(last[:1], short) < 1e-9, method


def states_follow_their_texts():
    model = rfa.torch.use(grouped(), "rfa-gate")
    ids = torch.randint(3, 99, (3, 12))
    mask = torch.ones_like(ids)
    mask[1, :5] = 0
    wanted = model(ids, attention_mask=mask).logits[:, -1]
    _, cache = stepped(model, ids[:, :11], [11], attention_mask=mask[:, :11])
    for change, rows in (
        (lambda own: own.reorder_cache(torch.tensor([2, 1, 1])), [2, 1, 1]),
        (lambda own: own.batch_repeat_interleave(2), [0, 0, 1, 1, 2, 2]),
        (lambda own: own.batch_select_indices(torch.tensor([1])), [1]),
    ):
        own = copy.deepcopy(cache)
        change(own)
        last = model(ids[rows, 11:], attention_mask=mask[rows], past_key_values=own).logits[:, -1]
        places = off(last, wanted[rows])
        assert places < 1e-9, places
    cache.reset()
    assert cache.nbytes == cache.get_seq_length() == 0
    assert off(stepped(model, ids, [12], cache)[0], model(ids).logits) < 1e-9


def chunks_of_modules_continue():
    q, k, v = (torch.randn(2, 3, 90, 8).double() for _ in range(3))
    mask = torch.rand(2, 90) < 0.8
    gate = torch.rand(2, 3, 90)
    for method in METHODS:
        own = Attention(method, heads=3, head_dim=8, num_features=16, causal=True, **NEEDED.get(method, {}))
        given = {"gate": gate} if method == "rfa-gate" else {}
        if method == "saderf":
            own.calibrate(q, k)
        state, outs = None, []
        for part in torch.arange(90).split([1, 70, 2, 17]):
            now = {name: x[..., part] for name, x in given.items()}
            out, state = own.step(q[:, :, part], k[:, :, part], v[:, :, part], state, key_mask=mask[:, part], **now)
            outs.append(out)
        assert off(torch.cat(outs, 2), own(q, k, v, key_mask=mask, **given)) < 1e-9, method
        assert state.count == 90 and torch.equal(state.present, mask.sum(-1))
    refused(lambda: own.step(q[:, :, :2], k[:, :, :1], v[:, :, :1]), "a query for each key, got 2 queries and 1 keys")


def what_sums_cannot_hold_is_refused():
    model = llama()
    refused(lambda: StateCache(model), "expected a model after rfa.torch.use, got LlamaForCausalLM", rfa.UsageError)
    for method, words in (
        ("softmax", "softmax: expected a feature map, which has a recurrent form"),
        ("lara", "lara: expected a feature map, which has a recurrent form"),
        ("saderf", "expected statistics before the first token"),
        ("oprf", "expected statistics before the first token, got none (try: calibrate(query, key); a= of oprf"),
        ("cosformer", "cosformer: expected max_length"),
    ):
        refused(lambda: StateCache(rfa.torch.use(llama(), method)), words, rfa.UsageError)
    refused(lambda: StateCache(rfa.torch.use(model, "elu", layers=[1])), "attention in all layers, got it in [1]")
    rfa.torch.use(model, "cosformer", max_length=21)
    refused(lambda: same_tokens(model), "at most max_length = 21")
    rfa.torch.use(model, "elu")
    for options in (dict(assistant_model=llama()), dict(prompt_lookup_num_tokens=2)):
        own = dict(max_new_tokens=4, do_sample=False, pad_token_id=0, past_key_values=StateCache(model), **options)
        refused(lambda: model.generate(IDS[:1], **own), "tokens that stay", rfa.UsageError)
    refused(lambda: StateCache(model).crop(-1), "tokens that stay")
    bart = BartForConditionalGeneration(
        BartConfig(vocab_size=99, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4)
    )
    rfa.torch.use(bart.eval(), "elu")
    refused(lambda: bart(IDS, past_key_values=StateCache(bart)), "got attention to another text", rfa.UsageError)
    bert = rfa.torch.use(loud(BertModel(BertConfig(**NARROW))), "elu")
    both = torch.ones(2, 1, 20, 20, dtype=torch.bool)
    refused(lambda: model(IDS, attention_mask=both, past_key_values=StateCache(model)), "another pattern")
    refused(lambda: StateCache(bert).update(IDS, IDS, 0), "the model that it was made for, got another model")


def a_cache_of_another_model_is_refused():
    model, other = (rfa.torch.use(llama(), "elu") for _ in range(2))
    _, cache = stepped(model, IDS, [20])
    for method, seed in (("favor-pos", 0), ("elu", 1)):
        rfa.torch.use(model, method, seed=seed)
        refused(lambda: model(IDS[:, :1], past_key_values=cache), "got another model or attention", rfa.UsageError)
    model.set_attn_implementation("sdpa")
    refused(lambda: model(IDS, past_key_values=StateCache(other)), "got another model or attention", rfa.UsageError)
    refused(lambda: llama()(IDS, past_key_values=StateCache(other)), "got another model or attention", rfa.UsageError)
    rfa.torch.register("elu", name="by-name")
    model.set_attn_implementation("by-name")
    refused(lambda: StateCache(model), "expected a model after rfa.torch.use")
    deeper = rfa.torch.use(loud(LlamaForCausalLM(LlamaConfig(**{**NARROW, "num_hidden_layers": 3}))), "elu")
    refused(lambda: deeper(IDS, past_key_values=StateCache(other)), "got another model or attention", rfa.UsageError)
    some = rfa.torch.use(llama(), "elu", layers=[1])
    refused(lambda: some(IDS, past_key_values=StateCache(other)), "got another model or attention", rfa.UsageError)
    cache = StateCache(deeper)
    other(IDS, past_key_values=cache)
    refused(lambda: other(IDS, past_key_values=cache), "of [0, 20]", rfa.RunError)


def what_is_hidden_from_later_tokens_is_refused():
    mistral = MistralForCausalLM(MistralConfig(**NARROW, num_key_value_heads=2, sliding_window=24))
    rfa.torch.use(loud(mistral), "elu")
    cache = StateCache(mistral)
    for token in IDS[:1, :20].split(1, 1):
        mistral(token, past_key_values=cache)
    refused(lambda: mistral(IDS[:1, :4], past_key_values=cache), "sliding_window=24", rfa.UsageError)
    model = rfa.torch.use(llama(), "elu")
    _, cache = stepped(model, IDS[:1], [20])
    short = torch.ones(1, 21, dtype=torch.long)
    model(IDS[:1, :1], attention_mask=short, past_key_values=copy.deepcopy(cache))
    short[0, 3] = 0
    refused(lambda: model(IDS[:1, :1], attention_mask=short, past_key_values=cache), "a window", rfa.UsageError)


def an_interrupted_call_is_noticed():
    model = rfa.torch.use(llama(), "elu")
    cache = StateCache(model)

    def stop(*_):
        raise KeyboardInterrupt

    hook = model.model.layers[1].register_forward_pre_hook(stop)
    try:
        model(IDS, past_key_values=cache)
    except KeyboardInterrupt:
        hook.remove()
    refused(lambda: model(IDS, past_key_values=cache), "of [0, 20]", rfa.RunError)


run(globals(), "grouped", "others", "same_tokens", "stepped")
