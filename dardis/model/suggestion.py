"""What a mistyped word may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def meant(word: str, known: Iterable[str]) -> str:
    """For a message, ` (did you mean X?)` with the known word that is most like it; nothing where none is."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""
