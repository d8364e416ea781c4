"""Runs the late set-up beside best practice on real traces and prints waits and slowdowns relative to the one to beat.

That is EASY with the shortest jobs backfilled first; longest waits are relative to EASY (docs/late.md). All runs go
through `dardis compare`, so that what is interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from scripts.lab.kit.cache import Run
from scripts.lab.kit.cache import run_missing as kept
from scripts.lab.kit.command import convert
from scripts.lab.kit.compared import Comparison, Dispatchers, read_spec
from scripts.lab.kit.options import parser_of, prepared
from scripts.lab.kit.page import publish, read_csv, write_csv
from scripts.lab.late import frontier
from scripts.lab.late.cases import SOURCES, WALLTIMES, Case, cases, cases_of_frontier
from scripts.lab.late.table import HEAD, DispatcherSettings, draw_who_pays, ratios, rows_of, run_of, waits_by_class
from scripts.lab.late.table import PATIENT as EASY
from scripts.lab.late.table import TO_BEAT as SJBF
from scripts.lab.late.table import table as table_of_loads

SPEC: Final = read_spec(__file__)
CASES: Final[dict[str, tuple[str, int]]] = SPEC["cases"]
"""Traces, and how many of their first jobs."""
FULL: Final[dict[str, tuple[str, int]]] = SPEC["full"]
LABELS: Final[Dispatchers] = SPEC["dispatchers"]
TO_BEAT, PATIENT = "easy sjbf", "easy"
LATE: DispatcherSettings = ("dardis-late",)


def comparison_of(out: Path, traces: Path, cases: Mapping[str, tuple[str, int]]) -> Comparison:
    """The comparison of some traces."""
    rows = []
    for name, (of, jobs) in cases.items():
        source = SOURCES[of]
        trace = traces / source.file
        if source.cut:
            trace = convert(trace, out / "partition4.swf", *source.cut)
        rows.append({"name": name, "trace": trace, "platform": source.platform(out), "jobs": jobs or None})
    return Comparison(out / "comparison", rows, LABELS)


def table(rows: list[dict[str, str]], cases: list[str]) -> str:
    """Waits and slowdowns of each dispatcher over those of the one to beat; longest waits over EASY's."""
    of = {(row["trace"], row["dispatcher"]): row for row in rows if row["status"] == "done"}
    lines = ["| trace | jobs | to beat: wait s / slowdown | " + " | ".join(LABELS) + " | claims and asks a job |"]
    lines.append("| --- " * (len(LABELS) + 4) + "|")
    for case in cases:
        if any((case, label) not in of for label in LABELS):
            lines.append(f"| {case} | not all runs ended | " + "| " * (len(LABELS) + 2) + "|")
            continue
        best, patient = of[case, TO_BEAT], of[case, PATIENT]
        cells = []
        for label in LABELS:
            row = of[case, label]
            figures = [
                float(row[key]) / float(base[key])
                for key, base in (("mean_wait_s", best), ("mean_bounded_slowdown", best), ("max_wait_s", patient))
            ]
            cells.append(" / ".join(f"{figure:.2f}" for figure in figures))
        late = of[case, "dardis-late"]
        asks = float(late["renegotiations"]) / float(late["jobs"])
        told = f"{float(best['mean_wait_s']):.0f} / {float(best['mean_bounded_slowdown']):.1f}"
        lines.append(f"| {case} | {late['jobs']} | {told} | " + " | ".join(cells) + f" | {asks:.1f} |")
    return "\n".join([*lines, "", "Each cell: mean wait / mean bounded slowdown / longest wait.", ""])


def main() -> int:
    """Run what is missing and print the table."""
    parser = parser_of("late", __doc__, "")
    parser.add_argument("--full", action="store_true", help="also the long traces, 200,000 jobs each")
    parser.add_argument("--only", nargs="+", choices=[*CASES, *FULL], help="only these traces")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--loads", action="store_true", help="the table of loads: real and made traces at five loads")
    other.add_argument("--frontier", action="store_true", help="many dispatchers, and several longest waits, with plot")
    loads = parser.add_argument_group("--loads")
    loads.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="of dardis-late, may be repeated"
    )
    loads.add_argument("--part", choices=["chosen", "judged"], help="only cases that the rule is chosen, or judged on")
    loads.add_argument("--walltimes", choices=WALLTIMES, default=WALLTIMES[0], help="as they are stated, or others")
    loads.add_argument(
        "--shaken", type=int, nargs="+", default=[0], metavar="SEED",
        help="submissions up to a minute later, by chance; of several seeds medians, with least and most",
    )  # fmt: skip
    options = parser.parse_args()
    if options.frontier and (options.full or options.only):
        parser.error("--frontier has cases of its own; --full and --only are for other tables")
    if options.loads and options.only:
        parser.error("--only chooses traces of the other table; with --loads --part does")
    of_loads = ("set", "part", "walltimes", "shaken")
    strangers = [name for name in of_loads if getattr(options, name) != parser.get_default(name)]
    if strangers and not options.loads:
        parser.error(f"--{strangers[0]} is for --loads")
    out = prepared(parser, options).out
    if options.frontier:
        return at_frontier(options, out)
    return at_loads(options, out) if options.loads else as_they_are(options, out)


def at_frontier(options: argparse.Namespace, out: Path) -> int:
    """Waits and slowdowns of many dispatchers, waits by class of the late one, and the picture of all."""
    labels = {label: (name, *settings) for label, (name, *settings) in SPEC["frontier"].items()}
    asked = {
        (case, label): run_of(case, who, options.traces, out)
        for case in cases_of_frontier()
        for label, who in labels.items()
    }
    ended = kept(asked.values(), out, options.processes)
    done = {key: ended[one] for key, one in asked.items() if one in ended}
    late = next(label for label, who in labels.items() if who == LATE)
    waits = {key: waits_by_class(asked[key], out) for key in done if key[1] in {PATIENT, late}}
    folder = out / "tables" / "frontier"
    folder.mkdir(parents=True, exist_ok=True)
    found = frontier.means_of(done, TO_BEAT, PATIENT)
    classes = frontier.ratios_of_classes(waits, late, PATIENT)
    frontier.write(folder, found, classes)
    publish(folder / "frontier.md", frontier.text(found, classes, PATIENT))
    frontier.draw(folder / "frontier", found, TO_BEAT)
    return int(len(done) < len(asked))


def at_loads(options: argparse.Namespace, out: Path) -> int:
    """The table of loads with who pays."""
    late = (*LATE, *options.set)
    every = [
        replace(case, walltimes=options.walltimes)
        for case in cases(long=options.full)
        if options.part is None or case.chosen_on == (options.part == "chosen")
    ]
    shaken = {case: [replace(case, shaken=seed) for seed in options.shaken] for case in every}
    asked: dict[tuple[Case, DispatcherSettings], Run] = {
        (one, who): run_of(one, who, options.traces, out)
        for ones in shaken.values()
        for one in ones
        for who in (SJBF, EASY, late)
    }
    ended = kept(asked.values(), out, options.processes)
    done = {key: {**ended[one], **waits_by_class(one, out)} for key, one in asked.items() if one in ended}
    found = {
        case: [
            ratios(one.load_there(options.traces, out), done[one, late], done[one, SJBF], done[one, EASY])
            for one in ones
        ]
        for case, ones in shaken.items()
        if all((one, who) in done for one in ones for who in (SJBF, EASY, late))
    }
    folder = out / "tables" / _name(options, late)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        (one.name, of, *done[one, late][of], done[one, SJBF][of][1])
        for case in found
        for one in shaken[case]
        for of in ("wide", "others")
    ]
    write_csv(folder / "who_pays.csv", ("case", "jobs", "count", "mean_wait_s", "to_beat_mean_wait_s"), rows)
    write_csv(folder / "loads.csv", HEAD, rows_of(found))
    draw_who_pays(folder / "who_pays", found)
    publish(folder / "loads.md", f"`{' '.join(late)}`\n\n" + table_of_loads(found))
    return int(len(found) < len(every))


def _name(options: argparse.Namespace, late: DispatcherSettings) -> str:
    """What a table is called: what is other than in the plain one."""
    others = [
        "" if options.walltimes == WALLTIMES[0] else f"walltimes {options.walltimes}",
        " ".join(["shaken", *map(str, options.shaken)]) if any(options.shaken) else "",
        options.part or "",
        "full" if options.full else "",
        *late[1:],
    ]
    return "_".join(other.replace(" ", "-") for other in others if other) or "plain"


def as_they_are(options: argparse.Namespace, out: Path) -> int:
    """The table of whole comparisons."""
    chosen = CASES | FULL if options.full or options.only else CASES
    chosen = {name: case for name, case in chosen.items() if not options.only or name in options.only}
    comparison = comparison_of(out, options.traces, chosen)
    status = comparison.run(options.processes)
    publish(out / "late.md", table(read_csv(comparison.path / "compare.csv"), list(chosen)))
    return status or 0
