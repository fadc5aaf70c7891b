"""Wrong uses of the package rfa: each is answered by a typed exception that says what was expected, before a process starts.

Prints the number of cases, then one line for each that is answered otherwise.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rfa
from rfa import _process


def no_process(*_args, **_options):
    raise AssertionError("a process was started")


rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 2, 8, 4), dtype=np.float32) for _ in range(3))
folder = Path(tempfile.mkdtemp(prefix="rfa-refusals-"))


def sweep(**given):
    return lambda: rfa.error_sweep(q, k, v, **given)


def arrays(*given, **options):
    return lambda: rfa.error_sweep(*given, **options)


def filled(value, at=0):
    x = q.copy()
    x.flat[at] = value
    return x


T, U, I = rfa.ArgumentTypeError, rfa.UsageError, rfa.InputError
SHAPE, FINITE = "SHAPE_MISMATCH", "NOT_FINITE"

#: What is done, the class, the code, words of the message.
CASES = [
    # arrays of other kinds
    ("a list", arrays([[1.0]], k, v), T, "USAGE", "q: expected an array or a tensor, got list"),
    ("text", arrays("q.npy", k, v), T, "USAGE", "q: expected an array or a tensor, got str"),
    ("a path", arrays(Path("q.npy"), k, v), T, "USAGE", "q: expected an array"),
    ("a dict", arrays({"q": q}, k, v), T, "USAGE", "q: expected an array"),
    ("a number", arrays(1.0, k, v), T, "USAGE", "q: expected an array"),
    ("a function", arrays(print, k, v), T, "USAGE", "q: expected an array"),
    ("integers", arrays(q.astype(int), k, v), T, "USAGE", "q: expected one of float64"),
    ("complex numbers", arrays(q.astype(complex), k, v), T, "USAGE", "complex128"),
    ("objects", arrays(q.astype(object), k, v), T, "USAGE", "object"),
    ("truth values as queries", arrays(q > 0, k, v), T, "USAGE", "q: expected numbers, got bool"),
    ("integers of torch", arrays(torch.ones(1, 2, 8, 4, dtype=torch.int64), k, v), T, "USAGE", "int64"),
    ("float8 of torch", arrays(torch.ones(1, 2, 8, 4).to(torch.float8_e4m3fn), k, v), T, "USAGE", "float8_e4m3fn"),
    ("a word as a mask", sweep(key_mask="all"), T, "USAGE", "key_mask: expected an array"),
    # arrays that do not fit
    ("one axis", arrays(q[0, 0, 0], k, v), I, SHAPE, "q: expected [batch, heads, length, head_dim]"),
    ("two axes", arrays(q[0, 0], k[0, 0], v[0, 0]), I, SHAPE, "got [8, 4]"),
    ("five axes", arrays(q[None], k, v), I, SHAPE, "got [1, 1, 2, 8, 4]"),
    ("no tokens", arrays(q[:, :, :0], k, v), I, SHAPE, "got [1, 2, 0, 4]"),
    ("numbers of axes that differ", arrays(q[0], k, v), I, SHAPE, "the same number of axes"),
    ("batches that differ", arrays(q, np.repeat(k, 2, 0), np.repeat(v, 2, 0)), I, SHAPE, "the same batch"),
    ("head dimensions that differ", arrays(q, k[..., :3], v), I, SHAPE, "the same head dimension"),
    ("lengths that differ", arrays(q, k[:, :, :7], v), I, SHAPE, "the same length in k and v"),
    ("key heads that differ", arrays(q, k[:, :1], v), I, SHAPE, "the same heads in k and v"),
    ("heads that do not divide", arrays(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1)), I, SHAPE, "multiple"),
    ("the other layout", arrays(q, k[:, :, :3], v[:, :, :3], layout="blhd"), I, SHAPE, "multiple"),
    ("a mask for each head", sweep(key_mask=np.ones((1, 2, 8), bool)), I, SHAPE, "key_mask: expected [batch, keys] = [1, 8]"),
    ("a mask that is too short", sweep(key_mask=np.ones((1, 7), bool)), I, SHAPE, "got [1, 7]"),
    ("a mask without a batch", sweep(key_mask=torch.ones(8, dtype=torch.bool)), I, SHAPE, "got [8]"),
    # numbers that are none
    ("NaN in q", arrays(filled(np.nan), k, v), I, FINITE, "q: expected finite numbers"),
    ("infinity in k", arrays(q, filled(np.inf, 7), v), I, FINITE, "k: expected finite numbers"),
    ("minus infinity in v", arrays(q, k, filled(-np.inf, -1)), I, FINITE, "v: expected finite numbers"),
    ("NaN in a tensor", arrays(torch.tensor(filled(np.nan)), k, v), I, FINITE, "q: expected finite numbers"),
    ("NaN in a mask", sweep(key_mask=np.full((1, 8), np.nan)), I, FINITE, "key_mask: expected finite"),
    # arrays that are missing
    ("only q", arrays(q), U, "USAGE", "got no k and no v"),
    ("no v", arrays(q, k), U, "USAGE", "expected q, k and v, got no v"),
    ("a mask alone", lambda: rfa.error_sweep(key_mask=np.ones((1, 8))), U, "USAGE", "expected q, k and v with it"),
    ("arrays and a file", sweep(input="qkv.npz"), U, "USAGE", "either arrays or input"),
    ("arrays and a generator", sweep(generator="gaussian"), U, "USAGE", "either arrays or input"),
    ("only keys for variances", lambda: rfa.variance(k=k), U, "USAGE", "got no q"),
    ("no values for times", lambda: rfa.bench(q, k), U, "USAGE", "got no v"),
    ("no keys for advice", lambda: rfa.advise(q, v=v), U, "USAGE", "got no k"),
    # arguments that there are not
    ("a misspelt argument", sweep(num_feature=64), T, "USAGE", "did you mean num_features?"),
    ("a misspelt method", sweep(method="elu"), T, "USAGE", "did you mean methods?"),
    ("an argument of another command", sweep(norms=1), T, "USAGE", "expected an argument of rfa error-sweep, got norms"),
    ("a flag with dashes", sweep(**{"num-features": 64}), T, "USAGE", "did you mean num_features?"),
    ("arrays of a swap", lambda: rfa.swap(q=q), T, "USAGE", "expected an argument of rfa swap, got q"),
    ("json", sweep(json=True), T, "USAGE", "results are returned"),
    ("quiet", sweep(quiet=True), T, "USAGE", "progress=False"),
    ("plot", sweep(plot=True), T, "USAGE", "Run.html()"),
    ("a dry run", sweep(dry_run=True), T, "USAGE", "--dry-run in a terminal"),
    ("help", sweep(help=True), T, "USAGE", "help(rfa)"),
    ("limits of a build", lambda: rfa.bench(quick=True, fail_on="time:5%"), T, "USAGE", "compare what is returned"),
    ("an unknown argument that is False", sweep(foo=False), T, "USAGE", "got foo"),
    # values of other types
    ("a number as a switch", sweep(causal=1), T, "USAGE", "causal: expected True or False, got 1"),
    ("a word as a switch", sweep(causal="yes"), T, "USAGE", "causal: expected True or False"),
    ("a word as quick", sweep(quick="very"), T, "USAGE", "quick: expected True or False"),
    ("a word as progress", sweep(progress="bar"), T, "USAGE", "progress: expected True or False"),
    ("a switch as a number", sweep(num_features=True), T, "USAGE", "num_features: expected a value, got True"),
    ("several scales of logits", sweep(scale=[1, 2]), T, "USAGE", "scale: expected one value"),
    ("several seeds", sweep(seed=(1, 2)), T, "USAGE", "seed: expected one value"),
    ("a dict of methods", sweep(methods={"elu": {}}), T, "USAGE", "methods: expected a value or a list"),
    ("methods in a method", sweep(methods=[["elu"]]), T, "USAGE", "methods: expected text or a number, got list"),
    ("a function as a method", sweep(methods=len), T, "USAGE", "methods: expected text or a number"),
    ("None among methods", sweep(methods=["elu", None]), T, "USAGE", "got NoneType"),
    ("no methods", sweep(methods=[]), U, "USAGE", "methods: expected at least one value"),
    ("an empty method", sweep(methods=""), U, "USAGE", "methods: expected a value"),
    ("an empty folder", sweep(output=" "), U, "USAGE", "output: expected a value"),
    ("a layout that there is not", sweep(layout="bldh"), U, "USAGE", "did you mean"),
    ("signs that there are not", sweep(orth_sign="har"), U, "USAGE", "did you mean haar?"),
    ("a mode that there is not", lambda: rfa.bench(mode="foward"), U, "USAGE", "did you mean forward?"),
    # runs that there are not
    ("a folder that there is not", lambda: rfa.read(folder / "none"), I, "FILE_MISSING", "manifest.json"),
    ("an empty folder of a run", lambda: rfa.read(folder), I, "FILE_MISSING", "manifest.json"),
    ("a comparison with nothing", lambda: rfa.compare(folder), U, "USAGE", "a second run or two methods"),
    ("a comparison with both", lambda: rfa.compare(folder, folder, methods=["a", "b"]), U, "USAGE", "either"),
    ("one method to compare", lambda: rfa.compare(folder, methods=["a"]), U, "USAGE", "two names"),
    ("methods to compare in a word", lambda: rfa.compare(folder, methods="a,b"), U, "USAGE", "two names"),
    ("a comparison of no runs", lambda: rfa.compare(folder, folder), I, "FILE_MISSING", "manifest.json"),
]

#: Refused by the program: its error document becomes an exception.
BY_PROGRAM = [
    ("a method that there is not", sweep(methods="favr"), U, "UNKNOWN_NAME", "did you mean favor-pos?"),
    ("an option that there is not", sweep(methods="rfa", option={"tua": 1}), U, None, "tau"),
    ("no random vectors", sweep(methods="rfa", num_features=0), U, None, "num-features"),
    ("a negative seed", sweep(seed=-1), U, None, "seed"),
    ("a file that there is not", lambda: rfa.error_sweep(input="none.npz"), I, "FILE_MISSING", "none.npz"),
    ("a model that there is not", lambda: rfa.swap(model="none"), rfa.Error, None, "none"),
    ("a folder that cannot be", sweep(methods="elu", output="/dev/null/run"), I, None, "/dev/null/run"),
]


def answer(title, action, kind, code, words):
    try:
        action()
    except rfa.Error as error:
        text = f"{error}"
        if isinstance(error, kind) and code in (None, error.code) and words in text and " [" in text:
            return None
        return f"{title}: {type(error).__name__} {text}"
    except Exception as error:
        return f"{title}: {type(error).__name__}: {error}"
    return f"{title}: no exception"


started, _process.subprocess.Popen = _process.subprocess.Popen, no_process
wrong = [answer(*case) for case in CASES]
_process.subprocess.Popen = started
wrong += [answer(*case) for case in BY_PROGRAM]
assert issubclass(T, TypeError) and issubclass(U, ValueError) and issubclass(I, ValueError)
print(len(CASES) + len(BY_PROGRAM))
print(*filter(None, wrong), sep="\n", end="")
