"""Folder for a paper; SHA256SUMS lists files that a repetition reproduces."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import dardis
from dardis.config.comparison_spec import CompareSpec, ComparisonRequest
from dardis.config.comparison_text import comparison_text, files_of
from dardis.config.platform_text import rename_files
from dardis.metrics.catalogue import metric_of
from dardis.metrics.comparison_rows import ComparisonData, result_rows
from dardis.metrics.comparison_tables import DIFFERENCES, tables_of
from dardis.metrics.rank_tests import MetricTests, metric_tests, rank_tables
from dardis.model.errors import InputError
from dardis.model.files import Read, sha256_of, write_json, write_text
from dardis.model.out_folder import PAPER_FOLDER
from dardis.registry import dispatcher_origin, is_local
from dardis.report import chart, compare_table
from dardis.report.chart import Chart, ChartFormat, charts_by_name, write_charts
from dardis.report.citation import references
from dardis.report.significance import critical_differences, effects_table

_INPUTS: Final = "inputs"
_TESTED: Final = tuple(key for key in compare_table.BRIEF if key != "rejected")
_LIBRARIES: Final = ("matplotlib", "numba", "numpy", "ortools", "scikit-learn", "scipy")
_REPRODUCE: Final = """#!/bin/sh
# Repeats the comparison in DIR (default: again, in this folder) and checks that all files in SHA256SUMS are equal.
# Usage: reproduce [DIR]. DARDIS is the command to run (default: dardis).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=${{1:-$here/again}}
(cd "$here" && sha256sum --check --quiet SHA256SUMS)
${{DARDIS:-dardis}} compare "$here/comparison.toml" --out "$out" --paper "$out/paper"{options}
cd "$out/paper" && sha256sum --check --quiet "$here/SHA256SUMS" && echo "all tables and figures are equal"
"""


def check_paper(paper: Path, asked: ComparisonRequest, out: Path) -> None:
    """Refuse what cannot be repeated. Raises InputError."""
    place = f"--paper {paper}"
    if out.resolve().is_relative_to(paper.resolve()):
        raise InputError(place, "is the folder of --out, or has it inside", "another folder")
    for one in asked.contenders:
        if is_local(one.dispatcher):
            raise InputError(place, f"{one.label} is a class of this process", "classes of a module")
    for path in (path for workload in asked.workloads for path in files_of(workload)):
        if path.exists() and not path.is_file():
            raise InputError(place, f"{path} is no regular file", "files that can be copied")
    if paper.exists():
        with PAPER_FOLDER.lock(paper, force=True):
            pass


def write_paper(
    asked: ComparisonRequest, spec: CompareSpec, compared: ComparisonData, charts: Mapping[str, Sequence[Chart]]
) -> None:  # fmt: skip
    """Write or replace `spec.paper`. Raises InputError and OSError."""
    assert spec.paper is not None
    lines = result_rows(compared.results)
    table = compare_table.paper_table(lines, compared.notes)
    tests = [metric_tests(lines, key) for key in _TESTED if any(line.figure(key) for line in lines)]
    with chart.style():
        ranked = {"": [one for test in tests if (one := critical_differences(test)) is not None]}
    drawn = {**ranked, **charts}
    with PAPER_FOLDER.lock(spec.paper, force=True), PAPER_FOLDER.replace_files(spec.paper) as part:
        names = _copy_inputs(asked, part / _INPUTS)
        write_text(part / "comparison.toml", comparison_text(asked, names))
        write_text(part / "table.tex", compare_table.latex(table))
        differences = [one for one in tables_of(compared) if one.table is DIFFERENCES]
        for filled in (*differences, *rank_tables(tests)):
            filled.write(part)
        if any(test.pairs for test in tests):
            write_text(part / "effects.tex", effects_table(tests))
        write_charts(part, drawn, ChartFormat.PDF)
        write_text(part / "SHA256SUMS", "".join(_sums(part)))
        traces = {workload.name: part / names[workload.trace] for workload in asked.workloads}
        write_text(part / "references.bib", references(traces))
        write_text(part / "README.md", _readme(tests, table.notes, charts_by_name(drawn, ChartFormat.PDF)))
        write_text(part / "reproduce", _REPRODUCE.format(options=_options(spec)))
        (part / "reproduce").chmod(0o755)
        write_json(part / "paper.json", _versions(asked))


def _options(spec: CompareSpec) -> str:
    gantt = "" if spec.gantt is None else f" --gantt {shlex.quote(spec.gantt)}"
    return f"{gantt}{' --clairvoyant' if spec.clairvoyant else ''}"


def _copy_inputs(asked: ComparisonRequest, folder: Path) -> dict[Path, str]:
    folder.mkdir()
    platforms = {workload.platform for workload in asked.workloads}

    def content(path: Path) -> bytes:
        return rename_files(path, lambda name: _store(folder, path.parent / name))

    files = dict.fromkeys(path for workload in asked.workloads for path in files_of(workload))
    return {
        path: f"{_INPUTS}/{_store(folder, path, content if path in platforms else Path.read_bytes)}" for path in files
    }


def _store(folder: Path, path: Path, read: Read = Path.read_bytes) -> str:
    content, count = read(path), 1
    target = folder / path.name
    while target.exists() and target.read_bytes() != content:
        count += 1
        target = folder / f"{count}-{path.name}"
    target.write_bytes(content)
    return target.name


def _sums(part: Path) -> Iterator[str]:
    for path in sorted(path for path in part.rglob("*") if path.is_file()):
        yield f"{sha256_of(path)}  {path.relative_to(part).as_posix()}\n"


def _versions(asked: ComparisonRequest) -> dict[str, Any]:
    found = {one.dispatcher: dispatcher_origin(one.dispatcher).get("dispatcher_of") for one in asked.contenders}
    return {
        "dardis": dardis.__version__,
        "git_commit": _commit(),
        "code_sha256": _code_digest(),
        "dispatchers": {name: origin for name, origin in found.items() if origin},
        "python": sys.version.split()[0],
        "libraries": {name: _version(name) for name in _LIBRARIES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


_CODE: Final = Path(dardis.__file__).parent


def _code_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(_CODE.rglob("*.py")):
        digest.update(f"{path.relative_to(_CODE).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _commit() -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    # Another project's repository may hold the installed package.
    for command in (
        ["ls-files", "--error-unmatch", "__init__.py"],
        ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
    ):
        done = subprocess.run([git, "-C", _CODE, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            return None
    return done.stdout.strip()


def _readme(tests: Sequence[MetricTests], notes: Sequence[str], figures: Mapping[str, Chart]) -> str:
    in_markdown = compare_table.in_markdown
    remarks, captions = defaultdict(list), defaultdict(list)
    for note, key in ((note, test.key) for test in tests for note in test.notes):
        remarks[in_markdown(note)].append(metric_of(key).heading)
    for name, one in figures.items():
        captions[in_markdown(one.caption)].append(f"`{name}`")
    return "\n".join(
        [
            _HEAD,
            "## Table",
            "",
            *(f"* {in_markdown(note)}" for note in notes),
            "",
            "## Tests",
            "",
            _TEXT_OF_TESTS,
            *(f"* {', '.join(headings)}: {note}" for note, headings in remarks.items()),
            *([] if remarks else ["* All tests were possible."]),
            "",
            "## Figures",
            "",
            *(f"* {names[0]}{_others(names)}: {caption}" for caption, names in captions.items()),
            "",
        ]
    )


def _others(names: Sequence[str]) -> str:
    return f" and {len(names) - 1} like it" if len(names) > 1 else ""


_HEAD: Final = """# A comparison of dispatchers

`./reproduce [DIR]` repeats everything in DIR (default: `again`) and checks that tables and figures are equal to these.
It needs the version of DARDIS in `paper.json` (`DARDIS=/path/to/dardis ./reproduce` if it is not on the PATH), and the
modules of dispatchers that are not built in: they are not copied. Put them into the folder in which you start it.

| file | content |
| --- | --- |
| `comparison.toml`, `inputs/` | the comparison, and copies of its files. Check that you may publish them |
| `table.tex` | main metrics, to include with `\\input` (packages booktabs and graphicx) |
| `effects.tex`, `pairs.csv` | paired tests and effects; missing without tests |
| `ranks.csv` | mean ranks and critical differences |
| `differences.csv` | with replicates: paired differences to the first dispatcher |
| `charts/` | figures as PDF with embedded fonts |
| `references.bib` | citation of DARDIS, of the tests, and of traces whose headers state a source |
| `paper.json` | version, commit and digest of the code; versions of libraries |
| `SHA256SUMS` | digests of inputs and results (`sha256sum --check SHA256SUMS`) |
"""
_TEXT_OF_TESTS: Final = """\
A case is a trace, a draw of it (with replicates), and a seed if every schedule depends on the seed. Friedman's test
compares the mean ranks of all dispatchers, and Nemenyi's critical difference (5 %) those of two. Wilcoxon's signed-rank
test compares pairs, with Holm's correction for the pairs of a metric. The effect is the matched-pairs rank-biserial
correlation. The tests take cases as independent. Cases of one trace are alike, so they tell only about that trace.
"""
