"""Check the limits on words: docs, docstrings, and names of modules. Prints each offence with its file and line."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VAGUE = re.compile(
    r"\b(who|whom|whoever|whose|that|those|it|its|they|them|which|what|one|ones|nobody|somebody|anybody|everybody)\b",
    re.IGNORECASE,
)
PERSONS = re.compile(r"\b(who|whom|whoever|whose|nobody|somebody|anybody|everybody)\b", re.IGNORECASE)
BANNED = frozenset(
    [
        "ahead",
        "alone",
        "apart",
        "asked",
        "blamed",
        "door",
        "faces",
        "given",
        "gone_over",
        "hearing",
        "nursery",
        "post",
        "said",
        "seats",
        "silent",
        "strays",
        "told",
        "twin",
        "whole",
    ]
)
"""Names that are participles, adverbs or metaphors."""
SHARED_NAMES = frozenset({"__init__", "__main__", "base", "setups"})
README_LINES = 100
_LEFT_OUT = ("|", "#", "!!!", "<", "---")
_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s")


@dataclass(frozen=True)
class Limits:
    """Largest figures of a group of texts."""

    words: int
    vague_of_100: float
    mean: float
    under_90: int


DOCS, DOCSTRINGS = Limits(28_000, 4.0, 16.0, 28), Limits(66_000, 4.5, 16.0, 28)
PERSONS_SHARE = 0.005
"""Largest share of docstrings with a word for persons."""


def prose_of(markdown: str) -> str:
    """Text of a page without code, tables, headings and targets of links."""
    text = re.sub(r"`[^`]*`", "X", re.sub(r"```.*?```", "", markdown, flags=re.DOTALL))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(_LEFT_OUT))


def docstrings_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string that stands as a statement."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def limit_excesses(name: str, text: str, limits: Limits) -> Iterator[str]:
    """One line for each figure of a text that is over its limit."""
    words = len(text.split())
    lengths = sorted(length for part in _END.split(text) if (length := len(part.split())) > 2) or [0]
    figures = (
        ("words", words, limits.words),
        ("vague pronouns in 100 words", 100 * len(VAGUE.findall(text)) / max(words, 1), limits.vague_of_100),
        ("words a sentence", sum(lengths) / len(lengths), limits.mean),
        ("words of the sentence that 90 % are shorter than", lengths[int(0.9 * (len(lengths) - 1))], limits.under_90),
    )
    for what, found, most in figures:
        if found > most:
            yield f"{name}: {found:.1f} {what}; at most {most:g}"


def module_names(files: list[Path]) -> Iterator[str]:
    """One line for each module whose name is banned or taken."""
    known: dict[str, Path] = {}
    for path in files:
        if path.stem in BANNED:
            yield f"{path}: the name is no noun of the field"
        if path.stem not in SHARED_NAMES and known.setdefault(path.stem, path) != path:
            yield f"{path}: has the name of {known[path.stem]}"


def offences(root: Path) -> list[str]:
    """All offences of a repository."""
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    texts = {page: prose_of(page.read_text(encoding="utf-8")) for page in pages}
    found = list(limit_excesses("docs", "\n".join(texts.values()), DOCS))
    if found:
        found += [f"{page}: {len(text.split())} words" for page, text in texts.items()]
    if (lines := len(pages[0].read_text(encoding="utf-8").splitlines())) > README_LINES:
        found.append(f"README.md: {lines} lines; at most {README_LINES}")
    files = [path for package in ("dardis", "offline") for path in sorted((root / package).rglob("*.py"))]
    strings = [(path, line, text) for path in files for line, text in docstrings_of(path)]
    found += limit_excesses("docstrings", "\n".join(text for *_, text in strings), DOCSTRINGS)
    persons = [
        f"{path}:{line}: {one[0]!r} in a docstring" for path, line, text in strings if (one := PERSONS.search(text))
    ]
    if len(persons) > PERSONS_SHARE * len(strings):
        found += persons
    return [*found, *module_names(files)]


def main() -> int:
    """Run the command; return 1 if there is an offence."""
    found = offences(Path())
    sys.stdout.write("\n".join([*found, f"{len(found)} offences", ""]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
