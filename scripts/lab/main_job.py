"""Replay Eurora-2014 and the Curie slice under the three set-ups, on 1, 2 and 4 ranks, and print the table.

Usage: scripts/lab/run main_job [--traces ../shared/traces] [--ranks 0,1,2,4] [--out out/main_job]. Rank count 0 is one
process without MPI. Every schedule is audited, and the digests of one row must be equal, else the exit status is 1.
"""

from __future__ import annotations

import json
from pathlib import Path

from scripts.lab.kit.command import DARDIS, EURORA, PLATFORMS, ROOT, convert, run_quietly
from scripts.lab.kit.options import parser_of, prepared
from scripts.lab.kit.thesis import PARTITION, TRACE

RUNS = (
    ("Eurora-2014 on 64 nodes", EURORA, "eurora-2014.toml", None),
    ("Curie slice, partition 4, on 300 × 32", TRACE, "curie-fat.toml", PARTITION),
    ("Curie slice, whole, on 5,832 × 16", TRACE, "curie-whole.toml", None),
)
SETUPS = ("throughput", "profile", "balance")
COLUMNS = (
    ("mean_wait_s", "mean wait s", "{:.0f}"),
    ("max_wait_s", "longest wait s", "{:.0f}"),
    ("mean_bounded_slowdown", "mean bounded slowdown", "{:.1f}"),
    ("makespan_s", "makespan s", "{:.0f}"),
    ("utilisation", "utilisation", "{:.3f}"),
    ("killed", "killed", "{}"),
    ("rejected", "rejected", "{}"),
    ("decision_mean_s", "CPU a decision s", "{:.2e}"),
)


def one_run(trace: Path, platform: Path, setup: str, ranks: int, out: Path) -> dict[str, object]:
    """Simulate and audit; return the metrics."""
    command = [*DARDIS, "simulate", str(trace), "--platform", str(platform), "--dispatcher", f"dardis-{setup}"]
    command += ["--out", str(out), "--force", "--no-report"]
    if ranks:
        command = [str(ROOT / "launch" / "mpirun"), "-n", str(ranks), *command]
    run_quietly(*command)
    run_quietly(*DARDIS, "audit", str(out))
    metrics: dict[str, object] = json.loads((out / "metrics.json").read_text())
    return metrics


def main() -> int:
    """Print one line a set-up; the exit status says whether all digests agree."""
    parser = parser_of("main_job", "Replay two traces under the three set-ups over ranks.", "", processes=0)
    parser.add_argument("--ranks", default="0,1,2,4")
    arguments = prepared(parser, parser.parse_args())
    ranks = [int(text) for text in arguments.ranks.split(",")]
    print("| run | set-up | " + " | ".join(title for _, title, _ in COLUMNS) + f" | digest at ranks {ranks} |")
    print("|" + " --- |" * (len(COLUMNS) + 3))
    agree = True
    for title, name, platform, partition in RUNS:
        trace = arguments.traces / name
        if partition is not None:
            trace = convert(trace, arguments.out / f"partition{partition}.swf", "--partition", partition)
        for setup in SETUPS:
            runs = [one_run(trace, PLATFORMS / platform, setup, n, arguments.out / f"{setup}-{n}") for n in ranks]
            digests = [str(metrics["schedule_digest"])[:12] for metrics in runs]
            agree &= len(set(digests)) == 1
            cells = [form.format(runs[0][key]) for key, _, form in COLUMNS]
            shown = digests[0] if len(set(digests)) == 1 else "DIFFER: " + " ".join(digests)
            print(f"| {title} | {setup} | " + " | ".join(cells) + f" | {shown} |", flush=True)
    return 0 if agree else 1
