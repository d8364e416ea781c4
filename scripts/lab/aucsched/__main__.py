"""The kit of AUCSCHED: does the runs that are missing, and writes page, table and plots."""

from __future__ import annotations

from collections import defaultdict

from dardis.workload.generate import MOST_HOURS
from scripts.lab.aucsched.cases import MACHINE_OF, Case, requested_runs
from scripts.lab.aucsched.figures import measured, read_kept, write_kept
from scripts.lab.aucsched.page import Found, draw_footprints, draw_utilisation, page, tables_of
from scripts.lab.kit.cache import Metrics, report_missing, run_missing
from scripts.lab.kit.options import count, counts, decimal, parser_of, prepared, some_of
from scripts.lab.kit.page import publish


def main() -> int:
    """Print the page, and write it beside the runs; 1 where runs are missing."""
    parser = parser_of("aucsched", __doc__, processes=2, limit="begin no run")
    parser.add_argument("--tables", type=some_of([*MACHINE_OF]), default=[*MACHINE_OF],
                        help="of the paper, with commas (5,6,7,8)")  # fmt: skip
    parser.add_argument("--seeds", type=counts, default=[*range(1, 8)],
                        help="of the workloads on machines S and M, with commas (1 to 7)")  # fmt: skip
    parser.add_argument("--seeds-large", type=count, default=2, metavar="N",
                        help="on machine L the first N of them (2)")  # fmt: skip
    hours = decimal(lambda hours: 0 < hours <= MOST_HOURS, f"above 0, at most {MOST_HOURS}")
    parser.add_argument("--hours", type=hours, default=4.0, help="theoretical runtime of a workload (4)")
    parser.add_argument("--anew", action="store_true", help="do again the runs whose figures are kept (kept.csv)")
    parser.add_argument("--keep", action="store_true", help="keep the figures of all runs that are there")
    options = prepared(parser, parser.parse_args())
    out = options.out
    large = options.seeds[: options.seeds_large]
    seeds = {table: large if MACHINE_OF[table] == "L" else options.seeds for table in options.tables}
    asked = list(requested_runs(seeds, options.hours, out))
    kept = read_kept()
    known = {} if options.anew else {one: kept[one.name] for *_, one in asked if one.name in kept}
    left = dict.fromkeys(one for *_, one in asked if one not in known)
    known |= run_missing(left, out, options.processes, options.limit)
    if options.keep:
        write_kept(kept | {one.name: metrics for one, metrics in known.items()})
    runs: dict[tuple[Case, str], list[Metrics]] = defaultdict(list)
    for case, label, _, one in asked:
        if one in known:
            runs[case, label].append(known[one])
    found: Found = {key: measured(of) for key, of in runs.items()}
    for table in tables_of(found).values():
        table.write(out)
    draw_utilisation(out / "utilisation", found)
    draw_footprints(out / "footprints", found)
    publish(out / "aucsched.md", page(found, options.hours))
    return report_missing(len({one for _, _, _, one in asked}) - len(known))
