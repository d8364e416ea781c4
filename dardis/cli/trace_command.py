"""The `dardis trace` commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dardis.cli.derived_options import (
    CommandGroup,
    Force,
    Strict,
    TracePath,
    check_absent,
    check_platform_out,
    options_of,
)
from dardis.config.option_texts import whole_number_parser
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.model.platform import Platform
    from dardis.workload.trace import Trace

OutPath = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="File: .swf, .csv (job table) or .json (Batsim), optionally with .gz, .bz2 or .xz.",
    ),
]


def info(
    trace: TracePath,
    platform: Annotated[
        Path | None, typer.Option(metavar="P.toml", help="Platform file to compute the load for.")
    ] = None,
    strict: Strict = False,
) -> None:
    """Show the contents of a trace, and its lines without a job."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from dardis.config.platform_file import load_platform
    from dardis.workload.trace_reader import read_trace
    from dardis.workload.trace_summary import summarise

    machine = load_platform(platform) if platform else None
    speed = machine.flop_per_s if machine else None
    table = Table(title=escape(trace.name), show_header=False)
    for what, figure in summarise(read_trace(trace, strict=strict, not_ended=True, flop_per_s=speed), machine):
        table.add_row(escape(what), escape(figure))
    Console().print(table)


@options_of("dardis.config.run_spec:CutSpec", "dardis.config.run_spec:CalendarSpec")
def convert(
    options: dict[str, Any],
    trace: TracePath,
    out: OutPath,
    partition: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Keep this partition; may be repeated.")
    ] = None,
    queue: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Keep this queue; may be repeated.")] = None,
    min_width: Annotated[int, typer.Option(metavar="N", help="Keep jobs with at least N processors.")] = 0,
    max_width: Annotated[int | None, typer.Option(metavar="N", help="Keep jobs with at most N processors.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(parser=whole_number_parser("--jobs", 1), metavar="N", help="Keep the first N remaining jobs."),
    ] = None,
    thin: Annotated[float, typer.Option(metavar="SHARE", help="Keep this share of the jobs, drawn by the seed.")] = 1.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of --thin.")] = 1,
    load: Annotated[float | None, typer.Option(metavar="X", help="Divide the times between submits by this.")] = None,
    target_load: Annotated[
        float | None,
        typer.Option(metavar="LOAD", help="Scale the times between submits to this load on --platform (trace info)."),
    ] = None,
    platform: Annotated[
        Path | None,
        typer.Option(
            metavar="P.toml", help="Job table: units that fit this platform's nodes. Machine of --target-load."
        ),
    ] = None,
    unit_cores: Annotated[
        int | None,
        typer.Option(parser=whole_number_parser("--unit-cores", 1), metavar="N", help="Job table: units with N cores."),
    ] = None,
    nodes: Annotated[
        Path | None, typer.Option(metavar="NODES", help="Alibaba's node list, for --platform-out.")
    ] = None,
    platform_out: Annotated[
        Path | None,
        typer.Option(metavar="P.toml", help="Platform file to write, with the requested GPU models."),
    ] = None,
    strict: Strict = False,
    force: Force = False,
) -> None:
    """Convert to SWF, a job table or Batsim's workload, filter, scale the load. Filters apply in the options' order."""
    from dardis.config.node_list import read_node_list
    from dardis.config.platform_file import load_platform
    from dardis.config.platform_text import platform_text
    from dardis.model.files import write_text
    from dardis.workload import transform
    from dardis.workload.alibaba import KINDS
    from dardis.workload.swf import is_of_lines, write_lines
    from dardis.workload.trace_reader import read_trace
    from dardis.workload.trace_summary import not_ended, skipped_lines

    _check_out(out, force)
    if (nodes is None) != (platform_out is None):
        raise InputError("--nodes, --platform-out", "one without the other", "both or neither")
    if platform_out is not None:
        check_platform_out(platform_out, force)
    machine = load_platform(platform) if platform else None
    kept = read_trace(trace, strict=strict, not_ended=True, flop_per_s=machine.flop_per_s if machine else None)
    if nodes is not None and {*kept.request} != {*KINDS}:
        found = f"jobs of {trace} ask for {', '.join(kept.request) or 'processors'}"
        raise InputError("--nodes", found, f"Alibaba's pods, which ask for {', '.join(KINDS)}")
    skipped, (first, last) = skipped_lines(kept), _time_range(trace, kept, options)
    if partition:
        kept = transform.in_partition(kept, partition)
    if queue:
        kept = transform.in_queue(kept, queue)
    kept = transform.submitted(kept, first, last)
    kept = transform.of_width(kept, min_width, max_width)
    if jobs is not None:
        kept = transform.first_jobs(kept, jobs)
    if thin != 1:
        kept = transform.thinned(kept, thin, seed)
    kept = _scale_load(kept, load, target_load, machine)
    cut = _option_text(
        partition=partition, queue=queue, from_=options.get("from_"), to=options.get("to"),
        min_width=min_width or None, max_width=max_width,
        jobs=jobs, thin=None if thin == 1 else thin, seed=None if thin == 1 else seed, load=load,
        target_load=target_load, platform=None if target_load is None else platform,
    )  # fmt: skip
    site = None if nodes is None else read_node_list(nodes, kept.partition.tolist())
    if _ends_in(out, ".swf") and is_of_lines(kept, trace):
        write_lines(kept, trace, out, cut)
    else:
        _write(kept, out, machine, unit_cores)
    if site is not None and platform_out is not None:
        write_text(platform_out, platform_text(site))
        typer.echo(f"{platform_out}: {site.node_count} nodes")
    for line in skipped:
        typer.echo(f"dardis: warning: {trace}: {line}", err=True)
    for note in kept.notes:
        typer.echo(f"note: {trace}: {note}", err=True)
    told = not_ended(kept)
    typer.echo(f"{out}: {len(kept)} jobs" + (f", of which {told}" if told else ""))


def generate(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="eurora (the thesis's), lublin, rivals or auction.")],
    out: OutPath,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="All but auction: number of jobs (1000).")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same trace.")] = 1,
    days: Annotated[
        int | None, typer.Option(metavar="N", help="All but auction: number of days with submissions.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(metavar="N", help="eurora: nodes of the machine (64); no job requests more than half.")
    ] = None,
    kinds: Annotated[
        int | None, typer.Option(metavar="N", help="eurora: first of cores, memory, gpu, mic, ssd, fpga (4 of them).")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="All but auction: first UTC day, as 2014-12-01 (default: unknown)."),
    ] = None,
    workload: Annotated[str | None, typer.Option(metavar="NAME", help="auction: I, II, III, IV or V (I).")] = None,
    machine: Annotated[str | None, typer.Option(metavar="NAME", help="auction: S, M or L (S).")] = None,
    contiguous: Annotated[
        int | None,
        typer.Option(metavar="PERCENT", help="auction: percent of jobs that request neighbouring nodes (0)."),
    ] = None,
    hours: Annotated[
        float | None, typer.Option(metavar="H", help="auction: work of all jobs over all cores (4).")
    ] = None,
    max_share: Annotated[
        float | None, typer.Option(metavar="SHARE", help="auction: largest share of the cores in a request (0.1).")
    ] = None,
    force: Force = False,
) -> None:
    """Generate a synthetic trace for the 64-node Eurora, a similar machine of another size, or an AUCSCHED machine."""
    from dardis.config.clocks import parse_utc
    from dardis.workload.generate import AUCTION, AuctionParameters, generate_auction
    from dardis.workload.generate import generate as make

    _check_out(out, force)
    usual = _stated_options(jobs=jobs, days=days, nodes=nodes, kinds=kinds, begin=begin)
    auction = _stated_options(
        workload=workload, machine=machine, contiguous=contiguous, hours=hours, max_share=max_share
    )
    for option in usual if kind == AUCTION else auction:
        raise InputError("--" + option.replace("_", "-"), f"is no option of {kind}", "an option of this kind (--help)")
    if kind == AUCTION:
        if not _ends_in(out, ".csv"):
            raise InputError(out, "SWF cannot state the types of these jobs", "a job table (.csv or .csv.gz)")
        made = generate_auction(AuctionParameters(**auction), seed)
    else:
        midnight = None if begin is None else parse_utc(begin, "--begin")
        made = make(kind, seed=seed, **{"jobs": 1000, **usual, "begin": midnight})
    _write(made, out, None, None)
    typer.echo(f"{out}: {len(made)} jobs")


def _time_range(path: Path, trace: Trace, options: dict[str, Any]) -> tuple[int | None, int | None]:
    from dardis.config.cuts import TraceClock, seconds_of
    from dardis.config.run_spec import CalendarSpec

    begins = CalendarSpec(**{name: options.get(name) for name in CalendarSpec.model_fields}).begins
    clock = TraceClock(path, int(trace.submit.min()), trace.begins(begins))
    first, last = (
        None if cut is None else seconds_of(option, cut, clock)
        for option, cut in (("--from", options.get("from_")), ("--to", options.get("to")))
    )
    return first, last


def _scale_load(trace: Trace, load: float | None, target: float | None, machine: Platform | None) -> Trace:
    from dardis.workload import transform

    if target is None:
        return trace if load is None else transform.scale_load(trace, load)
    if load is not None:
        raise InputError("--load, --target-load", "both", "one of them")
    if machine is None:
        raise InputError("--target-load", f"{target} without --platform", "--platform P.toml")
    return transform.with_load(trace, machine, target)


def _stated_options(**options: str | float | None) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _option_text(**options: object) -> str:
    said = [
        f"--{name.strip('_').replace('_', '-')}={value}"
        for name, given in options.items()
        for value in (given if isinstance(given, list) else [] if given is None else [given])
    ]
    return " ".join(said)


def _ends_in(out: Path, *endings: str) -> bool:
    from dardis.model.files import plain_name

    return plain_name(out).endswith(endings)


def _check_out(out: Path, force: bool) -> None:
    if not _ends_in(out, ".swf", ".csv", ".json"):
        raise InputError(
            out,
            "unknown trace format",
            "a name that ends in .swf, .csv or .json, optionally with .gz, .bz2 or .xz",
        )
    check_absent(out, force)


def _write(trace: Trace, out: Path, machine: Platform | None, unit_cores: int | None) -> None:
    from dardis.workload.batsim import write_batsim
    from dardis.workload.csv_trace import write_table
    from dardis.workload.swf import write_swf
    from dardis.workload.trace_jobs import in_units

    if _ends_in(out, ".csv"):
        write_table(in_units(trace, machine, unit_cores), out)
        return
    lost = (
        write_batsim(trace, out, machine.cores if machine else None)
        if _ends_in(out, ".json")
        else write_swf(trace, out)
    )
    for note in lost:
        typer.echo(f"note: {note}", err=True)


GROUP: Final = CommandGroup(
    "Inspect, convert or generate workload traces.", {"info": info, "convert": convert, "generate": generate}
)
