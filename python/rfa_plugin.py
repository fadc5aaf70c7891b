"""Runs an estimator that is written in Python: `rfa error-sweep --plugin my_map.py` starts this script.

    python3 rfa_plugin.py FILE REQUESTS ANSWERS

The first line that it prints says what the file has, as JSON, or what is wrong with it: {"fault": message, "line": n}, or
{"expected": what, "line": n}; n is the line of the file, or null. Then it answers each request of the pipe REQUESTS, a JSON
object in a line followed by float32 arrays of its `shapes`:

  {"do": "phi", "options": {...}, "shapes": [x, projection]}  features: {"shape": [...]} and their float32
  {"do": "size", ...}  the same for F alone: {"size": F}
  {"do": "gradient", ..., "shapes": [x, projection, slopes]}  the gradient by x, where phi is of PyTorch

or with what is wrong. The script ends when the pipe does.
"""

import importlib.util
import inspect
import json
import math
import os
import signal
import sys
import traceback

KINDS = {bool: "boolean", int: "integer", float: "number", str: "text"}
#: What a file may state besides phi.
FACTS = ("name", "title", "unbiased_for", "non_negative", "citation")


class Wrong(Exception):
    """Something that a file must not have; the message says what is expected."""


class Module:
    """A file with phi."""

    def __init__(self, path):
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        spec = importlib.util.spec_from_file_location("rfa_plugin_file", path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.phi = getattr(self.module, "phi", None)
        if not callable(self.phi):
            names = ", ".join(name for name in vars(self.module) if not name.startswith("_")) or "nothing"
            raise Wrong(f"a function phi(x, projection), got {names}")
        self.torch = sys.modules.get("torch")
        if self.torch is None:
            import numpy

            self.numpy = numpy
        parameters = list(inspect.signature(self.phi).parameters.values())
        fixed = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        if fixed not in (["x"], ["x", "projection"]):
            raise Wrong(f"phi(x, projection, *, option=default), got phi({', '.join(fixed)})")
        self.projected = "projection" in fixed
        self.options = {p.name: self.option(p) for p in parameters if p.default is not p.empty}

    def option(self, parameter):
        for kind, name in KINDS.items():
            if type(parameter.default) is kind:
                return {"type": name, "default": parameter.default}
        raise Wrong(f"a default of bool, int, float or str for {parameter.name}, got {parameter.default!r}")

    def facts(self):
        stated = {name: getattr(self.module, name) for name in FACTS if hasattr(self.module, name)}
        library = "torch" if self.torch else "numpy"
        text = (inspect.getdoc(self.phi) or "").split("\n")[0]
        return {"library": library, "projected": self.projected, "options": self.options, "says": text, **stated}

    def array(self, floats, shape):
        if self.torch:
            return self.torch.frombuffer(floats, dtype=self.torch.float32).reshape(shape)
        return self.numpy.frombuffer(floats, dtype=self.numpy.float32).reshape(shape)

    def features(self, arrays, options):
        out = self.phi(*arrays[: 2 if self.projected else 1], **options)
        kind = self.torch.Tensor if self.torch else self.numpy.ndarray
        if not isinstance(out, kind):
            raise Wrong(f"phi to return a {'tensor' if self.torch else 'NumPy array'}, got {type(out).__name__}")
        return out

    def answer(self, request, arrays):
        """A header and what follows it."""
        options = request["options"]
        if request["do"] == "gradient":
            *inputs, slopes = arrays
            x = inputs[0].clone().requires_grad_()
            out = self.features([x, *inputs[1:]], options)
            if not out.requires_grad:  # features do not depend on x, or not that autograd knows
                return self.floats(self.torch.zeros_like(x))
            out.backward(slopes)
            return self.floats(x.grad)
        if self.torch:
            with self.torch.no_grad():
                out = self.features(arrays, options)
        else:
            out = self.features(arrays, options)
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
    found = {"expected" if isinstance(error, Wrong) else "fault": text, "line": line}
    return {**found, "missing": error.name} if isinstance(error, ModuleNotFoundError) else found


def same(one, other):
    return os.path.abspath(one) == os.path.abspath(other)


def main(path, requests, answers):
    said, sys.stdout = sys.stdout, sys.stderr  # what the file prints is none of ours
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program ends it
    try:
        module = Module(path)
        greeting = module.facts()
    except Exception as error:
        print(json.dumps(fault(path, error)), file=said, flush=True)
        return 1
    print(json.dumps(greeting), file=said, flush=True)
    with open(requests, "rb") as taking, open(answers, "wb") as giving:
        giving.write(b"{}\n")
        giving.flush()
        for line in taking:
            request = json.loads(line)
            arrays = [module.array(bytearray(taking.read(4 * math.prod(shape))), shape) for shape in request["shapes"]]
            try:
                header, data = module.answer(request, arrays)
            except Exception as error:
                header, data = fault(path, error), b""
            giving.write(json.dumps(header).encode() + b"\n" + data)
            giving.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
