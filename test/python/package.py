"""What the package rfa does with arrays: python package.py, in an empty folder. Prints what was tried."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rfa
from rfa import _process, _run
from rfa._flags import to_argv

rng = np.random.default_rng(7)
q, k, v = (rng.standard_normal((2, 4, 24, 8), dtype=np.float32) for _ in range(3))
mask = np.arange(24)[None] < np.array([[20], [24]])
SMALL = dict(methods=["favor-pos", "elu"], num_features=16, targets="raw", replicates=6, progress=False)


class OfAnotherLibrary:
    """An array as JAX and others have it."""

    def __init__(self, x):
        self.x = x

    def __array__(self, *_args, **_options):
        return self.x


def errors(run):
    return [(row["method"], row["projection"], row["rel_l2_median"]) for row in run.rows]


def arrays_of_every_library_give_the_same_run():
    base = rfa.error_sweep(q, k, v, **SMALL)
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    assert errors(rfa.error_sweep(*tensors, **SMALL)) == errors(base)
    turned = [np.asfortranarray(x.transpose(0, 2, 1, 3)) for x in (q, k, v)]
    assert errors(rfa.error_sweep(*turned, layout="blhd", **SMALL)) == errors(base)
    views = [torch.tensor(x.transpose(0, 2, 1, 3).copy()).transpose(1, 2) for x in (q, k, v)]
    assert errors(rfa.error_sweep(*views, **SMALL)) == errors(base)
    big = [x.astype(">f4") for x in (q, k, v)]
    assert errors(rfa.error_sweep(*big, **SMALL)) == errors(base)
    others = [OfAnotherLibrary(x) for x in (q, k, v)]
    assert errors(rfa.error_sweep(*others, **SMALL)) == errors(base)
    small = [torch.tensor(x).bfloat16() for x in (q, k, v)]
    rounded = [x.float().numpy() for x in small]
    assert errors(rfa.error_sweep(*small, **SMALL)) == errors(rfa.error_sweep(*rounded, **SMALL)) != errors(base)


def arguments_are_flags():
    run = rfa.error_sweep(
        q, k, v, key_mask=mask, causal=False, scale=0.5, seed=np.int64(3), output="named", option={"tau": 0.5},
        methods="rfa", num_features=[8, 16], projections=("iid",), targets=["raw"], replicates=6, progress=False,
    )  # fmt: skip
    plan = run.manifest["plan"]
    assert run.path == Path("named").resolve() and run.path.is_absolute()
    assert plan["seed"] == 3 and plan["logit_scale"] == 0.5 and plan["causal"] is False
    assert plan["methods"][0]["options"]["tau"] == 0.5 and plan["num_features"] == [8, 16]
    assert run.records[0]["result"]["hidden_keys"] == 4
    grouped = rfa.error_sweep(q, k[:, :2], v[:, :2], causal=True, **SMALL)
    assert grouped.manifest["plan"]["causal"] is True and grouped.records[0]["result"]["key_heads"] == 2


def a_run_has_records_rows_and_pages():
    run = rfa.error_sweep(q, k, v, **SMALL)
    again = rfa.read(str(run.path))
    assert again.records == run.records and again.rows == run.rows and again.document == {}
    assert len(run.records) == len(run.rows) == 3
    row = next(row for row in run.rows if row["method"] == "favor-pos")
    assert row["num_features"] == 16 and row["causal"] is False and 0 < row["rel_l2_median"] < 100
    record = next(each for each in run.records if each["key"] == row["key"])
    assert record["result"]["rel_l2"]["median"] == row["rel_l2_median"]
    assert "favor-pos" in str(run) and str(run.path) in repr(run)
    shown = run._repr_html_()
    assert shown.startswith("<pre>") and "<svg" in shown
    page = run.html("page.html")
    assert page.read_text().lstrip().lower().startswith("<!doctype html")
    assert run.html() == run.path / "report.html"
    with (run.path / "records.jsonl").open("a") as file:
        file.write('{"torn": ')
    assert len(rfa.read(run.path).records) == 3


def a_notebook_shows_the_first_figure_of_the_report():
    names = ["share-of-mass", "error-over-features", "error-over-features-2"]

    def fake(argv, _temporary=None):
        folder = Path(argv[argv.index("--svg") + 1])
        for name in names:
            (folder / f"{name}.svg").write_text(f"<svg>{name}</svg>")
            (folder / f"{name}-column.svg").write_text("<svg>narrow</svg>")
        figures = [{"name": name, "title": name.upper(), "caption": "", "files": []} for name in names]
        (folder / "figures.json").write_text(json.dumps({"schema": "rfa.report-figures/1", "figures": figures}))
        return "the table"

    real, _run.run_text = _run.run_text, fake
    try:
        shown = rfa.Run(".")._repr_html_()
    finally:
        _run.run_text = real
    assert shown == (
        "<pre>the table</pre><figure><figcaption>ERROR-OVER-FEATURES</figcaption>"
        "<svg>error-over-features</svg></figure>"
    )


def values_do_not_become_flags():
    for value in ("--help", "-h", "--json"):
        assert to_argv("error-sweep", {"plugin": value}) == [f"--plugin={value}"]
        assert to_argv("error-sweep", {"plugin": [value, value]}) == [f"--plugin={value}"] * 2
        assert to_argv("error-sweep", {"option": {"tau": value}}) == [f"--option=tau={value}"]
    for given in ({"plugin": "--help"}, {"input": "--version"}, {"output": "--json"}):
        try:
            rfa.error_sweep(**given, methods="--help", progress=False)
        except rfa.Error:
            continue
        raise AssertionError(given)


def a_table_is_a_frame_where_there_is_a_library():
    run = rfa.error_sweep(q, k, v, **SMALL)
    hidden = {name: sys.modules.get(name) for name in ("pandas", "polars")}
    sys.modules.update({name: None for name in hidden})
    assert run.table == run.rows
    sys.modules["polars"] = types.SimpleNamespace(DataFrame=dict)
    assert run.table["method"] == [row["method"] for row in run.rows]
    for name, module in hidden.items():
        sys.modules.pop(name)
        if module is not None:
            sys.modules[name] = module


def other_commands_return_runs_too():
    variances = rfa.variance(q * 0.3, k * 0.3, pairs=2, methods="favor-pos", num_features=16, replicates=20, progress=False)
    assert variances.manifest["plan"]["experiment"] == "variance" and variances.rows
    norms = rfa.variance(norms=[0.5, 1], angles=90, methods="favor-pos", num_features=16, replicates=20, progress=False)
    assert {row["norm"] for row in norms.rows} == {0.5, 1}
    times = rfa.bench(q, k, v, methods="elu", exact=False, quick=True, progress=False)
    assert times.rows[0]["method"] == "elu" and times.rows[0]["median_ns"] > 0
    lost = rfa.swap(methods="elu", quick=True, max_texts=2, progress=False)
    assert {row["method"] for row in lost.rows} >= {"elu"}
    one, other = (rfa.error_sweep(q, k, v, seed=seed, **SMALL) for seed in (0, 1))
    between = rfa.compare(one, other.path)
    assert between.rows and "B has" in str(between) and between._repr_html_().startswith("<pre>")
    within = rfa.compare(one, methods=["favor-pos", "elu"])
    assert within.document["b"]["method"] == "elu"


def advice_has_its_runs():
    advice = rfa.advise(q, k, v, methods="elu", quick=True, progress=False)
    assert advice.document["schema"] == "rfa.advice/1" and "error" in advice.runs
    assert isinstance(rfa.read(advice.path), rfa.Advice) and "Keep exact" in str(advice)


def failed_cells_warn():
    real = _process._run
    document = '{"schema": "rfa.finished-run/1", "directory": "x", "summary": {"counts": {"failed": 1, "total": 3}}}'
    _process._run = lambda _argv, _temporary: (document, 4)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            rfa.error_sweep(quick=True)
    finally:
        _process._run = real
    assert [each.category for each in seen] == [rfa.CellsFailedWarning] and "1 of 3" in str(seen[0].message)


def progress_goes_to_the_stream_of_a_notebook():
    real, sys.stderr = sys.stderr, io.StringIO()
    try:
        rfa.error_sweep(q, k, v, **{**SMALL, "progress": True})
        said = sys.stderr.getvalue()
        sys.stderr = io.StringIO()
        rfa.error_sweep(q, k, v, **SMALL)
        silent = sys.stderr.getvalue()
    finally:
        sys.stderr = real
    assert "3 cells in" in said and silent == ""


def arrays_of_killed_processes_go_with_the_next_call():
    entering = "import rfa._temporary as t, time; c = t.temporary_folder(); print(c.__enter__(), flush=True); time.sleep(99)"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    alive, dead = (
        subprocess.Popen([sys.executable, "-c", entering], stdout=subprocess.PIPE, text=True, env=env) for _ in range(2)
    )
    kept, left = (Path(each.stdout.readline().strip()) for each in (alive, dead))
    for folder in (kept, left):
        os.utime(folder / "lock", (0, 0))
    dead.kill()
    dead.wait()
    assert left.exists()
    rfa.error_sweep(q, k, v, **SMALL)
    assert kept.exists() and not left.exists()
    alive.kill()
    alive.wait()
    rfa.error_sweep(q, k, v, **SMALL)
    assert not kept.exists()


def an_interrupt_ends_the_program():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored

    def interrupt():
        while not Path("cut/records.jsonl").exists():
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        rfa.error_sweep(generator="gaussian", seq_len=2048, heads=8, replicates=100, output="cut", progress=False)
    except KeyboardInterrupt:
        cut = rfa.read("cut")
        assert cut.manifest["plan"]["replicates"] == 100
        return
    raise AssertionError("expected KeyboardInterrupt")


for name, action in list(globals().items()):
    if isinstance(action, types.FunctionType) and action.__module__ == "__main__" and name != "errors":
        action()
        print(name)
