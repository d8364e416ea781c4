"""Words of the glossary that a page uses: each links to its meaning in the list at the end of that page."""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

from dardis.report.glossary import GLOSSARY

_INFLECTED: Final = {"waits": "wait", "slowdowns": "slowdown", "bounded slowdowns": "bounded slowdown",
                     "decision": "decisions", "renegotiations a job": "renegotiations"}  # fmt: skip
_FOUND: Final = re.compile(
    r"\b(" + "|".join(re.escape(word) for word in sorted([*GLOSSARY, *_INFLECTED], key=len, reverse=True)) + r")\b",
    re.IGNORECASE,
)


class LinkedWords:
    """The words that a page has used so far."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def linked(self, text: str) -> Markup:
        """Text for a page in which words link to their definitions."""
        pieces = _FOUND.split(str(text))
        return Markup("").join(self._link(piece) if place % 2 else piece for place, piece in enumerate(pieces))

    def _link(self, said: str) -> Markup:
        word = _INFLECTED.get(said.lower(), said.lower())
        self._used.add(word)
        return Markup('<a class="word" href="#{}">{}</a>').format(anchor(word), said)

    def used(self) -> list[tuple[str, str, str]]:
        """Anchor, word and meaning of all that the page links to so far, by the alphabet."""
        return [(anchor(word), word, GLOSSARY[word].text) for word in sorted(self._used)]


def anchor(word: str) -> str:
    """Where a word's definition stands in its page."""
    return "def-" + str(escape(word.lower().replace(" ", "-")))
