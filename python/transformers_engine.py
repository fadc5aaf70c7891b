"""A model of Transformers that runs with its attention exchanged, and what it answers to `rfa_model.py`."""

import platform
import re
from contextlib import contextmanager
from functools import cache

import torch
import transformers
from torch.nn import functional as F
from transformers import AttentionInterface, AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

import rfa
from rfa.projections import PROJECTIONS
from rfa.torch import METHODS, Attention, load_tuned
from rfa.torch._calls import check_call, offset_of, view_of
from rfa.torch._features import Features, Method
from rfa.torch._layers import _attending as attending_modules
from rfa.torch._layers import current, exchange
from rfa.torch._transformers import _ordered as ordered

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


class Batch:
    """Texts as tokens [B, L], padded at the end, with what the original makes of them, where that is kept."""

    def __init__(self, ids, lengths):
        self.ids = ids
        self.present = torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]
        self.original = None


class Pass:
    """What one forward pass gives."""

    def __init__(self, exchange, first):
        self.exchange, self.first = exchange, first  # attention by layer; the first layer that runs
        self.place, self.view = 0, (None, None)  # the next layer; the mask at hand, and what it says
        self.hidden, self.outputs = [], []  # before the first layer that runs and after each; what these return
        self.squares = None  # of the first exchanged layer
        self.out = self.last = None  # what is below the head

    def bytes(self):
        return sum(4 * state.numel() for state in self.hidden)


class Model:
    def __init__(self, folder):
        local = {"local_files_only": True, "trust_remote_code": False}
        with loading(folder):
            config = AutoConfig.from_pretrained(folder, **local)
        self.kind, self.causal = config.model_type, is_decoder(config)
        if config.is_encoder_decoder:
            raise refusal("a model of one text", f"{self.kind}, an encoder with a decoder")
        if getattr(config, "quantization_config", None):
            raise refusal("weights that are not quantised", f"{self.kind} with a quantization_config")
        load = AutoModelForCausalLM if self.causal else AutoModel
        AttentionInterface.register(NAME, self.attend)
        AttentionMaskInterface.register(NAME, ordered(sdpa_mask))
        refuse_early(load, config)
        precision = "dtype" if int(transformers.__version__.split(".")[0]) > 4 else "torch_dtype"
        own = {precision: torch.float32, "output_loading_info": True}
        with loading(folder):
            self.model, loaded = load.from_pretrained(folder, **local, **own)
            self.tokenizer = AutoTokenizer.from_pretrained(folder, **local)
        missing = sorted(name for name in loaded["missing_keys"] if "pooler" not in name)
        if missing:
            more = f", nor {len(missing) - 1} more" if len(missing) > 1 else ""
            raise refusal("every weight of the model", f"no {missing[0]}{more}")
        self.model.eval()
        self.base = self.model.base_model
        self.tokenizer.truncation_side = "right"
        self.layers, self.sizes, self.projections = 0, {}, {}
        self.watched = None
        self.kept, self.batches = 0, {}
        self.method, self.attentions = None, {}
        self.look()

    # ---- a forward pass

    def run(self, batch, exchange=None):
        """Everything below the head. What comes before the first exchanged layer is taken from the original."""
        own = self.passing = Pass(exchange or {}, min(exchange) if exchange and batch.original else 0)
        self.batch = batch
        mask = batch.present.long()
        decoder = {"use_cache": False} if self.causal else {}
        own.out = self.base(input_ids=batch.ids, attention_mask=mask, return_dict=True, **decoder)
        own.last = own.out[0]
        return own

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

    def attend(self, module, query, key, value, mask, scaling=None, is_causal=None, dropout=0.0, **extras):
        """The attention function of the model."""
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
            return load_tuned(method["tuned"], layer=layer, draw=draw, **given)
        sizes = {name: self.sizes[name] for name in ("heads", "head_dim")}
        return Attention(method["name"], **sizes, **given, **method["options"])

    def predictions(self, batch, original, others):
        """At each place of a text: nats of the next token by the original and by the exchanged model, KL divergence,
        and whether both hold the same token most likely, [draws, 4, B, L]; 0 where no token follows."""
        found = torch.zeros(len(others), 4, *batch.ids.shape, dtype=torch.float64)
        follows = torch.zeros_like(batch.present)
        follows[:, :-1] = batch.present[:, 1:]
        next_ids = batch.ids.roll(-1, 1)
        places = follows.nonzero()
        step = max(1, MOST_LOGITS // self.vocabulary)
        for rows, columns in (part.T for part in places.split(step)):
            token = next_ids[rows, columns, None]
            p = self.log_chances(original, rows, columns)
            before = -p.gather(-1, token)[:, 0]
            for draw, own in enumerate(others):
                q = self.log_chances(own, rows, columns)
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
            ids = self.batch.ids.new_zeros(1, len(rows))
            logits = self.model(input_ids=ids, use_cache=False, return_dict=True).logits[0]
        finally:
            self.base.forward = forward
        return logits.double().log_softmax(-1)

    # ---- what a model is

    def look(self):
        """Sizes, and whether softmax in place of its attention leaves the model as it is.

        Raises:
            rfa.Error: for a model that cannot be run.
        """
        table = self.model.get_input_embeddings()
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(table.num_embeddings, (2, PROBE), generator=generator)
        text = Batch(ids, [PROBE, PROBE - 3])
        other = Batch(ids.clone(), [PROBE, PROBE - 3])
        other.ids[0, -1] = (other.ids[0, -1] + 1) % table.num_embeddings
        self.vocabulary = self.ids = table.num_embeddings
        if self.causal:
            self.find_head(text)
        before, changed = (self.run(each).last for each in (text, other))
        self.width = before.shape[-1]
        ordered = distance(changed[0, 0], before[0, 0]) < 1e-6
        if ordered != self.causal:
            got = "a decoder without its head" if ordered else "a model that sees what follows"
            raise refusal("a causal model with its head, or an encoder", f"{self.kind}: {got}")
        exchange(self.model, lambda: NAME)
        layers = layers_of(self.model)
        for layer in layers:
            self.follow(layer)
        with self.watching(layers):
            after = self.run(text)
        off = distance(after.last[text.present], before[text.present])
        if not off < TOLERANCE:
            raise refusal("a model of softmax attention", f"{self.kind}, which is {off:.1e} off with it")
        self.layers = after.place

    def find_head(self, text):
        """Finds the module that the head reads, so that the head can run by itself."""
        mask = text.present.long()
        logits = self.model(input_ids=text.ids, attention_mask=mask, use_cache=False, return_dict=True).logits[0]
        places = torch.arange(PROBE)
        for self.base in dict.fromkeys((self.model.base_model, self.model.get_decoder())):
            if self.base is self.model:
                continue
            own = self.log_chances(self.run(text), torch.zeros_like(places), places)
            if distance(own, logits.double().log_softmax(-1)) < TOLERANCE:
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
            "width": self.width,
            "vocabulary": self.vocabulary,
            "max_tokens": self.longest(),
            "parameters": sum(each.numel() for each in self.model.parameters()),
        }

    def longest(self):
        """Tokens of a text that the model has positions for."""
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
        return {"rows": rows}

    def check(self, length):
        ids = torch.randint(self.ids, (1, length), generator=torch.Generator().manual_seed(0))
        try:
            own = self.run(Batch(ids, [length]))
        except rfa.Error as error:
            raise refusal(
                f"a model that sees a whole text of {length} tokens", f"{self.kind}: {error.message}"
            ) from None
        if own.place != self.layers:
            raise refusal(f"{self.layers} layers that attend", f"{own.place} on another text")
        return {"length": length}

    def original(self, request, data):
        lengths = request["lengths"]
        ids = torch.frombuffer(data, dtype=torch.int32).long().view(len(lengths), -1)
        batch = self.batches[request["batch"]] = Batch(ids, lengths)
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

    def draws_of(self, request, batch, original):
        layers, found, passes = request["layers"], [], []
        for draw in range(request["draws"]):
            methods = {layer: self.attention_of(request["method"], layer, draw) for layer in layers}
            own = self.run(batch, methods) if methods else original
            states = zip(own.hidden[1:], original.hidden[own.first + 1 :], strict=True) if methods else ()
            off = [(state - exact).square().sum(-1) for state, exact in states]
            found.append([*off, *([own.squares] if methods else []), *self.encoded(own)])
            if methods:
                own.hidden, own.outputs = [], []
            passes.append(own)
        if self.causal:
            for arrays, numbers in zip(found, self.predictions(batch, original, passes), strict=True):
                arrays.append(numbers)
        return [array for arrays in found for array in arrays]

    def encoded(self, own):
        return [] if self.causal else [own.last]


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
    own = torch.where(present[..., None], states, 0).double()
    means = own.sum(1) / present.sum(1, keepdim=True)
    return torch.stack([own.square().sum((1, 2)), means.square().sum(1)])


def projection_of(module, transposed, factor):
    weight = module.weight.detach() if transposed else module.weight.detach().T
    return lambda rows: factor * (rows @ weight)


def distance(own, exact):
    return ((own - exact).norm() / exact.norm()).item()


def refuse_early(load, config):
    """Looks at the modules before weights are read.

    Raises:
        rfa.Error: for a model with attention of another kind.
    """
    try:
        with torch.device("meta"):
            model = load.from_config(config)
    except Exception:  # not every model can be made without weights
        return
    exchange(model, lambda: NAME)


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


def refusal(expected, got):
    return rfa.UsageError(f"the transformers engine: expected {expected}, got {got}", code="UNSUPPORTED")


def joined(arrays):
    return torch.cat([each.detach().double().flatten() for each in arrays]).numpy().tobytes()


@contextmanager
def loading(folder):
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # Transformers raises whatever it likes
        raise refusal("a folder that Transformers loads", f"{folder}: {error}".splitlines()[0][:300]) from error


class Answers:
    def __init__(self):
        self.model = None

    def __call__(self, request, data):
        try:
            with torch.inference_mode():
                return self.answer(request, data)
        except rfa.Error as error:
            return {"refused": error.message, "tries": list(error.suggestions)}, b""

    def answer(self, request, data):
        do = request["do"]
        if do == "open":
            self.model = Model(request["folder"])
            return self.model.facts(), b""
        if do == "tokenize":
            return self.model.tokenize(request["texts"], request["max_tokens"]), b""
        if do == "check":
            return self.model.check(request["length"]), b""
        run = {"original": self.model.original, "exchanged": self.model.exchanged}[do]
        floats = joined(run(request, data))
        return {"bytes": len(floats)}, floats


def facts(threads):
    """What the process says of itself."""
    torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    METHODS["mean-value"] = Method(_ones, projected=False)
    methods = {name: list(method.options) for name, method in METHODS.items()}
    return {
        "packages": {"torch": torch.__version__, "transformers": transformers.__version__},
        "python": platform.python_version(),
        "device": "cpu",
        "methods": {**methods, "softmax": [], "lara": ["sampling"]},
        "projections": list(PROJECTIONS),
    }


def _ones(query, key, _call):
    """Every key counts alike: averages V."""
    return Features(torch.ones_like(query[..., :1])), Features(torch.ones_like(key[..., :1]))
