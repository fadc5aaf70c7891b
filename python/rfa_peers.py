"""Other implementations: `rfa bench --peers torch` runs this script, which times the methods that they have.

    python3 rfa_peers.py torch --threads 2

The first line that it prints comes at once: {"loading": "torch", "pid": n}. The second says what it is:
{"version", "packages", "python", "instruction_set"}, or {"missing": reason}. Then it answers each request, a JSON object in a
line, with one:

  {"do": "forms", "case": {...}}  which forms of the case there are, the ordinary one first, and the preset of rfa that
      computes the same: {"forms": [name, ...], "preset": name}
  {"do": "make", "case": {...}, "bytes": n}  followed by n bytes, float32: query [B, H, n, D], key [B, H, n, D],
      value [B, H, n, Dv] and, where case.projected, the projection [H, M, D]; builds the form of the case: {"id": i}
  {"do": "output", "id": i}  runs it once: {"output": base64 of float32 [B, H, L, Dv]}
  {"do": "time", "id": i, "runs": n, "ns": t}  at least one run, at most n, no new one after t ns: {"ns": [...]}
  {"do": "drop", "id": i}  frees it: {"dropped": i}

A case is {"method", "decode", "causal", "batch", "heads", "length", "tokens", "head_dim", "value_dim", "num_features"} and
perhaps a "form". One that decodes takes L tokens one by one, repeating the n that it has; its clock starts after the
first token. Cases stay until they are dropped. A request that fails is answered with {"error": "..."}. The script ends
when its input does, even during a run, with all that it has started (`rfa_supervisor`).

A peer NAME is a module NAME_forms, here or in bench/peers of the source, with

  PACKAGES  versions by package, its own first      INSTRUCTION_SET  or None
  started(threads)  what everything runs in          array(floats, shape), bytes_of(output)
  forms(case)  {name: make}, where make(case, query, key, value, projection) returns a Form
  preset(case)  where the case is computed as a release of rfa's methods does
"""

import argparse
import base64
import importlib
import itertools
import platform
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Callable

from rfa_supervisor import answering, supervised


#: What a peer runs in, for as long as the process lasts.
RUNNING = ExitStack()


@dataclass
class Form:
    """A case in one form of a peer, ready to be run again and again."""

    run: Callable[[], Any]
    """One pass; the output is [B, H, L, Dv], or a list of [B, H, 1, Dv]."""
    reset: Callable[[], Any] = lambda: None
    """What has to be done before each run; not timed."""
    arranged: Callable[[Any], Any] = lambda out: out
    """The output in that order."""


def decoding(case, begin, token, done=lambda outs: outs):
    """A form that decodes: `begin()` empties its state, `token(t)` takes the t-th, `done(outs)` waits for all of them."""
    first = []

    def reset():
        begin()
        first[:] = done([token(0)])

    return Form(lambda: done([*first, *map(token, range(1, case["length"]))]), reset)


def inputs_of(module, case, data):
    """Query, key, value and projection, which share the memory of what was read."""
    head_dim, value_dim = case["head_dim"], case["value_dim"]
    shapes = [(case["batch"], case["heads"], case["tokens"], dim) for dim in (head_dim, head_dim, value_dim)]
    if case["projected"]:
        shapes.append((case["heads"], case["num_features"], head_dim))
    floats = memoryview(data).cast("f")
    ends = list(itertools.accumulate(map(prod, shapes)))
    parts = [module.array(floats[end - prod(shape) : end], shape) for end, shape in zip(ends, shapes)]
    return parts if case["projected"] else [*parts, None]


def run_once(form):
    form.reset()
    return form.run()


def times(form, runs, ns):
    found, begin = [], time.perf_counter_ns()
    while len(found) < runs and (not found or time.perf_counter_ns() - begin < ns):
        form.reset()
        start = time.perf_counter_ns()
        form.run()
        found.append(time.perf_counter_ns() - start)
    return found


class Answers:
    def __init__(self, module):
        self.module = module
        self.ids = itertools.count(1)
        self.made = {}  # forms by the ids of their cases

    def answer(self, request, data):
        do = request["do"]
        if do == "forms":
            preset = getattr(self.module, "preset", lambda _case: "exact")
            return {"forms": list(self.module.forms(request["case"])), "preset": preset(request["case"])}
        if do == "make":
            case = request["case"]
            forms = self.module.forms(case)
            make = forms[case.get("form") or next(iter(forms))]
            made = next(self.ids)
            self.made[made] = make(case, *inputs_of(self.module, case, data))
            return {"id": made}
        if do == "drop":
            del self.made[request["id"]]
            return {"dropped": request["id"]}
        form = self.made[request["id"]]
        if do == "output":
            out = self.module.bytes_of(form.arranged(run_once(form)))
            return {"output": base64.b64encode(out).decode()}
        return {"ns": times(form, request["runs"], request["ns"])}


def started(peer, threads):
    """Facts of a peer, and what answers."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "bench" / "peers"))
    module = importlib.import_module(f"{peer.replace('-', '_')}_forms")
    RUNNING.enter_context(module.started(threads))
    packages = dict(module.PACKAGES)
    facts = {"version": next(iter(packages.values())), "packages": packages, "python": platform.python_version()}
    return {**facts, "instruction_set": module.INSTRUCTION_SET}, Answers(module).answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    answering(options.peer, lambda: started(options.peer, options.threads))


if __name__ == "__main__":
    supervised(main, 0)
