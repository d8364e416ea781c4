"""Says where a link of a Markdown page leads on the site, whose pages don't all come from docs/.

Links are written so that they lead somewhere in the repository; one that doesn't is left as it is, and MkDocs says so.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Final

MOVED_PAGES: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "launch/README.md": "clusters.md",
    "dardis/task_manager/README.md": "task_managers.md",
    "dardis/node_manager/README.md": "node_managers.md",
    "docs/notebook.ipynb": "notebook.md",
}
"""Pages that lie elsewhere in the repository, or are none yet, and what they are on the site."""

_SOURCES: Final = {page: source for source, page in MOVED_PAGES.items()}
_NEEDED: Final = re.compile(
    r"<(?:script|link|img|iframe|source|object|embed)\b[^>]*?\b(?:src|href|data)=[\"']?((?:https?:)?//[^\s\"'>]+)"
)
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^()\s]+)\)")


def rewrite_links(text: str, page: str, root: Path) -> str:
    """Answer the text of a page (named as on the site) with all its links as they are there."""
    source = _SOURCES.get(page, f"docs/{page}")

    def rewritten(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        path, mark, place = target.partition("#")
        if not path or ":" in path:
            return link[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        at_site = MOVED_PAGES.get(there) or (there.removeprefix("docs/") if there.startswith("docs/") else None)
        if at_site:
            return f"{picture}[{words}]({posixpath.relpath(at_site, posixpath.dirname(page) or '.')}{mark}{place})"
        # A file that no page of the site shows is only named.
        return words if (root / there).exists() else link[0]

    return _LINK.sub(rewritten, text)


def external_resources(page: str) -> list[str]:
    """Answer the addresses elsewhere from which a browser would load something to show this HTML; links are none."""
    return _NEEDED.findall(page)
