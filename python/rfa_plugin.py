"""Runs an estimator that is written in Python: `rfa error-sweep --plugin my_map.py` starts this script.

    python3 rfa_plugin.py FILE

The first line that it writes to the pipe 4 says what the file has, as JSON, or what is wrong with it:
{"fault": message, "line": n}, or {"expected": what, "line": n}; n is the line of the file, or null. Then it answers each
request of the pipe 3, a JSON object in a line followed by float32 arrays of its `shapes`:

  {"do": "value", "options": {...}, "shapes": [x, projection]}  features: {"shape": [...]} and their float32
  {"do": "size", ...}  the same for F alone: {"size": F}
  {"do": "gradient", ..., "shapes": [x, projection, slopes]}  the gradient by x, where the file is of PyTorch

An attention takes query, key, value and projection in place of x and projection, then 0 or 1 for each key [B, S] where the
request has "masked", and "causal" in the request; its gradient is that by all three, flat, one after the other.

or with what is wrong. The script ends when pipe 3 does, with all that the file has started (`rfa_supervisor`). What the file
writes to stdout goes to stderr, and stdin is empty.
"""

import importlib.util
import inspect
import json
import math
import os
import signal
import sys
import traceback

from rfa_supervisor import supervised

#: The pipes, and a descriptor that is only kept open: whoever waits for its end waits for the end of all.
REQUESTS, ANSWERS, KEPT_OPEN = 3, 4, 5

KINDS = {bool: "boolean", int: "integer", float: "number", str: "text"}
#: What a file has, and how it is called.
SIGNATURES = {
    "phi": "phi(x, projection, *, option=default)",
    "attention": "attention(query, key, value, projection, *, causal=False, key_mask=None, option=default)",
}
#: Arguments of attention for what it need not have.
FORMS = ("causal", "key_mask")
#: What a file may state besides.
FACTS = ("name", "title", "unbiased_for", "non_negative", "citation")
#: Characters of a message of theirs that are passed on.
SHOWN = 500


class Wrong(Exception):
    """Something that a file must not have; the message says what is expected."""


class Module:
    """A file with phi or attention; of PyTorch where it imports that, unless `library` says otherwise."""

    def __init__(self, path, library=None):
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        spec = importlib.util.spec_from_file_location("rfa_plugin_file", path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        found = [name for name in SIGNATURES if callable(getattr(self.module, name, None))]
        if len(found) != 1:
            names = ", ".join(name for name in vars(self.module) if not name.startswith("_")) or "nothing"
            raise Wrong(f"a function phi(x, projection) or attention(query, key, value), one of them, got {names}")
        self.name = found[0]
        self.function = getattr(self.module, self.name)
        self.torch = None if library == "numpy" else sys.modules.get("torch")
        if self.torch is None:
            import numpy

            self.numpy = numpy
        parameters = list(inspect.signature(self.function).parameters.values())
        fixed = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        tokens = 1 if self.name == "phi" else 3
        if len(fixed) < tokens or fixed[tokens:] not in ([], ["projection"]):
            raise Wrong(f"{SIGNATURES[self.name]}, got {self.name}({', '.join(fixed)})")
        self.projected = len(fixed) > tokens
        given = {p.name: p for p in parameters if p.default is not p.empty}
        self.forms = [form for form in FORMS if self.name == "attention" and given.pop(form, None)]
        self.options = {name: self.option(p) for name, p in given.items()}

    def option(self, parameter):
        for kind, name in KINDS.items():
            if type(parameter.default) is kind:
                return {"type": name, "default": parameter.default}
        raise Wrong(f"a default of bool, int, float or str for {parameter.name}, got {parameter.default!r}")

    def facts(self):
        stated = {name: getattr(self.module, name) for name in FACTS if hasattr(self.module, name)}
        library = "torch" if self.torch else "numpy"
        text = (inspect.getdoc(self.function) or "").split("\n")[0]
        own = {"does": self.name, "library": library, "projected": self.projected, "forms": self.forms}
        return {**own, "options": self.options, "says": text, **stated}

    def array(self, floats, shape):
        if self.torch:
            return self.torch.frombuffer(floats, dtype=self.torch.float32).reshape(shape)
        return self.numpy.frombuffer(floats, dtype=self.numpy.float32).reshape(shape)

    def value(self, arrays, options, **forms):
        """What the function gives; options of others are left out."""
        own = {name: options[name] for name in self.options}
        out = self.function(*arrays, **own, **{name: given for name, given in forms.items() if name in self.forms})
        kind = self.torch.Tensor if self.torch else self.numpy.ndarray
        if not isinstance(out, kind):
            want = "tensor" if self.torch else "NumPy array"
            raise Wrong(f"{self.name} to return a {want}, got {type(out).__name__}")
        return out

    def answer(self, request, arrays):
        """A header and what follows it."""
        options = request["options"]
        slopes = arrays.pop() if request["do"] == "gradient" else None
        mask = arrays.pop() > 0.5 if request.get("masked") else None
        forms = {"causal": request.get("causal", False), "key_mask": mask}
        if slopes is not None:
            count = 1 if self.name == "phi" else 3
            tokens = [x.clone().requires_grad_() for x in arrays[:count]]
            out = self.value([*tokens, *arrays[count:]], options, **forms)
            if out.requires_grad:  # else it depends on no token, or not that autograd knows
                out.backward(slopes)
            slopes = [self.torch.zeros_like(x) if x.grad is None else x.grad for x in tokens]
            return self.floats(slopes[0] if self.name == "phi" else self.torch.cat([x.flatten() for x in slopes]))
        if self.torch:
            with self.torch.no_grad():
                out = self.value(arrays, options, **forms)
        else:
            out = self.value(arrays, options, **forms)
        if request["do"] == "size":
            return {"size": out.shape[-1] if out.ndim > 0 else 0}, b""
        return self.floats(out)

    def floats(self, out):
        if self.torch:
            out = out.detach().to("cpu", self.torch.float32).contiguous().numpy()
        else:
            out = self.numpy.ascontiguousarray(out, dtype=self.numpy.float32)
        return {"shape": list(out.shape)}, out.tobytes()


def fault(path, error):
    """What an error says, and the line of the author's file where it came."""
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if same(frame.filename, path)]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else (frames or [None])[-1]
    said = error.msg if isinstance(error, SyntaxError) else error
    text = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {said}"
    text = f"{text[:SHOWN]}…" if len(text) > SHOWN else text
    found = {"expected" if isinstance(error, Wrong) else "fault": text, "line": line}
    return {**found, "missing": error.name} if isinstance(error, ModuleNotFoundError) else found


def same(one, other):
    return os.path.abspath(one) == os.path.abspath(other)


def own_number(number):
    """Another number for a pipe, far from those that a file may close or write to by mistake."""
    import fcntl
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    own = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, min(200, most // 2))
    os.close(number)
    os.register_at_fork(after_in_child=lambda: os.close(own))  # a copy of this process answers nothing
    return own


def serve(path):
    """Says what a file has, and answers until there are no more requests."""
    os.close(KEPT_OPEN)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program ends it
    taking, giving = os.fdopen(own_number(REQUESTS), "rb"), os.fdopen(own_number(ANSWERS), "wb")

    def give(header, data=b""):
        giving.write(json.dumps(header).encode() + b"\n" + data)
        giving.flush()

    try:
        module = Module(path)
        greeting = {"pid": os.getpid(), **module.facts()}
        json.dumps(greeting, allow_nan=False)
    except BaseException as error:  # SystemExit, too, is only what a file raises
        give(fault(path, error))
        return 1
    give(greeting)
    for line in taking:
        request = json.loads(line)
        arrays = [module.array(bytearray(taking.read(4 * math.prod(shape))), shape) for shape in request["shapes"]]
        try:
            header, data = module.answer(request, arrays)
        except BaseException as error:
            header, data = fault(path, error), b""
        give(header, data)
    return 0


if __name__ == "__main__":
    supervised(lambda: serve(sys.argv[1]), REQUESTS, bounded=True)
