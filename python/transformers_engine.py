"""A model of Transformers that runs with its attention exchanged, and what it answers to `rfa_model.py`."""

import inspect
import platform
import re
from contextlib import contextmanager
from functools import cache

import torch
import transformers
from torch.nn import functional as F
from transformers import (
    AttentionInterface,
    AutoConfig,
    AutoModel,
    AutoModelForAudioClassification,
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES,
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
)

import rfa
from rfa.projections import PROJECTIONS
from rfa.torch import METHODS, Attention, load_tuned
from rfa.torch._calls import check_call, offset_of, view_of
from rfa.torch._features import Features, Method
from rfa.torch._layers import _attending as attending_modules
from rfa.torch._layers import current, exchange
from rfa.torch._transformers import _ordered as ordered

from transformers_inputs import Inputs
from transformers_timed import Timed, shared

#: Logits of one model in memory at once, at least those of one place.
MOST_LOGITS = 2**21
#: Bytes of hidden states of the original that are kept for the next cells.
MOST_KEPT = 2**31
#: Of the size of hidden states: float32 in another order of sums is nearer, and a model with other attention is not.
TOLERANCE = 1e-3
#: Tokens of texts that a model is looked at with.
PROBE = 8
#: What its attention is called in Transformers.
NAME = "rfa-engine"
#: What to try where a model reads no texts.
ARRAYS = "rfa swap --inputs FILE.npz, with arrays that the model reads in place of texts"
#: Classes that predict one of some classes, and what loads them.
CLASSIFIERS = [
    (AutoModelForSequenceClassification, MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES),
    (AutoModelForImageClassification, MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES),
    (AutoModelForAudioClassification, MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES),
]


class Batch:
    """What a model takes, with what the original makes of it, where that is kept."""

    def __init__(self, inputs, present):
        self.inputs, self.present = inputs, present  # arguments by name; which places take part [B, L]
        self.original = None


class Captured(Exception):
    """Ends a forward pass at the attention that was asked for: queries, keys and values."""


class Pass:
    """What one forward pass gives."""

    def __init__(self, exchange, first):
        self.exchange, self.first = exchange, first  # attention by layer; the first layer that runs
        self.place, self.view = 0, (None, None)  # the next layer; the mask at hand, and what it says
        self.hidden, self.outputs = [], []  # before the first layer that runs and after each; what these return
        self.squares = None  # of the first exchanged layer
        self.out = self.last = None  # what is below the head
        self.top = None  # the class that is predicted, [B]

    def bytes(self):
        return sum(4 * state.numel() for state in self.hidden)


class Model:
    """
    Args:
        device: that it runs on.
        inputs: file of arrays. Default: texts are read.
        name: of its attention in Transformers.
        timed: whether it is timed, too.
    """

    def __init__(self, folder, device, inputs=None, name=NAME, timed=False):
        self.device, self.name = device, name
        self.changed = None  # the same layers with other weights, which are exchanged in place of its own
        local = {"local_files_only": True, "trust_remote_code": False}
        with loading(folder):
            config = AutoConfig.from_pretrained(folder, **local)
        self.kind, self.causal = config.model_type, is_decoder(config)
        if config.is_encoder_decoder and not inputs:
            raise refusal("a model of one text", f"{self.kind}, an encoder with a decoder", [ARRAYS])
        if getattr(config, "quantization_config", None):
            raise refusal("weights that are not quantised", f"{self.kind} with a quantization_config")
        self.inputs = Inputs(inputs) if inputs else None
        load = AutoModelForCausalLM if self.causal else classifier_of(config) or AutoModel
        AttentionInterface.register(name, self.attend)
        AttentionMaskInterface.register(name, ordered(sdpa_mask))
        refuse_early(load, config, self.inputs)
        precision = "dtype" if int(transformers.__version__.split(".")[0]) > 4 else "torch_dtype"
        own = {precision: torch.float32, "output_loading_info": True}
        with loading(folder):
            self.model, loaded = load.from_pretrained(folder, **local, **own)
        missing = sorted(name for name in loaded["missing_keys"] if "pooler" not in name)
        if missing:
            more = f", nor {len(missing) - 1} more" if len(missing) > 1 else ""
            raise refusal("every weight of the model", f"no {missing[0]}{more}")
        self.model.eval().to(device)
        self.timed = Timed(shared(self.model), self.causal, device) if timed else None
        self.part = part_of(self.model, self.inputs)
        self.base = self.part.base_model
        # a model that is a part of no other has no head that is asked
        self.classes = load not in (AutoModel, AutoModelForCausalLM) and self.base is not self.model
        self.layers, self.sizes, self.projections = 0, {}, {}
        self.watched = None
        self.kept, self.batches = 0, {}
        self.method, self.attentions = None, {}
        self.look()
        if not inputs:
            with loading(folder):
                self.tokenizer = AutoTokenizer.from_pretrained(folder, **local)
            self.tokenizer.truncation_side = "right"

    # ---- a forward pass

    def run(self, batch, exchange=None):
        """Everything below the head. What comes before the first exchanged layer is taken from the original."""
        own = self.passing = Pass(exchange or {}, min(exchange) if exchange and batch.original else 0)
        self.batch = batch
        if self.classes:
            handle = self.base.register_forward_hook(self.below_head)
            try:
                own.top = self.model(**batch.inputs, return_dict=True).logits.argmax(-1)
            finally:
                handle.remove()
        else:
            decoder = {"use_cache": False} if self.causal else {}
            own.out = self.base(**batch.inputs, return_dict=True, **decoder)
        own.last = own.out[0]
        return own

    def batch_of(self, ids, lengths):
        """Texts as tokens [B, L], padded at the end."""
        ids = ids.to(self.device)
        present = torch.arange(ids.shape[1], device=self.device) < torch.tensor(lengths, device=self.device)[:, None]
        return Batch({"input_ids": ids, "attention_mask": present.long()}, present)

    def below_head(self, _module, _args, out):
        self.passing.out = out

    def follow(self, layer):
        """Has the hidden states before and after a layer kept."""
        forward = layer.forward

        def followed(*args, **kwargs):
            own = self.passing
            place, own.place = own.place, own.place + 1
            if place < own.first:
                return self.batch.original.outputs[place]
            if place == own.first:
                own.hidden.append(args[0] if args else kwargs["hidden_states"])
            out = forward(*args, **kwargs)
            own.outputs.append(out)
            own.hidden.append(out[0] if isinstance(out, tuple) else out)
            return out

        layer.forward = followed

    def attend(
        self, module, query, key, value, attention_mask=None, scaling=None, is_causal=None, dropout=0.0, **extras
    ):
        """The attention function of the model."""
        mask = attention_mask
        own, layer = self.passing, self.passing.place - 1
        method = own.exchange.get(layer)
        check_call(self.method["name"] if method else "softmax", dropout, key.shape[2], query.shape[2], extras)
        running = current(module)
        if running is not None:
            running.exchanged = True
        if own.view[0] is not mask or mask is None:
            whole = offset_of(query, key, bool(is_causal)) if mask is None else view_of(mask, query, key, self.causal)
            own.view = (mask, whole)
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        call = (query, key, value, own.view[1], scale)
        self.sizes = {"heads": query.shape[1], "key_heads": key.shape[1], "head_dim": query.shape[-1], "scale": scale}
        out = (method or softmax)(*call)
        if method and layer == min(own.exchange):
            own.squares = self.squares(layer, out, softmax(*call))
        out = out.transpose(1, 2).contiguous()
        if self.watched:
            self.watched(out.flatten(2))
        return out, None

    def squares(self, layer, own, exact):
        """Sums over the tokens of each text of squares, and squares of means over its tokens, [8, B]: of errors of
        attention, of its outputs, of errors after the output projection, and of the residual stream that these are added
        to. NaN where more than a matrix stands between the two."""
        off, exact = (x.transpose(1, 2).flatten(2) for x in (own - exact, exact))
        stream = self.passing.hidden[-1]
        project = self.projections.get(layer)
        added = project(off) if project else torch.full_like(stream, torch.nan)
        return torch.cat([sums(each, self.batch.present) for each in (off, exact, added, stream)])

    def attention_of(self, method, layer, draw):
        """The method of a cell in a layer: `rfa.torch.Attention` with the random vectors of the program."""
        if method != self.method:
            self.method, self.attentions = method, {}

        def attend(query, key, value, view, scale):
            offset, mask, keys = view
            place = (draw, layer, offset is not None)
            if place not in self.attentions:
                self.attentions[place] = self.drawn(method, layer, draw, offset is not None)
            own = self.attentions[place]
            own.scale = scale / method["factor"]
            arrays = (query * method["factor"], key[:, :, :keys], value[:, :, :keys])
            if not method["text_by_text"]:
                return own.over(*arrays, mask, mask, offset)
            # each as the first of a batch: random arrays have rows for every place in it
            count, length = query.shape[0], query.shape[2]
            lengths = [length] * count if mask is None else mask.sum(-1).tolist()
            texts = [[x[row : row + 1, :, :tokens] for x in arrays] for row, tokens in enumerate(lengths)]
            outs = [own.over(*text, None, None, offset) for text in texts]
            return torch.cat([F.pad(out, (0, 0, 0, length - out.shape[2])) for out in outs])

        return attend

    def drawn(self, method, layer, draw, causal):
        given = {"seed": method["seed"], "replicate": draw * self.layers + layer, "causal": causal}
        if method.get("tuned"):
            return load_tuned(method["tuned"], layer=layer, draw=draw, **given).to(self.device)
        sizes = {name: self.sizes[name] for name in ("heads", "head_dim")}
        return Attention(method["name"], **sizes, **given, **method["options"]).to(self.device)

    def predictions(self, batch, original, others):
        """At each place of a text: nats of the next token by the original and by the exchanged model, KL divergence,
        and whether both hold the same token most likely, [draws, 4, B, L]; 0 where no token follows."""
        ids = batch.inputs["input_ids"]
        found = exact(torch.zeros(len(others), 4, *ids.shape, device=self.device))
        follows = torch.zeros_like(batch.present)
        follows[:, :-1] = batch.present[:, 1:]
        next_ids = ids.roll(-1, 1)
        places = follows.nonzero()
        step = max(1, MOST_LOGITS // self.vocabulary)
        for rows, columns in (part.T for part in places.split(step)):
            p = self.log_chances(original, rows, columns)
            token = next_ids[rows, columns, None].to(p.device)
            before = -p.gather(-1, token)[:, 0]
            for draw, own in enumerate(others):
                q = (self.changed or self).log_chances(own, rows, columns)
                kl = torch.where(p > -torch.inf, p.exp() * (p - q), 0).sum(-1)
                agree = (p.argmax(-1) == q.argmax(-1)).double()
                numbers = torch.stack([before, -q.gather(-1, token)[:, 0], kl, agree])
                found[draw][:, rows, columns] = numbers
        return found

    def log_chances(self, own, rows, columns):
        """Log-probabilities of all tokens at some places, [n, V], by the head with whatever it does to logits."""
        out = type(own.out)(**{**own.out, "last_hidden_state": own.last[rows, columns][None]})
        forward, self.base.forward = self.base.forward, lambda *_args, **_kwargs: out
        try:
            ids = self.batch.inputs["input_ids"].new_zeros(1, len(rows))
            logits = self.model(input_ids=ids, use_cache=False, return_dict=True).logits[0]
        finally:
            self.base.forward = forward
        return exact(logits).log_softmax(-1)

    # ---- what a model is

    def look(self):
        """Sizes, and whether softmax in place of its attention leaves the model as it is.

        Raises:
            rfa.Error: for a model that cannot be run.
        """
        text = self.looked_at()
        if self.causal:
            self.find_head(text)
        before = self.run(text).last
        self.width, self.length = before.shape[-1], before.shape[1]
        exchange(self.part, lambda: self.name)
        layers = layers_of(self.part)
        for layer in layers:
            self.follow(layer)
        with self.watching(layers):
            after = self.run(text)
        off = distance(after.last[text.present], before[text.present])
        if not off < TOLERANCE:
            raise refusal("a model of softmax attention", f"{self.kind}, which is {off:.1e} off with it")
        self.layers = after.place
        shapes = {tuple(states.shape) for states in (*after.hidden, after.last)}
        if shapes != {(*text.present.shape, self.width)}:
            got = ", ".join(str(list(shape)) for shape in sorted(shapes))
            raise refusal(f"hidden states {[*text.present.shape, self.width]} in all layers", f"{self.kind}: {got}")

    def looked_at(self):
        """What the model is looked at with.

        Raises:
            rfa.Error: for a decoder without its head, and one that sees what follows.
        """
        self.vocabulary = self.ids = 0
        if not self.reads_ids():
            inputs, _ = self.inputs.taken([0], None, self.device)
            batch = Batch(inputs, None)
            states = self.first_run(batch).last
            if states.dim() != 3:
                raise refusal("hidden states [items, positions, width]", f"{self.kind}: {list(states.shape)}")
            batch.present = torch.ones(states.shape[:2], dtype=torch.bool, device=self.device)
            return batch
        table = embeddings_of(self.part)
        if table is None:
            main = self.part.main_input_name
            got = f"{self.kind}, which reads {main}" if main != "input_ids" else f"{self.kind}, which reads more"
            raise refusal("a model that reads tokens alone", got, [ARRAYS])
        self.vocabulary = self.ids = table.num_embeddings
        ids = torch.randint(table.num_embeddings, (2, PROBE), generator=torch.Generator().manual_seed(0))
        lengths = [PROBE, PROBE - 3]
        text, other = self.batch_of(ids, lengths), self.batch_of(ids.clone(), lengths)
        other.inputs["input_ids"][0, -1] = (ids[0, -1] + 1) % table.num_embeddings
        before, changed = (self.first_run(each).last for each in (text, other))
        if before.shape[:2] != ids.shape:
            got = f"{self.kind}: {list(before.shape)}"
            raise refusal(f"hidden states of {list(ids.shape)} tokens", got, [ARRAYS])
        ordered = distance(changed[0, 0], before[0, 0]) < 1e-6
        if ordered != self.causal:
            got = "a decoder without its head" if ordered else "a model that sees what follows"
            raise refusal("a causal model with its head, or an encoder", f"{self.kind}: {got}")
        return text

    def reads_ids(self):
        return self.inputs is None or "input_ids" in self.inputs.arrays

    def first_run(self, batch):
        """The model as it was loaded.

        Raises:
            rfa.Error: where it does not run.
        """
        takes = inspect.signature(self.part.forward).parameters
        named = ", ".join(batch.inputs)
        unknown = [name for name in self.inputs.arrays if name not in takes] if self.inputs else []
        if unknown:
            raise refusal(f"arrays that {type(self.part).__name__} takes, e.g. {self.part.main_input_name}", unknown[0])
        try:
            return self.run(batch)
        except (MemoryError, rfa.Error):
            raise
        except Exception as error:  # models raise whatever they like
            got = f"{self.kind}: {type(error).__name__}: {error}".splitlines()[0][:300]
            raise refusal(f"a model that runs on {named} alone", got, [] if self.inputs else [ARRAYS]) from error

    def taken(self, items, length):
        """A batch of items of the file of arrays. Args: length: of texts."""
        inputs, present = self.inputs.taken(items, length, self.device)
        whole = torch.ones(len(items), self.length, dtype=torch.bool, device=self.device)
        return Batch(inputs, whole if present is None else present)

    def find_head(self, text):
        """Finds the module that the head reads, so that the head can run by itself."""
        logits = self.model(**text.inputs, use_cache=False, return_dict=True).logits[0]
        places = torch.arange(PROBE)
        for self.base in dict.fromkeys((self.model.base_model, self.model.get_decoder())):
            if self.base is self.model:
                continue
            own = self.log_chances(self.run(text), torch.zeros_like(places), places)
            if distance(own, exact(logits).log_softmax(-1)) < TOLERANCE:
                self.vocabulary = logits.shape[-1]
                self.ids = min(self.ids, self.vocabulary)
                return
        raise refusal("a head that runs by itself", self.kind)

    @contextmanager
    def watching(self, layers):
        """Finds the matrix that outputs of attention are multiplied by before they are added to the residual stream."""
        attended, projected = None, None

        def watch(out):
            nonlocal attended
            attended = out

        def seen(module, args, out):
            nonlocal attended, projected
            given = next((each for each in args if torch.is_tensor(each)), None)
            kind = type(module).__name__
            if given is None:
                return
            if kind in ("Linear", "Conv1D") and attended is not None:
                if given.shape == attended.shape and torch.equal(given, attended):
                    place = self.passing.place - 1
                    # Granite adds a multiple of it to the residual stream
                    factor = getattr(layers[place % len(layers)], "residual_multiplier", 1)
                    self.projections[place] = projection_of(module, kind == "Conv1D", factor)
                    projected = out
                attended = None
            elif given is projected and "norm" in kind.lower():
                self.projections.pop(self.passing.place - 1, None)

        self.watched = watch
        handles = [each.register_forward_hook(seen) for layer in layers for each in layer.modules()]
        try:
            yield
        finally:
            self.watched = None
            for handle in handles:
                handle.remove()

    def facts(self):
        return {
            "kind": self.kind,
            "causal": self.causal,
            "layers": self.layers,
            **self.sizes,
            "classes": self.classes,
            "items": self.inputs.count if self.inputs else None,
            "width": self.width,
            "vocabulary": self.vocabulary,
            "max_tokens": self.longest(),
            "parameters": sum(each.numel() for each in self.model.parameters()),
        }

    def longest(self):
        """Tokens of a text that the model has positions for."""
        if self.inputs:
            return max(self.inputs.lengths or [self.length])
        config = self.model.config.get_text_config()
        names = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length")
        own = [getattr(config, name, None) for name in names]
        tables = [part for name, part in self.model.named_modules() if name.endswith("position_embeddings")]
        padded = [
            table.num_embeddings - table.padding_idx - 1 for table in tables if getattr(table, "padding_idx", None)
        ]
        limits = [limit for limit in (*own, *padded, self.tokenizer.model_max_length) if isinstance(limit, int)]
        return min([limit for limit in limits if 0 < limit < 2**31], default=2**31 - 1)

    # ---- what is asked

    def tokenize(self, texts, longest):
        rows = self.tokenizer(texts, truncation=True, max_length=longest, padding=False)["input_ids"]
        beyond = [number for row in rows for number in row if number >= self.ids]
        if beyond:
            got = f"id {beyond[0]}: the tokenizer is of another model"
            raise refusal(f"ids below {self.ids}, which the model has embeddings of", got)
        if self.changed and self.changed.tokenize(texts, longest)["rows"] != rows:
            raise refusal("an original that reads the tokens of the exchanged model", "other tokens of the same texts")
        return {"rows": rows}

    def lengths(self, count):
        """Tokens of each of the first items of the file of arrays, or what the model makes of them."""
        own = self.inputs.lengths or [self.length] * self.inputs.count
        if self.reads_ids():
            ids = self.inputs.arrays["input_ids"]
            if not (0 <= int(ids.min()) and int(ids.max()) < self.ids):
                raise refusal(f"ids from 0 to {self.ids - 1}", f"{int(ids.min())} to {int(ids.max())}")
        return {"lengths": own[:count]}

    def check(self, length):
        ids = torch.randint(self.ids, (1, length), generator=torch.Generator().manual_seed(0))
        try:
            own = self.run(self.batch_of(ids, [length]))
        except rfa.Error as error:
            raise refusal(
                f"a model that sees a whole text of {length} tokens", f"{self.kind}: {error.message}"
            ) from None
        if own.place != self.layers:
            raise refusal(f"{self.layers} layers that attend", f"{own.place} on another text")
        return {"length": length}

    def original(self, request, data):
        lengths = request["lengths"]
        if self.inputs:
            batch = self.taken(request["items"], max(lengths))
        else:
            batch = self.batch_of(ids_of(data, lengths), lengths)
        self.batches[request["batch"]] = batch
        own = self.run(batch)
        if self.kept + own.bytes() <= MOST_KEPT:
            self.kept += own.bytes()
            batch.original = own
        return [torch.stack([state.square().sum(-1) for state in own.hidden]), *self.encoded(own)]

    def exchanged(self, request, _data):
        batch = self.batches[request["batch"]]
        kept = batch.original
        original = batch.original = kept or self.run(batch)
        try:
            return self.draws_of(request, batch, original)
        finally:
            batch.original = kept

    def time(self, request, data):
        batch = self.batch_of(ids_of(data, request["lengths"]), request["lengths"])
        return {"ns": self.timed.times(request, batch.inputs)}

    def gate(self, request, data):
        """The largest difference of what is timed from what `exchanged` runs, and the largest entry of the latter."""
        method, layers = request["method"], request["layers"]
        batch = self.batch_of(ids_of(data, request["lengths"]), request["lengths"])
        asked = method and {**method, "factor": 1, "text_by_text": False}
        if asked and asked["name"] == "identity":
            self.method, attentions = asked, dict.fromkeys(layers, passed)
        else:
            attentions = {layer: self.attention_of(asked, layer, 0) for layer in layers}
        self.passing, self.batch = Pass(attentions, 0), batch
        decoder = {"use_cache": False} if self.causal else {}
        exact = self.model(**batch.inputs, return_dict=True, **decoder)[0]
        own = self.timed.output(method, layers, batch.inputs)
        return {"error": (own - exact).abs().max().item(), "largest": exact.abs().max().item()}

    def captured(self, request, _data):
        def capture(query, key, value, view, _scale):
            raise Captured(query, key[:, :, : view[2]], value[:, :, : view[2]])

        self.method = {"name": "softmax"}
        try:
            self.run(self.batches[request["batch"]], {request["layer"]: capture})
        except Captured as found:
            return found.args
        raise refusal(f"a model that attends in layer {request['layer']}", self.kind)

    def output(self, request, _data):
        project = self.projections.get(request["layer"])
        size = self.sizes["heads"] * self.sizes["head_dim"]
        return [] if project is None else [project(torch.eye(size, device=self.device))]

    def draws_of(self, request, batch, original):
        layers, found, passes = request["layers"], [], []
        runner = self.changed or self
        inputs = Batch(batch.inputs, batch.present) if self.changed else batch
        for draw in range(request["draws"]):
            methods = {layer: runner.attention_of(request["method"], layer, draw) for layer in layers}
            own = runner.run(inputs, methods) if methods or self.changed else original
            both = own.hidden[1:], original.hidden[own.first + 1 :]
            states = () if own is original else zip(*both, strict=True)
            off = [(state - exact).square().sum(-1) for state, exact in states]
            same = [own.top == original.top] if self.classes else []
            found.append([*off, *([own.squares] if methods else []), *self.encoded(own), *same])
            if own is not original:
                own.hidden, own.outputs = [], []
            passes.append(own)
        if self.causal:
            for arrays, numbers in zip(found, self.predictions(batch, original, passes), strict=True):
                arrays.append(numbers)
        return [array for arrays in found for array in arrays]

    def encoded(self, own):
        return [] if self.causal else [own.last]


def passed(query, _key, value, _view, _scale):
    """No attention."""
    return value.repeat_interleave(query.shape[1] // value.shape[1], 1)


def ids_of(data, lengths):
    return torch.frombuffer(data, dtype=torch.int32).long().view(len(lengths), -1)


def softmax(query, key, value, view, scale):
    """Exact attention, heads of queries sharing those of keys."""
    offset, mask, keys = view
    own = exact_attention(query.shape[1], query.shape[-1], offset is not None)
    own.scale = scale
    return own.over(query, key[:, :, :keys], value[:, :, :keys], mask, None, offset)


@cache
def exact_attention(heads, head_dim, causal):
    return Attention("softmax", heads=heads, head_dim=head_dim, causal=causal)


def sums(states, present):
    """Sums of squares over the tokens of each text, and squares of means over them, [2, B]. Args: states [B, L, W]."""
    own = torch.where(present[..., None], states, 0)
    own, present = exact(own), present.to(exact(own).device)
    means = own.sum(1) / present.sum(1, keepdim=True)
    return torch.stack([own.square().sum((1, 2)), means.square().sum(1)])


def exact(numbers):
    """In float64, which not every device has."""
    return (numbers.cpu() if numbers.device.type == "mps" else numbers).double()


def projection_of(module, transposed, factor):
    weight = module.weight.detach() if transposed else module.weight.detach().T
    return lambda rows: factor * (rows @ weight)


def distance(own, exact):
    return ((own - exact).norm() / exact.norm()).item()


def refuse_early(load, config, inputs):
    """Looks at the modules before weights are read.

    Raises:
        rfa.Error: for a model with attention of another kind.
    """
    try:
        with torch.device("meta"):
            model = load.from_config(config)
    except Exception:  # not every model can be made without weights
        return
    exchange(part_of(model, inputs), lambda: NAME)


def part_of(model, inputs):
    """What reads arrays: an encoder alone of one with a decoder, and the part for images of one that reads texts, too."""
    if inputs is None:
        return model
    if model.config.is_encoder_decoder:
        return model.get_encoder()
    images = "pixel_values" in inputs.arrays and "input_ids" not in inputs.arrays
    return getattr(model, "vision_model", model) if images else model


def embeddings_of(model):
    """Of tokens; None: it has none."""
    try:
        table = model.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        return None
    return table if hasattr(table, "num_embeddings") else None


def classifier_of(config):
    """What loads a model that was stored as one that predicts classes; None: it was not."""
    stored = (config.architectures or [None])[0]
    return next((load for load, names in CLASSIFIERS if stored in names.values()), None)


def layers_of(model):
    """The items of lists of modules that the attending ones lie in, in their order."""
    attending, _ = attending_modules(model)
    found = {}
    for place in attending:
        item = re.fullmatch(r"(.*\.\d+)(\..*)?", place)
        if item is None:
            raise refusal("layers in a list of modules", f"attention in {place or 'the model'}")
        found.setdefault(item[1], []).append(place)
    for place, own in found.items():
        if len(own) > 1:
            raise refusal("one attention in each layer", f"{', '.join(own)}")
    return [model.get_submodule(place) for place in found]


def is_decoder(config):
    """Whether a model predicts the next token, by the class that it was stored as, else by its kind."""
    if config.architectures:
        return config.architectures[0] in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    return config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.keys() - MODEL_FOR_MASKED_LM_MAPPING_NAMES.keys()


def refusal(expected, got, tries=()):
    return rfa.UsageError(f"the transformers engine: expected {expected}, got {got}", tries, code="UNSUPPORTED")


def joined(arrays):
    return torch.cat([each.detach().cpu().double().flatten() for each in arrays]).numpy().tobytes()


@contextmanager
def loading(folder):
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # Transformers raises whatever it likes
        raise refusal("a folder that Transformers loads", f"{folder}: {error}".splitlines()[0][:300]) from error


class Answers:
    def __init__(self, device):
        self.device, self.model = device, None

    def __call__(self, request, data):
        try:
            with torch.inference_mode():
                return self.answer(request, data)
        except rfa.Error as error:
            return {"refused": error.message, "tries": list(error.suggestions)}, b""

    def answer(self, request, data):
        do = request["do"]
        if do == "open":
            asked = {"inputs": request.get("inputs"), "timed": request.get("timed", False)}
            self.model = Model(request["folder"], self.device, **asked)
            return self.model.facts(), b""
        if do == "change":
            own = self.model.changed = Model(request["folder"], self.device, request.get("inputs"), f"{NAME}-changed")
            return own.facts(), b""
        if do == "tokenize":
            return self.model.tokenize(request["texts"], request["max_tokens"]), b""
        if do == "lengths":
            return self.model.lengths(request["count"]), b""
        if do == "check":
            return self.model.check(request["length"]), b""
        if do in ("time", "gate"):
            return getattr(self.model, do)(request, data), b""
        own = self.model
        run = {"original": own.original, "exchanged": own.exchanged, "capture": own.captured, "output": own.output}[do]
        floats = joined(run(request, data))
        return {"bytes": len(floats)}, floats


def device_of(name):
    """
    Args:
        name: `cpu`, `cuda`, `mps`, or `auto`: a graphics processor where there is one.

    Raises:
        ImportError: where PyTorch has no such device.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    own = next(kind for kind, is_there in there.items() if is_there) if name == "auto" else name
    if there.get(own):
        return torch.device(own)
    known = " or ".join(kind for kind, is_there in there.items() if is_there)
    raise ImportError(f"PyTorch {torch.__version__} on {known}, without {own}")


def device_text(device):
    """With its name and the versions that it depends on."""
    if device.type != "cuda":
        return device.type
    return f"cuda, {torch.cuda.get_device_name(device)}, CUDA {torch.version.cuda}"


def facts(threads, device):
    """What the process says of itself."""
    torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    METHODS["mean-value"] = Method(_ones, projected=False)
    methods = {name: list(method.options) for name, method in METHODS.items()}
    return {
        "packages": {"torch": torch.__version__, "transformers": transformers.__version__},
        "python": platform.python_version(),
        "device": device_text(device),
        "device_kind": device.type,
        "methods": {**methods, "softmax": [], "lara": ["sampling"]},
        "projections": list(PROJECTIONS),
    }


def _ones(query, key, _call):
    """Every key counts alike: averages V."""
    return Features(torch.ones_like(query[..., :1])), Features(torch.ones_like(key[..., :1]))
