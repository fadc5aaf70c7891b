"""Learns the exchanged attention of a model end to end, to what the original computes."""

from __future__ import annotations

import copy
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .._errors import ArgumentTypeError, InputError, UsageError
from ..export import present, read_texts
from ._aims import POOLINGS, Aim, Batch, embeddings, pooling, pooling_of, predictions
from ._attention import Attention
from ._checks import check_numbers
from ._features import METHODS
from ._layers import LAYER, implementation
from ._lesson import Lesson
from ._low_rank import add_low_rank, merge_low_rank
from ._saved import save
from ._texts import Parts, longest, padding_of, split, tokenized
from ._transformers import attentions_of, exchange_of, is_registered, use
from ._tuned import Source, write_tuned

LEARN = ("features", "lora", "all")
#: Rates of Adam over that of features.
_RATES = {"features": 1.0, "lora": 1.0, "all": 0.1}


@dataclass(frozen=True)
class Distilled:
    """What `distil` has learned.

    Attributes:
        model: a copy of the model, with its attention exchanged, as the files have it.
        tuned: the file of learned parameters, for `rfa swap --tuned` and `rfa.torch.use(model, tuned=)`.
        folder: the model with its weights, where these were learned.
        before: mean loss on held-out texts where learning started, as in `unit`.
        after: the same after `best_step`, which was kept. It is the lowest of several, and so a little too low.
        before_interval, after_interval: their 95 % intervals over held-out texts; None: there is one.
        unit: of all of them, in words.
        best_step: 0: no step lowered the loss.
        steps: that were taken.
        stopped: why: "steps", "no_better", "not_finite" or "interrupted".
    """

    model: Any = field(repr=False)
    tuned: Path
    folder: Path | None
    before: float
    after: float
    before_interval: tuple[float, float] | None
    after_interval: tuple[float, float] | None
    unit: str
    best_step: int
    steps: int
    stopped: str


def distil(
    model: Any,
    texts: Sequence[str] | str | os.PathLike[str],
    method: str | None = None,
    *,
    tuned: Source | None = None,
    tokenizer: Any = None,
    learn: str = "features",
    steps: int = 300,
    output: str | os.PathLike[str] = "distilled.safetensors",
    layers: Iterable[int] | None = None,
    held_out: float = 0.2,
    batch: int = 8,
    rate: float = 1e-3,
    rank: int = 8,
    max_tokens: int = 256,
    pooling: str | None = None,
    seed: int = 0,
    force: bool = False,
    progress: bool = True,
    **options: Any,
) -> Distilled:
    """Learns the exchanged attention of a model end to end: `rfa.torch.distil(model, texts, tuned="t.safetensors")`.

    The original is the judge throughout. A causal model learns to predict as it does (KL divergence to its
    distribution of the next token, in nats per token), an encoder to give its embeddings (1 - cosine of the pooled
    hidden states, and a tenth of the relative squared errors of all hidden states). Adam takes the steps, with a rate
    that falls to zero by a cosine. A part of the texts is held out; the step with the lowest loss on these is kept.
    Learning ends when this loss has not fallen for half of the steps, with a loss that is not finite, or by
    Ctrl-C. The model stays as it is; a copy learns, so that memory holds two models, and gradients of one.

    Args:
        model: a loaded model of Transformers in float32, or its folder.
        texts: texts; or a file with one text a line, or a folder of .txt files. Equal texts count once.
        method: as `use` takes it: a feature map.
        tuned: in place of a method, a file that `rfa tune` or `distil` has written: its first draw.
        tokenizer: of a loaded model. Default: that of the folder.
        learn: "features", maps and random vectors; "lora", features and low-rank changes of the projections around
            attention, which are merged into the weights; "all", features and all weights.
        steps: of Adam.
        output: the file of learned parameters. What changes weights also writes the model, in the folder of this name
            without its ending.
        layers: as `use` takes it.
        held_out: share of the texts.
        batch: texts of a step.
        rate: of Adam, for features and low-rank changes; all weights learn at a tenth of it.
        rank: of low-rank changes.
        max_tokens: of each text; longer ones are cut.
        pooling: of an encoder: "mean", "cls", "max", "weightedmean" or "lasttoken". Default: as `modules.json` of the
            folder says, else the mean over tokens.
        seed: of drawn random vectors, of the split, and of the order of texts.
        force: replaces files that are there.
        progress: prints losses on stderr.
        **options: of the method, as `use` takes them.

    Returns:
        The learned model, its files, and the losses before and after.

    Raises:
        ArgumentTypeError: for what is no model, and options that the method does not have.
        InputError: for texts that cannot be read or split, and a file that was learned for another model.
        UsageError: for a model in half precision, a quantised one, one without its own attention, a method without
            features, numbers that cannot be, and files that are there.
        RunError: where the loss is not finite before the first step.

    Source: Hu et al. 2021, arXiv:2106.09685 (low-rank changes); Zhang et al. 2024, arXiv:2410.10254 (features first).
    """
    place = Path(output)
    check_numbers({"steps": steps, "batch": batch, "rate": rate, "rank": rank, "max_tokens": max_tokens, "seed": seed})
    _check_choices(learn, held_out, pooling)
    folder = _checked_output(place, learn, force)
    original, reader = _opened(model, tokenizer)
    _check_model(original)
    source = Path(str(original.config.name_or_path))
    if folder is not None and folder.resolve() == source.resolve():
        raise present(folder)  # the original is the judge of what comes next, too
    rows = tokenized(reader, read_texts(texts), min(max_tokens, longest(original, reader)), original)
    say = _printer(progress)
    with _learning(original):
        student = use(copy.deepcopy(original), method, tuned=tuned, layers=layers, seed=seed, **options).eval()
        _check_method(exchange_of(student, "distil").method)
        learned, held = split(rows, held_out, seed)
        parts = Parts(original, batch, padding_of(original, reader), seed)
        attentions = _started(student, parts.batches([max(rows, key=len)])[0])
        aim = _aim(original, attentions, pooling)
        groups = _parameters(student, attentions, learn, rank, seed)
        lesson = Lesson(original, student, aim, groups, say)
        rates = {name: share * rate for name, share in _RATES.items()}
        say(f"{len(learned)} texts to learn from, {len(held)} held out; {aim.unit}")
        stopped = lesson.learn(parts, learned, parts.batches(held), steps, rates)
        _finish(original, student, attentions)
    facts = {"seed": str(seed), "model": source.name or type(original).__name__}
    write_tuned(place, attentions, facts, force)
    use(student, tuned=place)
    if folder is not None:
        _save(student, reader, source, folder)
    say(_summary(lesson, stopped, [each for each in (place, folder) if each is not None]))
    if source.is_dir():
        weights = [source] if folder is None else [folder, "--original", source]
        say("next: " + shlex.join(map(str, ["rfa", "swap", "--model", *weights, "--tuned", place])))
    before, best = lesson.before, lesson.best
    losses = (before.mean, best.loss.mean, before.interval, best.loss.interval)
    return Distilled(student, place, folder, *losses, aim.unit, best.step, lesson.step, stopped)


# ---- what is refused


def _check_choices(learn: Any, held_out: Any, pooling: str | None) -> None:
    if learn not in LEARN:
        raise UsageError(f"learn: expected one of {', '.join(LEARN)}, got {learn!r}", code="UNKNOWN_NAME")
    if isinstance(held_out, bool) or not isinstance(held_out, (int, float)) or not 0 < held_out < 1:
        raise UsageError(f"held_out: expected a share between 0 and 1, got {held_out!r}", code="BAD_OPTION")
    if pooling is not None and pooling not in POOLINGS:
        raise UsageError(f"pooling: expected one of {', '.join(POOLINGS)}, got {pooling!r}", code="UNKNOWN_NAME")


def _checked_output(place: Path, learn: str, force: bool) -> Path | None:
    """The folder of the model, if there is to be one."""
    if place.suffix != ".safetensors":
        raise UsageError(f"output: expected a name that ends in .safetensors, got {place}", ["distilled.safetensors"])
    folder = None if learn == "features" else place.with_suffix("")
    for each in (place, folder):
        if each is not None and each.exists() and not force:
            raise present(each)
    return folder


def _check_model(model: Any) -> None:
    if not (isinstance(model, nn.Module) and hasattr(model, "set_attn_implementation")):
        raise ArgumentTypeError(f"model: expected a model of Transformers or its folder, got {type(model).__name__}")
    config: Any = model.config
    kind = type(model).__name__

    def refuse(expected: str, got: str, tries: Sequence[str] = ()) -> UsageError:
        return UsageError(f"distil: expected {expected}, got {got}", tries, "UNSUPPORTED")

    if getattr(model, "main_input_name", "input_ids") != "input_ids" or getattr(config, "is_encoder_decoder", False):
        raise refuse("a model of one text", kind, ["its encoder or its decoder by itself"])
    if getattr(model, "is_quantized", False) or getattr(config, "quantization_config", None):
        raise refuse("weights that are not quantised", f"{kind} with a quantization_config", ["the model in float32"])
    for name, weight in model.named_parameters():
        if weight.dtype != torch.float32:
            tries = ["model.float()", "from_pretrained(..., dtype=torch.float32)"]
            raise refuse("weights in float32", f"{name} in {weight.dtype}", tries)
    if any(is_registered(implementation(module)) for module in model.modules()):
        tries = ['model.set_attn_implementation("sdpa"), and the method here']
        raise refuse("the original with its own attention", f"{kind} after rfa.torch.use", tries)


def _check_method(method: str) -> None:
    if method not in METHODS:
        tries = ["favor-pos", "hedgehog"]
        raise UsageError(f"method: expected a feature map, which can be learned, got {method}", tries, "UNSUPPORTED")


# ---- models


def _opened(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """The model, and its tokenizer."""
    if not isinstance(model, (str, os.PathLike)):
        if tokenizer is None:
            raise UsageError("tokenizer: expected the tokenizer of the loaded model, got None")
        return model, tokenizer
    folder = Path(os.fspath(model))
    if not (folder / "config.json").exists():
        raise InputError(f"model: expected a folder with config.json, got {folder}", code="FILE_MISSING")
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer

    try:
        config: Any = AutoConfig.from_pretrained(folder, local_files_only=True)
        (name, *_) = config.architectures or ["none"]
        kind: Any = AutoModelForCausalLM if name.endswith(("ForCausalLM", "LMHeadModel")) else AutoModel
        loaded: Any = kind.from_pretrained(folder, local_files_only=True).float()
        return loaded, tokenizer or AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise InputError(f"model: expected a model that Transformers loads in {folder}, got {error}") from None


@contextmanager
def _learning(original: nn.Module) -> Generator[None, None, None]:
    """With gradients, and the original without dropout."""
    training = {module: module.training for module in original.modules()}
    original.eval()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        for module, mode in training.items():
            module.training = mode


def _started(student: nn.Module, batch: Batch) -> dict[int, Attention]:
    """The attention of each exchanged layer, with maps, and nothing that another model shares."""
    with torch.no_grad():
        student(input_ids=batch.ids, attention_mask=batch.present.long())
    attentions = attentions_of(student)
    for own in attentions.values():
        device = batch.ids.device
        eye = torch.eye(own.head_dim, device=device)
        for name, heads in (("query_map", own.heads), ("key_map", own.key_heads)):
            if getattr(own, name) is None:
                setattr(own, name, eye.expand(heads, -1, -1))
        for name in ("query_map", "key_map", "rows"):
            value: Tensor | None = getattr(own, name)
            if value is not None:
                setattr(own, name, value.detach().clone())
    return attentions


def _aim(original: Any, attentions: dict[int, Attention], mode: str | None) -> Aim:
    if any(own.causal for own in attentions.values()):
        if original.get_output_embeddings() is None:
            raise UsageError(
                f"distil: expected a causal model with its head, got {type(original).__name__}",
                ["AutoModelForCausalLM"],
                "UNSUPPORTED",
            )
        return Aim("KL divergence in nats per token", {"use_cache": False}, predictions)
    mode = mode or pooling_of(Path(str(original.config.name_or_path)))
    return Aim(f"1 - cosine ({mode})", {"output_hidden_states": True}, embeddings(pooling(mode)))


def _parameters(
    student: nn.Module, attentions: dict[int, Attention], learn: str, rank: int, seed: int
) -> dict[str, list[Tensor]]:
    """What is learned, by the name of its rate."""
    student.requires_grad_(False)
    groups: dict[str, list[Tensor]] = {"features": []}
    for own in attentions.values():
        groups["features"] += [each for each in (own.query_map, own.key_map, own.rows) if each is not None]
    if learn == "lora":
        attending = [module for module in student.modules() if module.__dict__.get(LAYER) in attentions]
        groups["lora"] = [*add_low_rank(student, attending, rank, seed)]
    elif learn == "all":
        groups["all"] = [*student.parameters()]
    for each in groups.values():
        for tensor in each:
            tensor.requires_grad_()
    return groups


def _finish(original: nn.Module, student: nn.Module, attentions: dict[int, Attention]) -> None:
    """Leaves weights alone, which ask for gradients as those of the original do."""
    merge_low_rank(student)
    own = dict(original.named_parameters())
    for name, weight in student.named_parameters():
        weight.requires_grad_(own[name].requires_grad)
        weight.grad = None
    for attention in attentions.values():
        for name in ("query_map", "key_map", "rows"):
            value: Tensor | None = getattr(attention, name)
            setattr(attention, name, None if value is None else value.detach())


def _save(student: Any, tokenizer: Any, source: Path, folder: Path) -> None:
    """The folder of the model, with its tokenizer, and how it pools, as the folder of the original says."""
    save(student, folder)
    tokenizer.save_pretrained(folder)
    for each in ("modules.json", "config_sentence_transformers.json"):
        if (source / each).is_file():
            shutil.copyfile(source / each, folder / each)
    for each in source.glob("[0-9]_*"):
        if each.is_dir():
            shutil.copytree(each, folder / each.name, dirs_exist_ok=True)


# ---- what is said


def _printer(progress: bool) -> Callable[[str], None]:
    return lambda line: print(line, file=sys.stderr, flush=True) if progress else None


_REASONS = {
    "steps": "all steps were taken",
    "no_better": "the loss on held-out texts did not fall any more",
    "not_finite": "a loss was not finite: try a lower rate=",
    "interrupted": "interrupted",
}


def _summary(lesson: Lesson, stopped: str, files: list[Path]) -> str:
    best = lesson.best
    kept = f"step {best.step} is kept" if best.step else "no step lowered it: the start is kept"
    return (
        f"held-out {lesson.aim.unit}: {lesson.before} before, {best.loss} after; {kept} ({_REASONS[stopped]})\n"
        f"written: {', '.join(map(str, files))}"
    )
