"""Draws the diagrams of the docs while the site is made, so that pages load no program for them."""

from __future__ import annotations

import hashlib

import mermaidx
from pymdownx.superfences import SuperFencesException


def drawn(source: str, _language: str, css_class: str, _options: object, _markdown: object, **_: object) -> str:
    """Answer a figure with a picture of Mermaid's source; a mistake in it ends the building of the site."""
    try:
        picture: str = mermaidx.render(source).svg()
    except RuntimeError as error:
        # Anything else is taken as "no fence of mine", and the source would be shown.
        raise SuperFencesException(f"a diagram that can't be drawn: {error}\n{source}") from error
    # Its styles name it, and a page may have several.
    name = "diagram-" + hashlib.sha256(source.encode()).hexdigest()[:8]
    return f'<figure class="{css_class}">{picture.replace("my-svg", name)}</figure>'
