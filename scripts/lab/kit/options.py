"""The options that experiments have in common, and the kinds of values that they take."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from dardis.model.numbers import decimal_number, whole_number
from scripts.lab.kit.command import ROOT, SHARED


def parser_of(
    name: str, about: str | None, *needs: str, data: bool = False, processes: int | None = 1, limit: str = ""
) -> argparse.ArgumentParser:
    """A parser with --out, --processes, and a folder of the files that are needed.

    `processes` are usual; None: one a core, 0: no such option. The folder is --traces, or with `data` --data, which
    holds traces, weather and prices; "" needs the folder alone. `limit` says what --limit does.
    """
    parser = argparse.ArgumentParser(prog=f"scripts/lab/run {name}", description=about, allow_abbrev=False)
    parser.set_defaults(needs=needs, folder="data" if data else "traces")
    if data:
        parser.add_argument(
            "--data", type=Path, default=SHARED, help="folder of traces, weather and prices (../shared)"
        )
    elif needs:
        told = f"folder of {' and '.join(needs)}" if all(needs) else "folder of the traces"
        parser.add_argument("--traces", type=Path, default=SHARED / "traces", help=told)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / name, help=f"folder (out/{name})")
    if processes != 0:
        usual = "one a core" if processes is None else processes
        parser.add_argument("--processes", type=count, default=processes, help=f"runs at once ({usual})")
    if limit:
        told = f"{limit} after S s; the same command goes on"
        parser.add_argument("--limit", type=decimal(lambda s: s >= 0, "seconds from 0"), metavar="S", help=told)
    return parser


def prepared(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.Namespace:
    """See that the files are there that are needed, and make the folder of the results; paths become absolute."""
    if options.needs or options.folder == "data":
        folder: Path = getattr(options, options.folder)
        for name in options.needs:
            if not (folder / name).exists():
                what = f"holds no {name}" if name else "no such folder"
                parser.error(f"{folder}: {what}; --{options.folder} names the folder that does")
        setattr(options, options.folder, folder.resolve())
    options.out = options.out.resolve()
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {options.out}: cannot be made ({error.strerror}); expected a folder, or a place for one")
    return options


def count(text: str) -> int:
    """A whole number from 1."""
    return _whole(text, text, "a whole number from 1")


def counts(text: str) -> list[int]:
    """Whole numbers from 1, each once."""
    expected = "whole numbers from 1 with commas between, each once"
    numbers = [_whole(word, text, expected) for word in text.split(",")]
    if len({*numbers}) < len(numbers):
        raise option_error(text, expected)
    return numbers


def some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Some of these words, each once."""

    def words(text: str) -> list[str]:
        found = text.split(",")
        if not {*found} <= {*known} or len({*found}) < len(found):
            raise option_error(text, f"some of {','.join(known)}, each once")
        return found

    return words


def decimal(fits: Callable[[float], bool], expected: str) -> Callable[[str], float]:
    """A number that fits."""

    def number(text: str) -> float:
        try:
            found = decimal_number(text)
        except ValueError:
            raise option_error(text, expected) from None
        if not fits(found):
            raise option_error(text, expected)
        return found

    return number


def _whole(word: str, text: str, expected: str) -> int:
    """A word of an option's text."""
    try:
        return whole_number(word, 1)
    except ValueError:
        raise option_error(text, expected) from None


def option_error(text: str, expected: str) -> argparse.ArgumentTypeError:
    """What is wrong with the text of an option."""
    return argparse.ArgumentTypeError(f"{text!r}; expected {expected}")
