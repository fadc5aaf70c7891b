"""Runs the forms of one peer for a program that times it against others: a JSON request per line, a JSON answer per line.

The first line it prints tells what it is: {"peer", "python", "versions", "threads"}. Requests:
  {"do": "prepare", "case": {...}, "folder": "..."}  reads query, key, value and projection from the folder, builds
      every form that the peer has for the case, runs each until it is compiled and writes its output to
      <folder>/<peer>.<form>.f32; answers {"forms": {name: departures}, "failed": {name: reason}}
  {"do": "time", "form": name, "samples": n, "seconds": s}  answers {"ns": [...]}: one run that does not count, then
      at most n, no new one after s seconds
A case of kind "attention" is a pass over `length` tokens, one of kind "decode" takes `tokens` of them one at a time
behind `position` earlier ones. Departures are what a form computes otherwise than the textbook, in numbers: see
reference.ts. What goes wrong with a request is answered with {"error": "..."}.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time
from pathlib import Path

MODULES = {
    "torch": "torch_forms",
    "jax": "jax_forms",
    "onnxruntime": "onnxruntime_forms",
    "performer-pytorch": "performer_forms",
    "pytorch-fast-transformers": "fast_transformers_forms",
    "linear-attention-transformer": "linear_transformer_forms",
}


def keep_to(threads):
    """Threads of every library, which reads them when it is loaded; processors are those of the program that starts this."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)


def read_inputs(case, folder):
    import numpy

    tokens = case["length"] if case["kind"] == "attention" else case["position"] + case["tokens"]
    shape = (1, case["heads"], tokens, case["headDim"])
    arrays = {
        name: numpy.fromfile(Path(folder) / f"{name}.f32", numpy.float32).reshape(shape)
        for name in ("query", "key", "value")
    }
    rows = numpy.fromfile(Path(folder) / "projection.f32", numpy.float32)
    return {**arrays, "projection": rows.reshape(-1, case["headDim"])}


def run_once(form):
    form.reset()
    return form.run()


def prepare(module, peer, case, folder):
    """The forms that run, by name, and what the program is told of all."""
    inputs = read_inputs(case, folder)
    ready, departures, failed = {}, {}, {}
    for name, make in module.forms(case).items():
        try:
            form = make(case, inputs)
            out = form.arranged(module.to_numpy(run_once(form)))
            if out.dtype != "float32":
                raise TypeError(f"expected a float32 output, got {out.dtype}")
            out.tofile(Path(folder) / f"{peer}.{name}.f32")
        except Exception as error:  # a peer that cannot is told of, and others go on
            failed[name] = f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]
        else:
            ready[name], departures[name] = form, form.departs
    return ready, {"forms": departures, "failed": failed}


def times(form, samples, seconds):
    run_once(form)
    found, begin = [], time.perf_counter()
    while len(found) < samples and (not found or time.perf_counter() - begin < seconds):
        form.reset()
        start = time.perf_counter_ns()
        form.run()
        found.append(time.perf_counter_ns() - start)
    return found


def answers(module, peer):
    ready = {}

    def answer(request):
        nonlocal ready
        if request["do"] == "prepare":
            ready = {}  # frees what the last case held
            ready, told = prepare(module, peer, request["case"], request["folder"])
            return told
        return {"ns": times(ready[request["form"]], request["samples"], request["seconds"])}

    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=MODULES)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    keep_to(options.threads)
    out = os.fdopen(os.dup(1), "w")  # libraries that print do so to stderr
    os.dup2(2, 1)
    module = importlib.import_module(MODULES[options.peer])
    versions = {name: importlib.metadata.version(name) for name in module.PACKAGES}
    facts = {"peer": options.peer, "python": platform.python_version(), "versions": versions}
    print(json.dumps({**facts, "threads": options.threads}), file=out, flush=True)
    answer = answers(module, options.peer)
    with module.started(options.threads):
        for line in sys.stdin:
            try:
                told = answer(json.loads(line))
            except Exception as error:
                told = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(told), file=out, flush=True)


if __name__ == "__main__":
    main()
