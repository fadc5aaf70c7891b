"""Damaged files of a run: each is answered by an error of the package that names the file, a torn last line is left out.

Prints the number of cases, then one line for each that is answered otherwise.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rfa

SOUND = ROOT / "results" / "reference" / "error-sweep-quick"
JOURNAL, MANIFEST, TABLE = "records.jsonl", "manifest.json", "records.csv"
READ = {JOURNAL: lambda run: run.records, MANIFEST: lambda run: run.manifest, TABLE: lambda run: run.rows}

CASES = [
    ("another number", JOURNAL, lambda text: text.replace(b'"median":0.', b'"median":1.', 1)),
    ("bytes that are missing", JOURNAL, lambda text: text[:500] + text[600:]),
    ("a line without a checksum", JOURNAL, lambda text: text + b'{"key":"a"}\n'),
    ("a line without a key", JOURNAL, lambda text: text + b"{}\n"),
    ("a list", JOURNAL, lambda text: text + b"[1]\n"),
    ("a deep list", JOURNAL, lambda text: text + b"[" * 100_000 + b"\n"),
    ("bytes that are no text", JOURNAL, lambda text: b"\xff\xfe" + text),
    ("zeros", JOURNAL, lambda text: text + b"\0\0\n"),
    ("an empty line", JOURNAL, lambda text: b"\n" + text),
    ("half a manifest", MANIFEST, lambda text: text[: len(text) // 2]),
    ("a list as manifest", MANIFEST, lambda _: b"[]"),
    ("a deep manifest", MANIFEST, lambda _: b"[" * 100_000),
    ("a manifest that is no text", MANIFEST, lambda text: b"\xff" + text),
    ("a table that is no text", TABLE, lambda text: text[:100] + b"\xff" + text[100:]),
    ("a row that is too short", TABLE, lambda text: text.rstrip()[:-40] + b"\n"),
    ("a quote without end", TABLE, lambda text: text + b'"abc'),
]


def copy():
    place = Path(tempfile.mkdtemp(prefix="rfa-damaged-")) / "run"
    return Path(shutil.copytree(SOUND, place))


wrong = []
for name, file, damaged in CASES:
    folder = copy()
    (folder / file).write_bytes(damaged((folder / file).read_bytes()))
    try:
        READ[file](rfa.read(folder))
        wrong.append(f"{name}: taken")
    except rfa.Error as error:
        if file not in str(error):
            wrong.append(f"{name}: {error}")
    except Exception as error:
        wrong.append(f"{name}: {type(error).__name__}")
    shutil.rmtree(folder.parent)

#: What has no end, or waits for one who writes.
ENDLESS = [(kind, file) for kind in ("a pipe", "a device") for file in READ]
for kind, file in ENDLESS:
    folder = copy()
    (folder / file).unlink()
    if kind == "a pipe":
        os.mkfifo(folder / file)
    else:
        (folder / file).symlink_to("/dev/zero")
    signal.alarm(20)  # ends the script
    try:
        READ[file](rfa.Run(folder))
        wrong.append(f"{file}, {kind}: taken")
    except rfa.InputError as error:
        if str(error) != f"{folder.resolve() / file}: expected a file of a run, got no regular file [FILE_MISSING]":
            wrong.append(f"{file}, {kind}: {error}")
    signal.alarm(0)
    shutil.rmtree(folder.parent)

folder = copy()
whole = rfa.read(SOUND).records
(folder / JOURNAL).write_bytes((SOUND / JOURNAL).read_bytes()[:-20])
if rfa.read(folder).records != whole[:-1]:
    wrong.append("a torn line is not left out")
for file in READ:
    (folder / file).unlink()
try:
    rfa.Run(folder).rows
    wrong.append("a file that is not there: taken")
except rfa.InputError as error:
    if error.code != "FILE_MISSING" or "records.csv: expected a file of a run" not in str(error):
        wrong.append(f"a file that is not there: {error}")
shutil.rmtree(folder.parent)
print(len(CASES) + len(ENDLESS) + 2, *wrong, sep="\n")
