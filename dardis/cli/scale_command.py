"""The `dardis scale` command."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from dardis.config import option_texts
from dardis.config.option_texts import MOST_NODES, parse_whole_number, reach_value, whole_number_parser

if TYPE_CHECKING:
    from dardis.scale.fault_experiment import FaultRow
    from dardis.scale.row import ExperimentRow


def scale(
    nodes: Annotated[str, typer.Option(metavar="N[,N…]", help="Nodes of the machine (of a rank, with --weak).")],
    jobs: Annotated[
        int,
        typer.Option(
            parser=whole_number_parser("--jobs", 1, 10**8), metavar="J", help="Jobs of 1 to 8 units, one each second."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the tables (CSV), scale.json and report.html.")],
    dispatcher: Annotated[str, typer.Option(metavar="NAME", help="Dispatcher with rounds.")] = "dardis-throughput",
    task_managers: Annotated[str, typer.Option(metavar="M[,M…]", help=option_texts.TASK_MANAGERS)] = "1",
    overlap: Annotated[
        str | None,
        typer.Option(
            metavar="B[,B…]",
            help="Jobs in flight at once (default: 64 to compare managers by samples without a tree, else 1).",
        ),
    ] = None,
    arity: Annotated[str, typer.Option(metavar="flat|A[,…]", help="Sum offers up a tree of hosts.")] = "flat",
    hosts_of: Annotated[
        int,
        typer.Option(
            parser=whole_number_parser("--hosts-of", 1, MOST_NODES),
            metavar="N",
            help="Nodes of a virtual host, in one process.",
        ),
    ] = 64,
    sample: Annotated[str, typer.Option(metavar="all|default|S[,…]", help=option_texts.SAMPLE)] = "all",
    window: Annotated[str, typer.Option(metavar="S[,S…]", help="Length of the start window of a job, s.")] = "86400",
    reservations: Annotated[str, typer.Option(metavar="R[,R…]", help="Background reservations per node.")] = "4",
    ranks: Annotated[
        str | None, typer.Option(metavar="R[,R…]", help="Only the first R ranks of mpirun (default: all).")
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            parser=whole_number_parser("--repeat", 1, 10**6),
            metavar="N",
            help="Number of repetitions, for the spread.",
        ),
    ] = 1,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            metavar="drop=P,duplicate=P,delay=S,…",
            help="Network that loses, duplicates and delays messages, in virtual time; may be repeated.",
        ),
    ] = None,
    weak: Annotated[bool, typer.Option("--weak", help="Weak scaling: --nodes counts nodes per rank.")] = False,
    seed: Annotated[
        int, typer.Option(parser=whole_number_parser("--seed", 0, 2**62), metavar="N", help=option_texts.SEED)
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace the experiments in DIR.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help=option_texts.NO_REPORT)] = False,
) -> None:
    """Measure rounds on machines of N nodes. Each combination of the lists is an experiment and a row of scale.csv."""
    from dardis.scale.fault_experiment import faulty_network
    from dardis.scale.scale_run import ScaleRequest, run_scale, run_scale_over_ranks
    from dardis.transport.launcher import launched_by_mpi
    from dardis.transport.mpi_transport import world

    request = ScaleRequest(
        nodes=_numbers("--nodes", nodes, 1, MOST_NODES),
        jobs=jobs,
        out=out,
        dispatcher=dispatcher,
        task_managers=_numbers("--task-managers", task_managers, 1, 4096),
        overlaps=() if overlap is None else _numbers("--overlap", overlap, 1, 2**20),
        arities=tuple(reach_value("arity", part) for part in _split_list(arity)),
        hosts_of=hosts_of,
        samples=tuple(reach_value("sample", part) for part in _split_list(sample)),
        windows=_numbers("--window", window, 1, 2**40),
        reservations=_numbers("--reservations", reservations, 0, 1000),
        ranks=() if ranks is None else _numbers("--ranks", ranks, 1, 2**20),
        repeat=repeat,
        weak=weak,
        seed=seed,
        force=force,
        faults=tuple(dict.fromkeys(map(faulty_network, faults or ()))),
    )
    comm = world() if launched_by_mpi() else None
    from dardis.cli.progress import bar

    def begun(experiments: int) -> None:
        times = f", {repeat} times" if repeat > 1 else ""
        networks = len(request.faults)
        times += f", over {networks} faulty network{'s' if networks > 1 else ''}" if networks else ""
        typer.echo(f"  {experiments} experiment{'s' if experiments > 1 else ''} of {jobs} jobs{times}")

    draw = None if no_report else _draw
    with bar("measuring") if comm is None or comm.rank == 0 else nullcontext() as watch:
        if comm is None:
            found: list[ExperimentRow] | list[FaultRow] | int = run_scale(request, watch, draw, begun)
        else:
            found = run_scale_over_ranks(comm, request, watch, draw, begun)
    if isinstance(found, int):
        raise typer.Exit(found)
    if request.faults:
        _show(_fault_figures(cast("list[FaultRow]", found)))
        typer.echo(f"  Times are virtual; results {out}")
    else:
        _show(_figures(cast("list[ExperimentRow]", found)))
        typer.echo(f"  CPU and message bytes are per node and job; results {out}")


def _draw(folder: Path) -> None:
    from dardis.report.scale_page import draw_scale_report

    draw_scale_report(folder)


def _split_list(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def _numbers(option: str, text: str, least: int, most: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_number(option, part, least, most) for part in _split_list(text)))


def _number(option: str, text: str, least: int, most: int) -> int:
    return parse_whole_number(option, text, least, most, f"whole numbers from {least} to {most} separated by commas")


def _figures(rows: Sequence[ExperimentRow]) -> list[tuple[str, ...]]:
    asked = {"in-flight": "overlap", "window": "window_s", "reserved": "reservations"}
    apart = {name: column for name, column in asked.items() if len({getattr(row, column) for row in rows}) > 1}
    names = (
        "nodes", "ranks", "managers", "arity", "sample", *apart, "CPU ns", "B/node", "msg B", "root B", "chain",
        "ms/job", "jobs/s",
    )  # fmt: skip
    return [names] + [
        (
            f"{row.nodes:,}", f"{row.ranks}", f"{row.task_managers}", f"{row.arity}", f"{row.sample}",
            *(f"{getattr(row, column)}" for column in apart.values()),
            f"{row.cpu_ns_per_node_job:.4g}", f"{row.bytes_per_node:.0f}", f"{row.message_bytes_per_node_job:.4g}",
            f"{row.root_message_bytes:,}", f"{row.chain:,}",
            *(("-", "-") if not row.jobs_per_s else (f"{1e3 / row.jobs_per_s:.4g}", f"{row.jobs_per_s:.4g}")),
        )
        for row in rows
    ]  # fmt: skip


def _fault_figures(rows: Sequence[FaultRow]) -> list[tuple[str, ...]]:
    names = (
        "nodes", "task_managers", "arity", "sample", "drop", "duplicate", "delay_s", "messages", "resent", "claims",
        "refused", "agree_s_mean", "wait_s_mean", "completed", "lost", "run_twice", "violations",
    )  # fmt: skip
    return [names] + [tuple(_cell(getattr(row, name)) for name in names) for row in rows]


def _cell(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value or "-"


def _show(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        typer.echo("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
