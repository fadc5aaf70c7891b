"""Results: the folder of a run with its records, its table and its page."""

from __future__ import annotations

import csv
import html
import importlib
import io
import json
import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from ._errors import InputError
from ._files import read_bytes
from ._journal import newest, parsed
from ._process import run_text

#: A path as text or as an object.
Place: TypeAlias = str | os.PathLike[str]


class Run:
    """A run folder. `print(run)` shows what `rfa report` prints first; a notebook shows it with its figure.

    Attributes:
        path: the folder.
        document: what the command returned as JSON; empty for a folder that was read.
    """

    def __init__(self, path: Place, document: dict[str, Any] | None = None) -> None:
        self.path = Path(path).resolve()
        self.document: dict[str, Any] = document or {}

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The plan with all settings, the machine, the commit and the command.

        Raises:
            InputError: for a file that is not there or damaged, as with `records` and `rows`.
        """
        place = self.path / "manifest.json"
        return parsed(_bytes(place), str(place))

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """One record for each cell, a combination of settings; of a cell that ran again the newest."""
        place = self.path / "records.jsonl"
        return newest(_bytes(place), str(place), self.manifest.get("line_checksum") is not None)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """`records.csv` with numbers, truth values and `None` in place of text."""
        place = self.path / "records.csv"
        table = _bytes(place)
        try:
            rows = list(csv.DictReader(io.StringIO(table.decode(), newline=""), strict=True))
        except (ValueError, csv.Error) as error:
            raise InputError(f"{place}: expected a table as CSV, got {error}", [_REPORT]) from None
        if any(None in row or None in row.values() for row in rows):
            raise InputError(f"{place}: expected rows as long as the first, got others", [_REPORT])
        readers = {name: _reader([row[name] for row in rows]) for name in (rows[0] if rows else ())}
        return [{name: None if text == "" else readers[name](text) for name, text in row.items()} for row in rows]

    @property
    def table(self) -> Any:
        """The rows as a DataFrame of pandas, else of Polars, else as they are: a list of dicts."""
        for name in ("pandas", "polars"):
            try:
                frames: Any = importlib.import_module(name)
            except ImportError:
                continue
            columns = list(self.rows[0]) if self.rows else []
            return frames.DataFrame({column: [row[column] for row in self.rows] for column in columns})
        return self.rows

    def html(self, path: Place | None = None) -> Path:
        """Writes one page with every table and figure, which needs no network. Default: `report.html` in the folder."""
        place = Path(path) if path is not None else self.path / "report.html"
        run_text(["report", str(self.path), "--html", str(place), "--quiet"])
        return place

    @cached_property
    def _shown(self) -> tuple[str, str]:
        """The first screen of `rfa report`, and the figure of its first table with its title, as HTML."""
        with tempfile.TemporaryDirectory(prefix="rfa-") as folder:
            text = run_text(["report", str(self.path), "--svg", folder, "--quiet"], Path(folder))
            listed = Path(folder) / "figures.json"
            if not listed.exists():
                return text, ""
            figures = json.loads(listed.read_text(encoding="utf-8"))["figures"]  # in the order of the report
            first = next((figure for figure in figures if "-over-" in figure["name"]), figures[0])
            drawn = (Path(folder) / f"{first['name']}.svg").read_text(encoding="utf-8")
            title = html.escape(first["title"])
            return text, f"<figure><figcaption>{title}</figcaption>{drawn}</figure>"

    def __str__(self) -> str:
        return self._shown[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _repr_html_(self) -> str:
        text, figure = self._shown
        return f"<pre>{html.escape(text)}</pre>{figure}"


class Advice(Run):
    """What `rfa advise` found: `document` has the candidates of each layer and head."""

    @property
    def runs(self) -> dict[str, Run]:
        """The runs that the advice rests on, by their names: `error`, `time`, and `norms` where it took one."""
        return {place.parent.name: Run(place.parent) for place in sorted(self.path.glob("*/manifest.json"))}


class Comparison:
    """What run B has over run A: `rows` of ratios with their intervals, and whether they differ."""

    def __init__(self, document: dict[str, Any], text: str) -> None:
        self.document = document
        self._text = text

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each quantity and combination of settings."""
        return self.document["rows"]

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


def read(path: Place) -> Run:
    """A run that was saved, by any program.

    Raises:
        InputError: for a folder that is not one of a run.
    """
    place = Path(path)
    if (place / "advise.json").exists() or (place / "model-advice.json").exists():
        return Advice(place)
    if not (place / "manifest.json").exists():
        tries = [f"one of its folders: {each.parent.name}" for each in sorted(place.glob("*/manifest.json"))[:1]]
        raise InputError(f"{place}: expected a folder with manifest.json", tries, "FILE_MISSING")
    return Run(place)


_REPORT = "repeat the command of the run with --resume: it writes the file again"


def _bytes(place: Path) -> bytes:
    try:
        return read_bytes(place)
    except OSError as error:
        raise InputError(f"{place}: expected a file of a run, got {error.strerror}", code="FILE_MISSING") from None


def _reader(texts: list[str]) -> Any:
    """What reads all texts of a column that are not empty."""
    present = [text for text in texts if text != ""]
    for read_one in (_truth, int, float):
        try:
            for text in present:
                read_one(text)
        except ValueError:
            continue
        return read_one
    return str


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"
