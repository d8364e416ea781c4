"""Turns a notebook into a page: its texts, its code, and what it printed and drew when it was saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def page_of(notebook: Path) -> str:
    """Answer the page, as Markdown, and where to find the notebook itself."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    first, *others = ["\n".join(_lines(cell)) for cell in cells]
    return "\n\n".join([first, f"(This page is [a notebook]({notebook.name}), to be run and changed.)", *others, ""])


def _lines(cell: dict[str, Any]) -> list[str]:
    """Answer a cell's lines."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    lines = _fenced(source, "python")
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "image/png" in data:
            lines.append(f"![](data:image/png;base64,{''.join(data['image/png'].split())})")
        elif printed := "".join(data.get("text/plain", output.get("text", []))).strip("\n"):
            lines += _fenced(printed, "text")
    return lines


def _fenced(text: str, language: str) -> list[str]:
    return [f"```{language}", text, "```", ""]
