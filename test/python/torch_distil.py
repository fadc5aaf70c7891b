"""Exchanged models that learn end to end: python torch_distil.py.

Prints what was tried.
"""

import copy
import warnings
from functools import cache
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaModel, PreTrainedTokenizerFast, T5Config,
    T5ForConditionalGeneration, ViTConfig, ViTModel,
)  # fmt: skip

from torch_small import NARROW, llama, loud, off, refused, run

import rfa
import rfa.torch
from rfa.torch import _lesson
from rfa.torch._aims import pooling, pooling_of
from rfa.torch._low_rank import add_low_rank, merge_low_rank

torch.set_num_threads(1)
WORDS = [f"w{number}" for number in range(95)]
VOCABULARY = {word: number for number, word in enumerate(["<pad>", "<unk>", *WORDS])}


@cache
def texts(count=40):
    """Of different lengths."""
    generator = torch.Generator().manual_seed(1)
    draw = lambda low, high, size=(1,): torch.randint(low, high, size, generator=generator).tolist()  # noqa: E731
    return [" ".join(WORDS[i] for i in draw(0, 95, draw(4, 30))) for _ in range(count)]


@cache
def tokenizer():
    own = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    own.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=own, unk_token="<unk>", pad_token="<pad>", model_max_length=40)


def framed():
    """Puts a token before and one after a text, and reads no x."""
    own = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    own.normalizer, own.pre_tokenizer = normalizers.Replace("x", ""), pre_tokenizers.WhitespaceSplit()
    own.post_processor = processors.TemplateProcessing(single="<unk> $A <unk>", special_tokens=[("<unk>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=own, unk_token="<unk>", pad_token="<pad>")


def gpt2():
    # dropout, which learning leaves out
    return loud(GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=40)))


def bert():
    return loud(BertModel(BertConfig(**NARROW, max_position_embeddings=40)))


KINDS = {"bert": bert, "gpt2": gpt2, "llama": lambda: llama(num_key_value_heads=2, max_position_embeddings=40)}
IDS = torch.randint(2, 97, (3, 20), generator=torch.Generator().manual_seed(2))


def learned(model, **changed):
    given = dict(tokenizer=tokenizer(), steps=40, rate=0.02, progress=False, force=True, output="learned.safetensors")
    if "tuned" not in changed:
        given |= dict(method="favor-pos", num_features=16)
    return rfa.torch.distil(model, texts(), **{**given, **changed})


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def features_learn_and_are_read_back():
    for name, make in KINDS.items():
        model = make().train()
        before = weights(model)
        found = learned(model, output=f"{name}.safetensors")
        assert found.after < 0.97 * found.before and found.best_step > 0 and found.folder is None, (name, found)
        assert 0 < found.best_step <= found.steps <= 40 and found.stopped in ("steps", "no_better")
        # weights stay, of the model and of its copy; the model keeps its attention and its mode
        assert same(weights(model), before) and same(weights(found.model), before)
        assert model.training and not found.model.training and not Path(name).exists()
        assert all(parameter.requires_grad for parameter in found.model.parameters())
        assert model.config._attn_implementation == "sdpa"
        exact, out = model.eval()(IDS)[0], found.model(IDS)[0]
        again = rfa.torch.use(copy.deepcopy(model), tuned=f"{name}.safetensors")
        assert torch.equal(again(IDS)[0], out) and off(out, exact) > 0.01
        plain = rfa.torch.use(copy.deepcopy(model), "favor-pos", num_features=16)
        assert off(out, exact) < off(plain(IDS)[0], exact), name


def learning_continues_from_a_file():
    model = KINDS["llama"]()
    first = learned(model, output="first.safetensors", layers=[1], steps=20)
    content = Path("first.safetensors").read_bytes()
    other = rfa.torch.use(copy.deepcopy(model), tuned="first.safetensors")
    out = other(IDS)[0]
    second = learned(model, tuned="first.safetensors", steps=20)
    assert abs(second.before - first.after) < 1e-5 * first.after and second.after < second.before
    # neither the file nor a model that has it changes
    assert Path("first.safetensors").read_bytes() == content and torch.equal(other(IDS)[0], out)
    assert rfa.torch.load_tuned("learned.safetensors", layer=1).key_map.shape == (2, 8, 8)
    refused(lambda: rfa.torch.load_tuned("learned.safetensors", layer=0), "expected layer 0")
    assert learned(model, tuned="first.safetensors", steps=20).after == second.after  # the same seed


def weights_learn_too():
    for name, make in KINDS.items():
        model = make()
        before = weights(model)
        features = learned(model, steps=10)
        for learn in ("lora", "all"):
            found = learned(model, learn=learn, steps=10, output=f"{learn}.safetensors")
            assert found.after < found.before and abs(found.before - features.before) < 1e-5 * found.before
            assert same(weights(model), before), (name, learn)
            own = weights(found.model)
            assert own.keys() == before.keys()
            changed = {place for place in own if not torch.equal(own[place], before[place])}
            around = {place for place in own if "att" in place and place.endswith("weight") and "norm" not in place.lower()}
            assert changed == around if learn == "lora" else changed > around, changed ^ around
            loaded = rfa.torch.load(learn)
            assert found.folder == Path(learn) and torch.equal(loaded(IDS)[0], found.model(IDS)[0])
            read = type(model).from_pretrained(learn)
            assert torch.equal(rfa.torch.use(read, tuned=found.tuned)(IDS)[0], found.model(IDS)[0])


def low_rank_changes_merge():
    for make in KINDS.values():
        model = make()
        exact = model(IDS)[0]
        attending = [module for module in model.modules() if type(module).__name__.endswith(("SelfAttention", "2Attention", "LlamaAttention"))]
        added = add_low_rank(model, attending, 4, 0)
        assert len(added) >= 2 * 2 * 2 and torch.equal(model(IDS)[0], exact)
        for each in added:
            each.data += 0.05 * torch.randn(each.shape)
        changed = model(IDS)[0]
        merge_low_rank(model)
        assert off(changed, exact) > 0.01 and off(model(IDS)[0], changed) < 1e-6
        assert model.state_dict().keys() == make().state_dict().keys()


def every_feature_map_learns():
    better = []
    for method, facts in rfa.torch.METHODS.items():
        own = {"max_length": 64} if method == "cosformer" else {}
        own |= {"num_features": 16} if facts.projected else {}
        model = gpt2() if facts.causal_only else bert()
        found = learned(model, method=method, **{"num_features": 256, **own}, steps=10, rate=0.005)
        assert found.after <= found.before, (method, found)
        better += [method] if found.after < found.before else []
        read = rfa.torch.load_tuned(found.tuned, layer=0)
        assert read.method == method and read.query_map.shape == (4, 8, 8)
        assert read.rows.shape == (4, 16, 8) if facts.projected else read.rows is None
        assert read.options.get("max_length") == own.get("max_length")
        assert torch.equal(rfa.torch.use(model, tuned=found.tuned)(IDS)[0], found.model(IDS)[0]), method
    assert len(better) > 9, better  # features with signs may be all noise at 16 vectors


def padding_says_nothing():
    for make in KINDS.values():
        model = make()
        # the loss on held-out texts is the same one by one and in batches
        one, several = (learned(model, batch=batch, steps=1, rate=1e-9) for batch in (1, 7))
        assert abs(one.before - several.before) < 1e-5 * one.before
    # a text alone, by the definitions
    model, found = KINDS["gpt2"](), learned(gpt2(), steps=1, rate=1e-9, held_out=0.01)
    held = texts()[torch.randperm(40, generator=torch.Generator().manual_seed(0))[0]]
    ids = tokenizer()(held, return_tensors="pt").input_ids
    p, q = (each(ids).logits[0, :-1].log_softmax(-1) for each in (gpt2_of(found), found.model))
    assert abs((p.exp() * (p - q)).sum(-1).mean() - found.before) < 1e-4 * found.before and model


def gpt2_of(found):
    """The original of a learned model."""
    own = copy.deepcopy(found.model)
    own.set_attn_implementation("sdpa")
    return own


def losses_have_intervals():
    found = learned(KINDS["gpt2"](), steps=1, held_out=0.25)
    held = [texts()[i] for i in torch.randperm(40, generator=torch.Generator().manual_seed(0))[:10]]
    sums, counts = [], []
    for text in held:
        ids = tokenizer()(text, return_tensors="pt").input_ids
        p, q = (own(ids).logits[0, :-1].log_softmax(-1) for own in (gpt2_of(found), found.model))
        sums.append((p.exp() * (p - q)).sum().item())
        counts.append(len(p))
    mean = sum(sums) / sum(counts)
    # Student's t of 9 degrees of freedom
    half = 2.262 * (sum((own - mean * n) ** 2 for own, n in zip(sums, counts)) * 10 / 9) ** 0.5 / sum(counts)
    low, high = found.after_interval
    assert abs(found.after - mean) < 1e-4 * mean and abs((high - low) / 2 - half) < 0.01 * half
    assert learned(KINDS["bert"](), steps=1, held_out=0.01).before_interval is None


def the_last_good_step_is_kept():
    model = KINDS["bert"]()
    found = learned(model, rate=1e30)
    assert found.stopped == "not_finite" and found.best_step == 0 and found.after == found.before
    plain = rfa.torch.use(copy.deepcopy(model), "favor-pos", num_features=16)
    assert off(found.model(IDS)[0], plain(IDS)[0]) < 1e-5
    compare, calls = _lesson.Aim.compare, 0

    def failing(own, *given):
        nonlocal calls
        calls += torch.is_grad_enabled()
        difference = compare(own, *given)
        if calls == 15:
            if failing.raised:
                raise KeyboardInterrupt
            difference.loss.data.fill_(torch.nan)
        return difference

    _lesson.Aim.compare = failing
    try:
        for failing.raised, reason in ((False, "not_finite"), (True, "interrupted")):
            calls = 0
            found = learned(model)
            assert found.stopped == reason and found.steps == 14 and 0 < found.best_step <= 14
            assert found.after < found.before
    finally:
        _lesson.Aim.compare = compare


def learning_ends_where_nothing_gets_better():
    found = learned(KINDS["llama"](), rate=0.1, steps=100)
    assert found.stopped == "no_better" and found.steps < 100


def pools_as_folders_say():
    hidden = torch.randn(2, 5, 3)
    present = torch.arange(5) < torch.tensor([[5], [3]])
    own = hidden[1, :3]
    weighted = (own * torch.tensor([[1.0], [2], [3]])).sum(0)
    for mode, wanted in (("mean", own.sum(0)), ("cls", own[0]), ("lasttoken", own[2]), ("max", own.amax(0)), ("weightedmean", weighted)):
        assert torch.allclose(pooling(mode)(hidden, present)[1], wanted), mode
    folder = Path("pooled")
    KINDS["bert"]().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    assert pooling_of(folder) == "mean"
    (folder / "1_Pooling").mkdir()
    (folder / "modules.json").write_text('[{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]')
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    found = learned(folder, tokenizer=None, learn="lora", steps=2)
    assert "cls" in found.unit and pooling_of(found.folder) == "cls"
    assert "max" in learned(folder, pooling="max", steps=1).unit
    (folder / "1_Pooling" / "config.json").write_text("{}")
    refused(lambda: learned(folder), "expected one way to pool, got []")
    (folder / "modules.json").write_text("{")
    refused(lambda: learned(folder), "expected modules.json", rfa.InputError)


def the_program_reads_what_was_written():
    model = gpt2()
    found = learned(model, learn="lora", steps=20, held_out=0.5, output="written.safetensors")
    Path("texts.txt").write_text("\n".join(texts()))
    found_by = dict(model="written", texts="texts.txt", tuned="written.safetensors", num_features=16)
    done = rfa.swap(**found_by, yardsticks=False, max_texts=40, progress=False)
    (row,) = [row["result"] for row in done.records if "tuned" in row["cell"]]
    model.save_pretrained("first")
    tokenizer().save_pretrained("first")
    done = rfa.swap(**found_by, original="first", yardsticks=False, max_texts=40, progress=False)
    (against,) = [row["result"] for row in done.records if "tuned" in row["cell"]]
    ids = [tokenizer()(text, return_tensors="pt").input_ids for text in texts()]
    assert row["tokens_read"] == sum(each.shape[1] for each in ids)
    for original, result in ((gpt2_of(found), row), (model, against)):
        total = count = 0
        for each in ids:
            p, q = (own(each).logits[0, :-1].log_softmax(-1) for own in (original, found.model))
            total, count = total + (p.exp() * (p - q)).sum().item(), count + len(p)
        assert abs(result["causal_effects"]["kl_nats"]["mean"] - total / count) < 1e-4 * total / count, (total / count, result)


def wrong_uses_are_refused():
    model, U, I, T = KINDS["llama"](), rfa.UsageError, rfa.InputError, rfa.ArgumentTypeError
    learned(bert(), output="other.safetensors", steps=1)
    learned(model, output="own.safetensors", steps=1)
    Path("there").mkdir()
    quantised = llama()
    quantised.config.quantization_config = {"quant_method": "some"}
    vit = ViTModel(ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48, image_size=32, patch_size=8))
    t5 = T5ForConditionalGeneration(T5Config(vocab_size=99, d_model=32, d_kv=8, num_layers=1, num_heads=4, d_ff=32))
    exchanged = rfa.torch.use(copy.deepcopy(model), "elu")
    given = dict(tokenizer=tokenizer(), progress=False)
    start = lambda read, **changed: rfa.torch.distil(model, read, "elu", **{**given, **changed})  # noqa: E731
    for action, words, kind in (
        (lambda: learned(model, learn="weights"), "learn: expected one of features, lora, all, got 'weights'", U),
        (lambda: learned(model, steps=0), "steps: expected a whole number of at least 1, got 0", U),
        (lambda: learned(model, steps=-3), "got -3", U),
        (lambda: learned(model, steps=2.5), "got 2.5", U),
        (lambda: learned(model, batch=0), "batch: expected a whole number", U),
        (lambda: learned(model, rank=0), "rank: expected a whole number", U),
        (lambda: learned(model, rate=0), "rate: expected a number above 0", U),
        (lambda: learned(model, held_out=1), "held_out: expected a share between 0 and 1, got 1", U),
        (lambda: learned(model, held_out="some"), "got 'some'", U),
        (lambda: learned(model, pooling="first"), "pooling: expected one of", U),
        (lambda: learned(model, output="learned.npz"), "output: expected a name that ends in .safetensors", U),
        (lambda: learned(model, output="own.safetensors", force=False), "own.safetensors, which exists", U),
        (lambda: learned(model, learn="all", output="there.safetensors", force=False), "got there, which exists", U),
        (lambda: start(["w1 w2"]), "expected at least 2 different ones of at least 2 tokens, got 1 of 1", I),
        (lambda: start(["w1 w2", "w1 w2"]), "got 1 of 2", I),
        (lambda: start(["w1", "w2", "w3 w4"]), "got 1 of 3", I),
        (lambda: start(texts(), max_tokens=1), "max_tokens: expected at least 2, got 1", U),
        (lambda: start(["x", "xx", "w3 w4"], tokenizer=framed()), "of at least 3 tokens, got 1 of 3", I),
        (lambda: start([" ", "\n"]), "texts: expected at least one text, got none", I),
        (lambda: start("none.txt"), "texts: expected texts in none.txt", I),
        (lambda: start([1, 2]), "texts: expected texts, got int", T),
        (lambda: start(texts(), tokenizer=None), "tokenizer: expected the tokenizer of the loaded model", U),
        (lambda: start(texts(), tokenizer=lambda texts, **_: {"input_ids": [[1, 200 + len(text)] for text in texts]}), "expected ids below 99", I),
        (lambda: learned(model, tuned="other.safetensors"), "expected key_heads=4 in layer 0, got key_heads=2", I),
        (lambda: learned(model, tuned="none.safetensors"), "none.safetensors: expected", I),
        (lambda: learned(model, tuned="own.safetensors", method="elu"), "expected a method or tuned=, got both", U),
        (lambda: rfa.torch.distil(model, texts(), **given), "expected a method or tuned=, got neither", U),
        (lambda: rfa.torch.distil(model, texts(), "softmax", **given), "method: expected a feature map", U),
        (lambda: rfa.torch.distil(bert(), texts(), "lara", **given), "method: expected a feature map", U),
        (lambda: learned(model, tau=2), "got tau", T),
        (lambda: learned(3), "model: expected a model of Transformers", T),
        (lambda: learned("none"), "model: expected a folder with config.json, got none", I),
        (lambda: learned(llama().bfloat16()), "weights in float32, got model.embed_tokens.weight in torch.bfloat16 (try: model.float()", U),
        (lambda: learned(quantised), "expected weights that are not quantised", U),
        (lambda: learned(exchanged), "expected the original with its own attention", U),
        (lambda: learned(vit), "expected a model of one text, got ViTModel", U),
        (lambda: learned(t5), "expected a model of one text, got T5", U),
        (lambda: learned(loud(LlamaModel(LlamaConfig(**NARROW)))), "expected a causal model with its head, got LlamaModel", U),
    ):
        refused(action, words, kind)
    model.save_pretrained("original")
    tokenizer().save_pretrained("original")
    refused(lambda: learned("original", learn="all", output="original.safetensors"), "got original, which exists", U)
    broken = llama()
    broken.model.layers[0].self_attn.q_proj.weight.data.fill_(torch.nan)
    refused(lambda: learned(broken), "", rfa.Error)
    assert model.config._attn_implementation == "sdpa" and not list(Path("there").iterdir())


warnings.simplefilter("error", UserWarning)
run(globals(), "texts", "tokenizer", "framed", "gpt2", "bert", "learned", "weights", "same", "gpt2_of")
