"""Queries, keys and values of a model of Transformers while it reads texts, as a file that rfa measures.

    $ python -m rfa.export --model ./all-MiniLM-L6-v2 --texts texts.txt
    $ rfa error-sweep --input all-MiniLM-L6-v2.safetensors --layer 0,3 --quick

The file has all layers, with the output matrix and the size of the residual stream where they are found (`rfa_export`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ._errors import ArgumentTypeError, Error, InputError, ProgramMissingError, UsageError
from ._files import read_text

#: Texts that are read where nothing else is said: one batch, in one call of the model.
MAX_TEXTS, MAX_TOKENS = 8, 512


def export(
    model: Any,
    texts: Sequence[str] | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    max_texts: int = MAX_TEXTS,
    max_tokens: int = MAX_TOKENS,
    separate: bool = False,
    force: bool = False,
) -> list[Path]:
    """Runs a model once on texts, and writes what its attention computes with.

    Args:
        model: a folder as Hugging Face writes it, or a loaded model of Transformers.
        texts: texts; or a file with one text a line, or a folder of .txt files, as `rfa swap` takes them.
        path: the file to write; with `separate` a folder.
        tokenizer: of a loaded model. Default: that of the folder.
        layers: numbers of layers. Default: all.
        heads: numbers of query heads. Default: all.
        max_texts: the first texts that are read, in one batch.
        max_tokens: of each text; shorter ones are padded at their end.
        separate: writes one file for each layer, in place of earlier ones.
        force: replaces a file that is there.

    Returns:
        The files.

    Raises:
        UsageError: for a loaded model without a tokenizer, numbers below 1, and a file that is there.
        InputError: for texts or a model that cannot be read, and attention that a file cannot hold.
    """
    for name, value in (("max_texts", max_texts), ("max_tokens", max_tokens)):
        if value < 1:
            raise UsageError(f"{name}: expected at least 1, got {value}", code="BAD_OPTION")
    place = Path(path)
    if place.exists() and not (separate or force):
        raise present(place)
    read = read_texts(texts)[:max_texts]
    try:
        import torch

        import rfa_export
    except ImportError as error:
        raise _missing("PyTorch and NumPy", error) from None
    loaded, reader = _loaded(model, tokenizer)
    inputs = _tokens(loaded, reader, read, max_tokens)
    with ExitStack() as stack:
        folder = place if separate else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rfa-")))
        try:
            with (
                rfa_export.capture(
                    loaded, folder, layers=layers, heads=heads, one_file=not separate, origin=f"{len(read)} texts"
                ) as found,
                torch.no_grad(),
            ):
                loaded(**inputs)
        except rfa_export.ExportError as error:
            raise InputError(str(error), code="UNSUPPORTED") from None
        if separate:
            return [Path(file) for file in found.files]
        create(place, Path(found.files[0]).read_bytes(), force)
        return [place]


def create(place: Path, content: bytes, force: bool) -> None:
    """Writes a file, or none of it; of two processes at once only one makes it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    with ExitStack() as undone:
        undone.callback(part.unlink, missing_ok=True)
        part.write_bytes(content)
        if not force:
            try:
                place.touch(exist_ok=False)
            except FileExistsError:
                raise present(place) from None
        part.replace(place)


def present(place: Path) -> UsageError:
    tries = ["name another file", "or replace it: force=True, or --force"]
    return UsageError(f"output: expected a new file, got {place}, which exists", tries, code="WOULD_OVERWRITE")


def read_texts(texts: Sequence[str] | str | os.PathLike[str]) -> list[str]:
    """Texts that are not empty."""
    if isinstance(texts, (str, os.PathLike)):
        place = Path(texts)
        try:
            files = sorted(place.glob("*.txt")) if place.is_dir() else []
            found = [read_text(file) for file in files] or read_text(place).split("\n")
        except (OSError, UnicodeDecodeError) as error:
            tries = ["a list of texts, a file with one text a line, or a folder of .txt files"]
            raise InputError(f"texts: expected texts in {place}, got {error}", tries, "FILE_MISSING") from None
    else:
        found = list(texts)
        others = [text for text in found if not isinstance(text, str)]  # pyright: ignore[reportUnnecessaryIsInstance]
        if others:
            raise ArgumentTypeError(f"texts: expected texts, got {type(others[0]).__name__}")
    filled = [text for text in found if text.strip()]
    if not filled:
        raise InputError("texts: expected at least one text, got none")
    return filled


def _loaded(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """The model in eval mode, and its tokenizer."""
    if not isinstance(model, (str, os.PathLike)):
        if tokenizer is None:
            raise UsageError("tokenizer: expected the tokenizer of the loaded model, got None")
        return model.eval(), tokenizer
    folder = Path(os.fspath(model))
    if not (folder / "config.json").exists():
        raise InputError(f"model: expected a folder with config.json, got {folder}", code="FILE_MISSING")
    for each in folder.iterdir():
        if each.exists() and not (each.is_file() or each.is_dir()):
            raise InputError(f"model: expected a folder of files, got {each}, which is no regular file")
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise _missing("Transformers", error) from None
    try:
        loaded: Any = AutoModel.from_pretrained(folder, local_files_only=True)
        return loaded.eval(), tokenizer or AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise InputError(f"model: expected a model that Transformers loads in {folder}, got {error}") from None


def _tokens(model: Any, tokenizer: Any, texts: list[str], max_tokens: int) -> dict[str, Any]:
    """One batch, padded behind the texts: queries before the first token of a causal model would see no key."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    options = {"padding": len(texts) > 1, "padding_side": "right", "truncation": True, "max_length": max_tokens}
    read = tokenizer(texts, return_tensors="pt", **options)
    return {name: tensor.to(model.device) for name, tensor in read.items()}


def _missing(what: str, error: ImportError) -> ProgramMissingError:
    return ProgramMissingError(f"rfa.export: expected {what}, got {error}", ["pip install torch numpy transformers"])


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rfa.export`."""
    parser = argparse.ArgumentParser(prog="python -m rfa.export", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", required=True, help="folder as Hugging Face writes it")
    parser.add_argument("--texts", required=True, help="file with one text a line, or folder of .txt files")
    parser.add_argument("--output", help="file (default: the name of the model with .safetensors), or folder")
    parser.add_argument("--layers", type=_numbers, help="numbers of layers, 0,3 (default: all)")
    parser.add_argument("--heads", type=_numbers, help="numbers of query heads (default: all)")
    parser.add_argument("--max-texts", type=int, default=MAX_TEXTS, help=f"texts that are read (default: {MAX_TEXTS})")
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS, help=f"of each text (default: {MAX_TOKENS})")
    parser.add_argument("--separate", action="store_true", help="one file for each layer, in the folder of --output")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    given = vars(parser.parse_args(argv))
    name = Path(given["model"]).resolve().name
    output = given.pop("output") or (name if given["separate"] else f"{name}.safetensors")
    try:
        files = export(path=output, **given)
    except Error as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 3
    print(*files, sep="\n")
    print(f"next: rfa error-sweep --input {','.join(map(str, files))} --quick", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
