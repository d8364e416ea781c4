"""Comparison table: units in headings, mean ± deviation, best marked."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from dardis.metrics.catalogue import OF_POWER, OF_QUEUES, metric_of
from dardis.metrics.comparison_rows import (
    KEYS,
    OF_DEADLINES,
    OF_DECIDING,
    Figure,
    ResultRow,
    best_labels,
    by_trace,
    can_rank,
    first_of,
    has_equal_rejections,
    is_comparable,
)
from dardis.report.words import NOTHING, draws

CHANCE: Final = "°"
"""Marks a possibly random difference to the first."""
BRIEF: Final = ("mean_wait_s", "mean_bounded_slowdown", "max_wait_s", "utilisation", "profit_eur", "rejected")
_UNITS: Final = {
    "share": ("%", 0.01), "currency": ("", 1.0), "kWh": ("kWh", 1.0), "kW": ("kW", 1.0),
    "amount · s": ("core·h", 3600.0),
}  # fmt: skip
_TIMES: Final = ((2 * 3600, 3600, "h"), (120, 60, "min"), (1, 1, "s"), (0, 1e-3, "ms"))
_LATEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", CHANCE: r"$^{\circ}$", "·": r"$\cdot$", NOTHING: "--",
}  # fmt: skip
_MINUS: Final = re.compile(r"-(?=\d)")
_MARKDOWN: Final = re.compile(r"([\\`*_|<>\[\]])")


class Cell(NamedTuple):
    """Cell; `best`: best mean of its column and trace."""

    mean: str
    deviation: str = ""
    best: bool = False
    chance: bool = False
    """Whether the difference may be random."""

    @property
    def text(self) -> str:
        """Cell on one line."""
        told = f"{self.mean} ± {self.deviation}" if self.deviation else self.mean
        return f"{told} {CHANCE}" if self.chance else told


@dataclass(frozen=True)
class ComparisonTable:
    """Title and unit per column; trace, dispatcher, runs and cells per row."""

    columns: list[tuple[str, str]]
    rows: list[tuple[str, str, str, list[Cell]]]
    notes: list[str]
    """Remarks, omitted figures, failures."""


def full_table(lines: Sequence[ResultRow], more: Sequence[str] = ()) -> ComparisonTable:
    """Table of all rows; omits and lists metrics that are 0 or undefined."""
    told = [key for key in KEYS if any((figure := line.figure(key)) and figure.mean for line in lines)]
    known = {key for line in lines for run in line.done for key in run.metrics or {}}
    left_out = [
        metric_of(key).heading for key in KEYS if key not in told and (key in known or key not in OF_POWER | OF_QUEUES)
    ]
    return _table(lines, told, [*_notes(lines, told, left_out), *more])


def brief_table(lines: Sequence[ResultRow]) -> ComparisonTable:
    """Table of main metrics."""
    told = [key for key in BRIEF if key not in OF_POWER or any(line.figure(key) for line in lines)]
    return _table(lines, told, [*_rejection_lines(lines), *_rejection_notes(lines)])


def paper_table(lines: Sequence[ResultRow], more: Sequence[str]) -> ComparisonTable:
    """Main metrics, with remarks."""
    told = [key for key in BRIEF if any((figure := line.figure(key)) and figure.mean for line in lines)]
    return _table(lines, told, [*_notes(lines, told, []), *_rejection_lines(lines), *more])


def _table(lines: Sequence[ResultRow], told: Collection[str], notes: list[str]) -> ComparisonTable:
    of_line = {key: [line.figure(key) for line in lines] for key in told}
    most = {key: max((figure.mean for figure in of_line[key] if figure), default=0.0) for key in told}
    # One unit for all waits eases comparison.
    most |= {key: most["mean_wait_s"] for key in most if key.endswith("_wait_s") and "mean_wait_s" in most}
    units = {key: _unit(key, most[key]) for key in told}
    leaders = {trace: {key: best_labels(group, key) for key in told} for trace, group in by_trace(lines).items()}
    tested = {trace: {key for key in told if can_rank(group, key)} for trace, group in by_trace(lines).items()}
    firsts = {trace: first_of(group) for trace, group in by_trace(lines).items()}
    rows = []
    for place, line in enumerate(lines):
        cells = [
            _cell(
                of_line[key][place], units[key][1], best=line.label in leaders[line.trace][key],
                chance=key in tested[line.trace] and _may_be_chance(line, firsts[line.trace], key),
            )
            for key in told
        ]  # fmt: skip
        rows.append((line.trace, line.label, _runs(line), cells))
    return ComparisonTable([(metric_of(key).heading, units[key][0]) for key in told], rows, notes)


def _may_be_chance(line: ResultRow, first: ResultRow | None, key: str) -> bool:
    found = line.compare_with(first, key) if first is not None and line is not first else None
    return found is not None and found.may_be_chance


def _notes(lines: Sequence[ResultRow], told: Collection[str], left_out: list[str]) -> Iterator[str]:
    runs = [run for line in lines for run in (*line.done, *line.failed) if not run.is_recorded]
    seeds, drawn = list(dict.fromkeys(run.seed for run in runs)), {run.draw for run in runs if run.draw}
    several = ", ".join(map(str, seeds))
    if drawn:
        over = draws(f"{len(drawn)}", {run.weeks for run in runs})
        over += f", each the mean of the seeds {several}" if len(seeds) > 1 else ""
        yield f"Mean ± standard deviation (sample) over {over}. Bold: best mean of a trace, unless it may be chance."
        yield (
            f"{CHANCE}: the difference to the first dispatcher on the same draws may be chance (the 95 % interval "
            "of the paired difference contains 0); differences.csv lists all."
        )
    else:
        spread = (
            f"Mean ± standard deviation (sample) over the seeds {several}." if len(seeds) > 1 else f"Seed {several}."
        )
        yield f"{spread} Bold: the best mean of a trace."
    if left_out:
        yield f"Left out, since 0 or undefined for all: {', '.join(left_out)}."
    groups = by_trace(lines)
    rules: dict[str, list[str]] = {}
    for trace, group in groups.items():
        if not all(is_comparable(group, key) for key in OF_DEADLINES.intersection(told)):
            own = {line.label: line.done[0].deadlines for line in group if line.done and not line.is_recorded}
            rules.setdefault(", ".join(f"{label} {rule}" for label, rule in own.items()), []).append(trace)
    for own_rules, traces in rules.items():
        yield (
            f"Without --deadlines, each dispatcher has its own deadlines on {_listed(traces)} ({own_rules}). "
            "Late jobs, tardiness and dissimilarity are not comparable there, so no best value is "
            "marked, and charts omit them."
        )
    unlike = [
        trace
        for trace, group in groups.items()
        if not all(is_comparable(group, key) for key in OF_DECIDING.intersection(told))
    ]
    if unlike:
        yield (
            f"{_listed(unlike)} has central and distributed dispatchers. Their CPU time per decision is not "
            "comparable, and central ones do not renegotiate, so no best value is marked for either."
        )
    yield from _rejection_notes(lines)
    for line in lines:
        for run in line.failed:
            yield f"Failed: {line.trace}, {line.label}, {run.drawn_by}: {run.error}"


def _rejection_notes(lines: Sequence[ResultRow]) -> Iterator[str]:
    traces = [trace for trace, group in by_trace(lines).items() if not has_equal_rejections(group)]
    if traces:
        yield (
            f"The dispatchers rejected different numbers of jobs of {_listed(traces)}, so their figures cover "
            "different jobs: no best value is marked, and no differences are shown."
        )


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _rejection_lines(lines: Sequence[ResultRow]) -> Iterator[str]:
    for line in lines:
        counts = [int((run.metrics or {}).get("rejected") or 0) for run in line.done]
        if any(counts):
            least, most = min(counts), max(counts)
            told = f"{most:,}" if least == most else f"{least:,} to {most:,} (by seed)"
            yield f"{line.trace}, {line.label}: {told} jobs rejected, with reasons in run.json."


def _runs(line: ResultRow) -> str:
    if not line.failed:
        return str(len(line.done))
    return f"{len(line.done)}, {len(line.failed)} failed" if line.done else "failed"


def _unit(key: str, most: float) -> tuple[str, float]:
    unit = metric_of(key).unit_text
    if unit != "s":
        return _UNITS.get(unit, ("", 1.0))
    if not most:
        return "s", 1.0
    if key == "makespan_s" and most >= 2 * 86400:
        return "d", 86400.0
    return next((name, unit) for least, unit, name in _TIMES if most >= least)


def _cell(figure: Figure | None, unit: float, *, best: bool, chance: bool) -> Cell:
    if figure is None:
        return Cell(NOTHING)
    mean, deviation = figure.mean / unit, (figure.deviation or 0.0) / unit
    decimals = _decimals(mean)
    spread = _number(deviation, decimals or _decimals(deviation))
    return Cell(_number(mean, decimals), spread if float(spread.replace(",", "")) else "", best, chance)


def _decimals(value: float) -> int:
    if float(value).is_integer() or abs(value) >= 99.95:
        return 0
    return min(2 - math.floor(math.log10(abs(value))), 9)


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def plain(table: ComparisonTable) -> str:
    """Means as aligned text."""
    rows = [["trace", "dispatcher", *_heads(table)]]
    rows += [[trace, label, *(cell.mean for cell in cells)] for trace, label, _, cells in table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = [
            text.ljust(width) if place < 2 else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(padded))
    return "\n".join([*lines, *(f"  {note}" for note in table.notes)])


def _heads(table: ComparisonTable) -> list[str]:
    return [f"{title} ({unit})" if unit else title for title, unit in table.columns]


def markdown(table: ComparisonTable) -> str:
    """Table as Markdown."""
    head = ["trace", "dispatcher", "runs", *_heads(table)]
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " ---: |" * (len(head) - 2)]
    for trace, label, runs, cells in table.rows:
        told = [f"**{cell.text}**" if cell.best else cell.text for cell in cells]
        lines.append("| " + " | ".join([in_markdown(trace), in_markdown(label), runs, *told]) + " |")
    return "\n".join([*lines, "", *(f"{in_markdown(note)}\n" for note in table.notes)])


def in_markdown(text: str) -> str:
    """Escape text for Markdown."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def latex(table: ComparisonTable) -> str:
    """Table as LaTeX tabular (booktabs, graphicx)."""
    rows: list[tuple[str, list[str]]] = []
    for trace, label, runs, cells in table.rows:
        begins = not rows or trace != rows[-1][0]
        rows.append(
            (
                trace,
                [
                    in_latex(trace) if begins else "",
                    in_latex(label),
                    in_latex(runs),
                    *(latex_figure(cell.text, bold=cell.best) for cell in cells),
                ],
            )
        )
    sections = [[row for _, row in group] for _, group in groupby(rows, key=itemgetter(0))]
    return tabular([("trace", ""), ("dispatcher", ""), ("runs", ""), *table.columns], sections, table.notes)


def tabular(heads: Sequence[tuple[str, str]], sections: Iterable[Sequence[Sequence[str]]], notes: Iterable[str]) -> str:
    """LaTeX tabular; two columns of names, escaped cells."""
    names = [in_latex(title) for title, _ in heads[:2]]
    lines = [
        r"% Needs \usepackage{booktabs} and \usepackage{graphicx}.",
        *(f"% {' '.join(note.split())}" for note in notes),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{ll{'r' * (len(heads) - 2)}}}",
        r"\toprule",
        " & ".join([*names, *(_stacked_head(title, unit) for title, unit in heads[2:])]) + r" \\",
    ]
    for section in sections:
        lines += [r"\midrule", *(" & ".join(row) + r" \\" for row in section)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", ""])


def _stacked_head(title: str, unit: str) -> str:
    words = [*map(in_latex, title.split()), *([f"({in_latex(unit)})"] if unit else [])]
    return r"\shortstack[r]{" + r"\\".join(words) + "}" if len(words) > 1 else words[0]


def latex_figure(text: str, *, bold: bool) -> str:
    """Escaped numbers."""
    escaped = _MINUS.sub("$-$", in_latex(text))
    return rf"\textbf{{{escaped}}}" if bold else escaped


def in_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(letter, letter) for letter in text)
