"""Output files appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file that takes the place of `path` when the block ends, and vanishes when it fails.

    Lines end as they are written (LF). Raises OSError as `open` does.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
