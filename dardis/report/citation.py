"""References in BibTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dardis import __version__
from dardis.model.files import read_text
from dardis.report.compare_table import in_latex

_PROJECT: Final = r"""@misc{dardis,
  author = {{The DARDIS authors}},
  title = {{DARDIS}: Distributed job scheduling for {HPC} machines, under power caps that change with the hour},
  note = {Software, version VERSION, Apache-2.0},
}
"""
_TESTS: Final = r"""@article{demsar2006,
  author = {Dem{\v{s}}ar, Janez},
  title = {Statistical Comparisons of Classifiers over Multiple Data Sets},
  journal = {Journal of Machine Learning Research},
  volume = {7},
  pages = {1--30},
  year = {2006},
}
"""
_FIELD: Final = re.compile(r";\s*(Acknowledge|Information|Installation):\s*(\S.*)")


def references(traces: Mapping[str, Path]) -> str:
    """BibTeX; traces by name."""
    known = filter(None, (_trace_entry(name, path) for name, path in traces.items()))
    return "\n".join([_PROJECT.replace("VERSION", __version__), _TESTS, *known])


def _trace_entry(name: str, path: Path) -> str:
    fields: dict[str, list[str]] = {}
    for line in read_text(path).splitlines():
        if not line.startswith(";"):
            break
        if (found := _FIELD.match(line)) is not None:
            fields.setdefault(found[1], []).append(in_latex(" ".join(found[2].split())))
    if not fields:
        return ""
    stated = {"author": "Acknowledge", "howpublished": "Information", "note": "Installation"}
    lines = [f"  {key} = {{{{{'; '.join(fields[field])}}}}}," for key, field in stated.items() if field in fields]
    key = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
    return "\n".join([f"@misc{{trace-{key},", f"  title = {{{{Workload trace {in_latex(name)}}}}},", *lines, "}", ""])
