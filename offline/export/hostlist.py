"""Sets of node names as Slurm writes them: `n[0-3,7],login1`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
"""Of a longer number the last digits are the node's; Slurm counts no further."""


def hostlist(names: Iterable[str]) -> str:
    """The names, each once, numbers in ranges; leading zeros are kept."""
    alone: list[str] = []
    numbers: dict[tuple[str, int], set[int]] = {}
    for name in set(names):
        found = _NUMBERED.fullmatch(name)
        if found is None:
            alone.append(name)
            continue
        prefix, digits = found.groups()
        width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        numbers.setdefault((prefix, width), set()).add(int(digits))
    for prefix, width in sorted(numbers):
        # 10 belongs to 08 and 09 where these are written with two digits.
        if width and (plain := numbers.get((prefix, 0))):
            same = {number for number in plain if len(str(number)) == width}
            numbers[prefix, width] |= same
            plain -= same
    parts = [_ranges(prefix, width, sorted(found)) for (prefix, width), found in sorted(numbers.items()) if found]
    return ",".join(parts + sorted(alone))


def _ranges(prefix: str, width: int, numbers: list[int]) -> str:
    """`prefix[0-3,7]`, or `prefix7` for a single number."""
    starts = [n for n in numbers if n - 1 not in set(numbers)]
    ends = [n for n in numbers if n + 1 not in set(numbers)]
    texts = [f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in zip(starts, ends, strict=True)]
    return prefix + (texts[0] if len(numbers) == 1 else f"[{','.join(texts)}]")
