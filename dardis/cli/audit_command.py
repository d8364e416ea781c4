"""The `dardis audit` and `dardis solve` commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dardis.config import option_texts
from dardis.config.option_texts import whole_number_parser
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.config.json_records import RunRecord
    from dardis.metrics.audit import Audit
    from dardis.metrics.job_rules import Violation
    from dardis.metrics.requested_jobs import ChangedJob, RequestedJobs
    from dardis.model.platform import Platform
    from dardis.runs.instances import Solution

METRICS = "metrics.json"
SHOWN = 20


def audit(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run, or of dardis steer.")],
    platform: Annotated[
        Path | None,
        typer.Option(metavar="P.toml", help="Platform file if DIR has no run.json, or to check against another."),
    ] = None,
) -> None:
    """Check whether a schedule is legal, or whether Slurm did what was decided.

    Exit status 0: legal; 1: violations, which are printed.
    """
    from dardis.config.json_records import RunRecord, read_metrics
    from dardis.config.toml_file import read_json
    from dardis.metrics.audit import Audit
    from dardis.metrics.system import DOWNTIME_FILE, read_downtime
    from dardis.model.choices import Resources
    from dardis.slurm.steering_log import DECISIONS

    if (run_dir / DECISIONS.name).exists():
        _audit_steering(run_dir)
        return
    path = run_dir / "run.json"
    before = _file_identity(path)
    record = read_json(path, RunRecord) if path.exists() else None
    machine = _machine(path, record, platform)
    metrics = read_metrics(run_dir / METRICS) if (run_dir / METRICS).exists() else None
    asked, why = _requested_jobs(path, record)
    switched = run_dir / DOWNTIME_FILE
    downtime = read_downtime(switched) if switched.exists() else None
    with closing(Audit(machine, downtime=downtime, asked=asked, killed=record.killed if record else ())) as judge:
        by_core = record is not None and record.resources is Resources.CORES
        registered = [one.job for one in record.registered] if record else []
        expected = None if asked is None else [*asked.number.tolist(), *registered]
        trim = record.trim if record else None
        violations = _violations(judge, run_dir / "jobs.csv", metrics, trim, expected, by_core=by_core)
        shown = list(islice(violations, SHOWN))
        more = sum(1 for _ in violations)
    if _file_identity(path) != before:
        raise InputError(run_dir, "changed while it was read", "a folder that no command writes")
    if metrics is None:
        typer.echo(f"audit: not compared with {METRICS}, which does not exist")
    if asked is None:
        typer.echo(f"audit: not compared with the trace: {why}")
    for violation in shown:
        typer.echo(f"audit: {violation}")
    if more:
        typer.echo(f"audit: and {more} more")
    if shown:
        raise typer.Exit(1)
    typer.echo(f"audit: {judge.job_count} jobs, ok")


def _audit_steering(folder: Path) -> None:
    from statistics import median

    from dardis.slurm.steering_log import Event, SteeringLog, compare_with_slurm

    found = compare_with_slurm(SteeringLog(folder).entries())
    for violation in found.violations[:SHOWN]:
        typer.echo(f"audit: {violation}")
    if more := found.violations[SHOWN:]:
        typer.echo(f"audit: and {len(more)} more")
    count = found.count
    delays = f", {median(found.delays_s):.0f} s later (median)" if found.delays_s else ""
    others = ", ".join(
        f"{count[event]} {text}"
        for event, text in (
            (Event.TAKEN_BACK, "taken back"),
            (Event.REFUSED, "refused"),
            (Event.PASSED, "left to Slurm"),
        )
    )
    verdict = "not as decided" if found.violations else "ok"
    text = f"{count[Event.START]} decisions, {len(found.delays_s)} started as decided{delays}; {others}; {verdict}"
    typer.echo(f"audit: {text}")
    if found.violations:
        raise typer.Exit(1)


def _violations(
    judge: Audit,
    path: Path,
    metrics: dict[str, Any] | None,
    trim: tuple[int, int] | None,
    expected: list[int] | None,
    *,
    by_core: bool,
) -> Iterator[Violation]:
    from dardis.cli.progress import bar

    with bar("reading", "MB") as tell:
        yield from judge.check_file(path, tell, by_core=by_core)
    if metrics is not None:
        yield from judge.miscounts(metrics, trim)
    with bar("sweeping", "nodes") as tell:
        yield from judge.check_remaining(expected, tell=tell)


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _machine(path: Path, record: RunRecord | None, file: Path | None) -> Platform:
    if file is not None:
        from dardis.config.platform_file import load_platform

        machine = load_platform(file)
        if machine.needs_calendar and record is not None:
            known = record.machine(path).prime
            begins = record.unix_start if known is None or known.unix_start is None else known.unix_start
            machine = machine.on_clock(begins, 0 if known is None else known.first)
        if machine.needs_calendar:
            found = "has queues with hours or maintenance by date, but the start of the trace is unknown"
            raise InputError(f"--platform {file}", found, "the folder of a run on this platform")
        return machine
    if record is None:
        from dardis.model.out_folder import COMPARISON_FOLDER, RUN_FOLDER

        if (path.parent / COMPARISON_FOLDER.last_file).exists():
            raise InputError(path.parent, "is a comparison", f"one of its runs, a folder in {path.parent / 'runs'}")
        RUN_FOLDER.check_finished(path.parent, ", or --platform P.toml to check only jobs.csv")
        raise InputError(path, "does not exist", "a run's folder, or --platform P.toml")
    return record.machine(path)


def _requested_jobs(path: Path, record: RunRecord | None) -> tuple[RequestedJobs | None, str]:
    from dardis.metrics.requested_jobs import RequestedJobs
    from dardis.model.files import sha256_of

    if record is None:
        return None, f"there is no {path.name}"
    if record.trace is None or record.trace_sha256 is None:
        return None, f"{path.name} names no trace"
    trace = Path(record.trace)
    digest = sha256_of(trace)
    if digest != record.trace_sha256:
        why = "has changed since the run" if digest else "can't be read" if trace.exists() else "does not exist"
        return None, f"{trace} {why}"
    from dardis.runs.run_workload import TraceSelection, read_selected_jobs

    machine = record.machine(path)
    part = TraceSelection(record.from_s, record.to_s, record)
    found = read_selected_jobs(
        trace, machine, record.unit_cores, part, think_times=record.think_times, strict=record.strict
    )
    return RequestedJobs.of(found.jobs, machine.kinds).apply_changes(_changed_requests(record)), ""


def _changed_requests(record: RunRecord) -> list[ChangedJob]:
    from dardis.metrics.requested_jobs import ChangedJob

    return [ChangedJob(one.job, one.walltime_s, one.queue, one.ran_s) for one in record.changed]


def solve(
    instances: Annotated[
        list[Path], typer.Argument(metavar="INSTANCE…", help="Files of `dardis simulate --save-instances`, or folders.")
    ],
    dispatcher: Annotated[str, typer.Option(metavar="NAME", help="Model: pcp14, hcp19, cp-eurora, ...")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=option_texts.SETTINGS)
    ] = None,
    seed: Annotated[
        int, typer.Option(parser=whole_number_parser("--seed", 0, 2**62), metavar="N", help="Seed of the solver.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="F.csv", help="Write a row for each, as in solver.csv, with started jobs."),
    ] = None,
) -> None:
    """Solve decisions with a constraint model; print objective, bound and time of each."""
    from dardis.engine.clock import cpu_timed
    from dardis.registry import find_dispatcher
    from dardis.runs.instances import Solution, check_table, read_instances, setup_of, write_solutions
    from dardis.runs.kernel_warmup import warm_kernels

    if out is not None:
        check_table(out)
    setup = setup_of(dispatcher, settings or ())
    problems, model = read_instances(instances, setup), setup.model()
    warm_kernels(find_dispatcher(dispatcher, settings or ()))
    solved = []
    typer.echo(_line("instance", "waiting", "starting", "status", "objective", "bound", "variables", "CPU s"))
    for path, problem in problems:
        answer, cpu_s = cpu_timed(partial(model.decide, problem, seed))
        one = Solution(path, problem, answer, cpu_s)
        solved.append(one)
        told = one.told
        typer.echo(
            _line(
                path.name, str(told.waiting), str(told.started), _status(one), _figure(told.objective),
                _figure(told.bound), str(told.variables), f"{told.solver_cpu_s:.3f}",
            )
        )  # fmt: skip
    if out is not None:
        write_solutions(out, solved)


def _line(name: str, *figures: str) -> str:
    return f"  {name:<22} " + " ".join(f"{figure:>10}" for figure in figures)


def _status(one: Solution) -> str:
    return one.told.status or ("too large" if one.told.too_large else "not solved")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
