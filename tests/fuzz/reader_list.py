"""Every reader of files, with what a command does with what it read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from fuzz import sample_files as files
from fuzz.sample_files import MAY, PLATFORM
from kit.plan_folder import POWER

from dardis.cli.cap_file import read_cap, read_switching
from dardis.config.comparison_spec import load_comparison
from dardis.config.cooling_table import load_pue_table
from dardis.config.events_file import load_events
from dardis.config.node_fields import node_names
from dardis.config.node_list import read_node_list
from dardis.config.node_states import read_node_states
from dardis.config.platform_file import load_platform
from dardis.config.platform_record import platform_from_dict
from dardis.config.platform_text import platform_text, rename_files
from dardis.config.power_edit import write_figures
from dardis.config.power_samples import read_power_samples
from dardis.config.prices import read_carbon, read_prices
from dardis.config.site_file import import_platform
from dardis.config.slurm.slurm_platform import platform_of
from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.config.target_file import load_target, read_profile
from dardis.config.toml_file import read_json
from dardis.config.weather import read_weather
from dardis.dispatch.cp.decision_problem import DecisionProblem
from dardis.dispatch.cp.instance import read_instance
from dardis.live.directives import read_directives, read_script
from dardis.live.job_items import ItemFormat, check_items, filled_words, parse_items
from dardis.live.metrics_endpoint import TOKEN_FILE, read_token
from dardis.live.slurm_programs.srun import read_programs
from dardis.live.submit_request import read_environment, submit_request
from dardis.metrics.comparison_tables import read_found
from dardis.metrics.jobs_csv import read_jobs, write_jobs
from dardis.metrics.power import power_terms
from dardis.metrics.system import read_downtime
from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.hostlist import hostlist, names_of
from dardis.model.platform import Money, NodeGroup, Platform, platform_to_dict
from dardis.model.queues import Queue
from dardis.model.target import Split
from dardis.report import scale_faults
from dardis.report.citation import references
from dardis.report.pictures import read_loop_picture
from dardis.report.plan_page import read_plan_picture
from dardis.report.run_files import read_run
from dardis.report.scale_beyond import read_predictions
from dardis.report.scale_page import ScaleRecord
from dardis.report.scale_rows import medians, read_rows
from dardis.slurm.open_decisions import OpenDecisions
from dardis.slurm.shadow_folder import LoggedExpectation, ShadowFolder
from dardis.slurm.slurm_job import RecordedJobs, recorded_jobs
from dardis.slurm.steered_job import SteeredJob, steered_jobs
from dardis.slurm.steering_log import SteeringLog, compare_with_slurm
from dardis.workload.batsim import write_batsim
from dardis.workload.csv_trace import read_table, write_table
from dardis.workload.deadlines import with_deadlines
from dardis.workload.slurm_usage import read_usage
from dardis.workload.swf import is_of_lines, read_swf, write_lines, write_swf
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import in_units, to_jobs
from dardis.workload.trace_reader import read_trace
from dardis.workload.trace_summary import summarise
from offline.apply.apply_files import read_controllers, read_requests, read_state
from offline.apply.apply_steps import DesiredStates
from offline.calibrate.recorded_jobs import read_started_jobs
from offline.day.initial_nodes import InitialNodes, initial_nodes_of
from offline.export.formats import FORMATS, load_plan
from offline.site.calendar import calendar_of
from offline.site.history import trace_that_fits

Read = Callable[[Path], object]
MACHINE = Platform("machine", (NodeGroup("n", 5000, {"cores": 16, "memory": 16384}),), partitions={"1": (0,)})
_OF_YEARS = 0.05
"""Files of 8,760 lines take long."""
_MANY = 10_000
"""Jobs, of an array that grew with a digit, with which everything else would take long."""


@dataclass(frozen=True)
class Reader:
    """`read` takes a file called `file`, a mutation of one of `texts`; what lies beside it `prepare` writes."""

    name: str
    file: str
    texts: tuple[str, ...]
    read: Read
    prepare: Read = lambda _: None
    weight: float = 1.0
    """How large a part of all mutations it gets."""


MONEY = Money("EUR", {"CHF": 1.0, "GBP": 1.0})
"""Prices of any file here can be told in euros."""


def readers() -> list[Reader]:
    """All of them, with files made here."""
    shipped = sorted((Path(__file__).resolve().parents[2] / "launch" / "platforms").glob("*.toml"))
    machines = (files.PLATFORM_TOML, *(path.read_text() for path in shipped))
    plan = files.plan_files()
    return [
        *(Reader(name, "t", (text,), _read_trace) for name, text in files.TRACES.items()),
        Reader("platform", "p.toml", machines, _read_platform, files.write_beside),
        Reader("calibrated platform", "p.toml", machines, _read_calibrated, files.write_beside),
        Reader(
            "measured power", "w.csv", files.MEASURED, lambda path: read_power_samples(path, node_names(PLATFORM, None))
        ),
        Reader("what ran where", "t", (files.PLACES, files.TRACES["SWF"]), _read_ran),
        Reader("energy use", "t", (files.PLACES, files.TRACES["sacct"], files.TRACES["sacct's JSON"]), read_usage),
        Reader("shadow's record", "ended-2023-07.txt", (files.TRACES["sacct"], files.PLACES), _read_shadow),
        Reader("expectations", files.EXPECTATIONS_NAME, (files.EXPECTATIONS,), _read_expectations),
        Reader("steering log", files.STEERING_NAME, (files.STEERING,), _read_steering),
        Reader("steered jobs", "squeue", (files.TRACES["squeue's JSON"], files.STEERED), _read_steered),
        Reader("node list", "n.csv", (files.NODE_LIST,), _read_node_list),
        Reader("slurm site", "s", (files.SLURM_SHOWN, files.SLURM_CONF, *files.SLURM_JSON), _read_slurm),
        Reader("simgrid platform", "s.xml", (files.SIMGRID,), _read_simgrid),
        Reader("node states", "s", (files.SLURM_SHOWN, files.NODE_STATES, *files.SLURM_JSON), _read_node_states),
        Reader("events", "e.toml", (files.EVENTS_TOML,), _read_events),
        Reader("comparison", "spec.toml", (files.SPEC_TOML,), load_comparison),
        Reader("cooling", "pue.csv", (files.PUE,), load_pue_table),
        Reader("weather", "w", files.WEATHER, _reads_series(read_weather)),
        Reader("typical year", "y", files.YEARS, _reads_series(read_weather), weight=_OF_YEARS),
        Reader("prices", "s", files.PRICES, _reads_series(read_prices, MONEY)),
        Reader("carbon", "c", files.CARBON, _reads_series(read_carbon)),
        Reader("public weather", "w", files.PUBLIC_WEATHER, _reads_series(read_weather)),
        Reader("public prices", "s", files.PUBLIC_PRICES, _reads_series(read_prices, MONEY)),
        Reader("public carbon", "c", files.PUBLIC_CARBON, _reads_series(read_carbon)),
        Reader("desired profile", "p.csv", (files.PROFILE,), _read_profile),
        Reader("cap", "c.csv", files.CAPS, lambda path: read_cap(path, PLATFORM)),
        Reader("switching", "target.json", (files.TARGET,), lambda path: read_switching(path, PLATFORM)),
        Reader("requests", "requests.json", (files.REQUESTS,), read_requests),
        Reader("controllers", "bmc.toml", (files.CONTROLLERS,), _read_controllers, _write_login),
        Reader("credentials", "login.toml", (files.LOGIN,), _read_login, _write_login),
        Reader("script", "job.sh", (files.SCRIPT,), _read_script),
        Reader("items", "items.jsonl", (files.ITEMS,), _read_items),
        Reader("variables", "job.env", (files.VARIABLES,), read_environment),
        Reader(
            "token",
            TOKEN_FILE,
            ("0123456789abcdef\n",),
            lambda path: read_token(path.parent),
            lambda folder: (folder / TOKEN_FILE).touch(0o600),
        ),
        Reader("programs of tasks", "multi.conf", (files.PROGRAMS,), lambda path: read_programs(path, 8)),
        Reader("found.json", "found.json", (files.FOUND,), lambda path: read_state(path.parent)),
        Reader(
            "target", "target.json", (files.TARGET,), lambda path: (load_target(path, PLATFORM), _read_profile(path))
        ),
        Reader("deadlines", "d.csv", (files.DEADLINES,), _read_deadlines),
        Reader("names", "names.txt", files.NAMES, lambda path: hostlist(node_names(PLATFORM, path))),
        Reader("jobs.csv", "jobs.csv", (files.JOBS, files.JOBS_OF_PARTS), _read_jobs),
        Reader("switching.csv", "switching.csv", (files.SWITCHING,), read_downtime),
        Reader("scale.csv", "scale.csv", (files.SCALE,), lambda path: medians(read_rows(path))),
        Reader("faults.csv", "faults.csv", (files.FAULTS,), lambda path: read_rows(path, scale_faults.READERS)),
        Reader("predictions.csv", "predictions.csv", (files.PREDICTIONS,), read_predictions),
        *_folder("run", files.RUN, lambda path: read_run(path.parent)),
        Reader("instance", "0.json", files.INSTANCES, _read_instance),
        Reader("found.json", "found.json", (files.FOUND_JSON,), lambda path: read_found(path.parent)),
        Reader("scale.json", "scale.json", (files.SCALE_JSON,), lambda path: read_json(path, ScaleRecord)),
        Reader("plan picture", "picture.json", (files.PLAN_PICTURE,), lambda path: read_plan_picture(path.parent)),
        Reader("loop picture", "picture.json", (files.LOOP_PICTURE,), lambda path: read_loop_picture(path.parent)),
        *_folder("plan", plan, lambda path: _exported(path.parent)),
    ]


def readers_of(shared: Path) -> list[Reader]:
    """Those that have real files in `shared`, with some dozens of lines of each."""
    found = [
        Reader(f"trace {path.name}", "t", ("\n".join(read_text(path).splitlines()[:60]) + "\n",), _read_trace)
        for path in sorted((shared / "traces").glob("*.gz"))
        if path.name.endswith((".swf.gz", "2014.csv.gz", "2017.csv.gz", "pod_list_default.csv.gz"))
    ]
    for folder, read in (
        ("prices", _reads_series(read_prices, MONEY)),
        ("weather", _reads_series(read_weather)),
        ("cooling", load_pue_table),
    ):
        for path in sorted((shared / folder).glob("*.csv")):
            head, *lines = path.read_text().splitlines()
            is_year = "dry_bulb_c" in head  # which is read when it is whole
            text = "\n".join([head, *(lines if is_year else lines[-60:]), ""])
            found.append(Reader(f"{folder} {path.name}", "s.csv", (text,), read, weight=_OF_YEARS if is_year else 1.0))
    return found


def _folder(what: str, texts: dict[str, str], read: Read) -> list[Reader]:
    """A reader for each file of a folder that is read as a whole."""

    def beside(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text)

    # What may become of its JSON is tried where the folder is read back.
    tables = {name: text for name, text in texts.items() if not name.endswith(".json")}
    return [Reader(f"{what}'s {name}", name, (text,), read, beside) for name, text in tables.items()]


def _read_trace(path: Path) -> Trace:
    """What `dardis simulate`, `plan`, `trace info` and `trace convert` do before anything is scheduled."""
    trace = read_trace(path)
    malformed = [skip for skip in trace.skipped if skip.malformed]
    try:
        strict = read_trace(path, strict=True)
    except InputError:
        assert malformed, "strict, yet there is no malformed line"
    else:
        assert not malformed, "strict, yet a malformed line was let pass"
        assert len(strict) == len(trace)
    assert len(np.unique(trace.number)) == len(trace)
    references({"trace": path})
    if len(trace) > _MANY:
        return trace
    assert all(skip.reason.isprintable() and len(skip.reason) < 400 for skip in trace.skipped)
    summarise(trace, MACHINE)
    calendar_of(trace)[0].text(int(trace.submit[-1]))
    jobs = to_jobs(trace_that_fits(trace, MACHINE)[0], MACHINE, think_times=True).jobs
    for rule in ("window:90", "factor:1.5", "none"):
        with_deadlines(jobs, trace, rule)
    _check_copies(read_trace(path, not_ended=True), path)
    return trace


def _check_copies(trace: Trace, path: Path) -> None:
    """Write the trace in all forms: what it says of whole jobs comes back."""
    table, swf, batsim = (path.with_name(f"again.{ending}") for ending in ("csv", "swf", "json"))
    placed = in_units(trace, MACHINE)
    write_table(placed, table)
    again = read_table(table)
    for name in ("number", "submit", "wait", "runtime", "walltime", "units", "after", "est", "lst"):
        assert getattr(again, name).tolist() == getattr(placed, name).tolist(), name
    for number in placed.number.tolist():
        assert again.requests.get(number) == placed.requests.get(number), number
    if not write_swf(trace, swf):
        assert read_swf(swf).number.tolist() == trace.number.tolist()
    if is_of_lines(trace, path):
        write_lines(trace, path, swf, "cut")
        assert read_swf(swf, strict=True).submit.tolist() == trace.submit.tolist()
    whole = trace.take(trace.has_ended & (trace.procs > 0))
    if len(whole):
        write_batsim(trace, batsim)
        back = read_trace(batsim)
        for name in ("number", "submit", "runtime", "walltime", "procs", "queue", "user"):
            assert getattr(back, name).tolist() == getattr(whole, name).tolist(), name


def _small_trace(path: Path) -> Trace:
    beside = path.with_name("small.swf")
    beside.write_text(files.SMALL_SWF)
    return read_trace(beside)


def _read_events(path: Path) -> object:
    machine = replace(PLATFORM, queues=(Queue("day"), Queue("night"), Queue("course")))
    return load_events(path, machine, range(100), 0)


def _read_platform(path: Path) -> object:
    """What every command does with a platform, up to what its power costs."""
    platform = load_platform(path)
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(platform)))) == platform
    rename_files(path, "copy-{}".format)
    platform.node_name(platform.node_count - 1)
    if platform.node_count > 10_000:
        return platform
    assert platform.capacity.min() >= 0
    jobs = to_jobs(trace_that_fits(_small_trace(path), platform)[0], platform).jobs
    offset = None if platform.facility.calendar_start is None else platform.facility.calendar_start - jobs[0].submit
    return power_terms(platform, offset, jobs[0].submit, jobs[-1].submit)


def _read_calibrated(path: Path) -> object:
    """What `dardis platform calibrate` writes: the same machine, but for the figure."""
    before, written = load_platform(path), path.with_name("calibrated.toml")
    write_figures(path, written, {0: {("core_w",): 3.25}})
    after = load_platform(written)
    assert after.groups[0].power is not None
    assert after.groups[0].power.core_w == 3.25
    assert replace(after, groups=before.groups) == before
    return after


def _read_ran(path: Path) -> object:
    """What `dardis platform calibrate` makes of a history before anything is fitted."""
    trace, ran = read_started_jobs(path, PLATFORM, node_names(PLATFORM, None))
    assert len(ran.number) <= len(trace)
    assert (ran.end >= ran.start).all()
    assert (ran.total >= 0).all()
    assert all(0 <= node < PLATFORM.node_count for nodes in ran.places.values() for node in nodes)
    return ran


def _read_node_list(path: Path) -> Platform:
    """What `dardis trace convert` writes of it is the same machine."""
    platform = read_node_list(path, ["", "T1|T2"])
    written = path.with_name("p.toml")
    written.write_text(platform_text(platform))
    assert load_platform(written) == platform
    return platform


def _read_node_states(path: Path) -> InitialNodes:
    """How three nodes stand at noon, as said an hour before."""
    groups = (NodeGroup("n", 2, {"cores": 64}, POWER), NodeGroup("g", 1, {"cores": 128}))
    platform = Platform("three", groups)
    return initial_nodes_of(read_node_states(path, platform, ("n0001", "n0002", "g01")), platform, 39_600, 43_200)


def _read_shadow(path: Path) -> RecordedJobs:
    folder = ShadowFolder(path.parent)
    folder.prepare()
    return recorded_jobs(folder.path, folder.record_text(0))


def _read_expectations(path: Path) -> list[LoggedExpectation]:
    return ShadowFolder(path.parent).logged(files.EXPECTATIONS_DAY)


def _read_steering(path: Path) -> OpenDecisions:
    entries = SteeringLog(path.parent).entries()
    compare_with_slurm(entries)
    return OpenDecisions(entries)


def _read_steered(path: Path) -> list[SteeredJob]:
    jobs, _ = steered_jobs(str(path), path.read_text(errors="replace"))
    for job in jobs:
        if job.request is not None:
            any(job.request.needs.permitted(()))
    return jobs


def _read_slurm(path: Path) -> Platform:
    """What `dardis platform import` writes of it is the same machine, with names that mean all of its nodes."""
    site = parse_slurm(path, read_text(path))
    made = platform_of(path, site)
    written = path.with_name("p.toml")
    written.write_text(made.text)
    assert load_platform(written) == made.platform
    names = made.text.split("'", 2)[1]
    assert sorted(names_of(names)) == sorted(node.name for node in site.nodes if site.schedules(node))
    assert all(note.isprintable() for note in made.notes)
    return made.platform


def _read_simgrid(path: Path) -> Platform:
    """The same of Batsim's hosts."""
    made = import_platform(path)
    written = path.with_name("p.toml")
    written.write_text(made.text)
    assert load_platform(written) == made.platform
    assert all(note.isprintable() for note in made.notes)
    return made.platform


def _reads_series(load: Callable[[Path], Any], *money: Money) -> Read:
    def read(path: Path) -> object:
        table, whole = load(path), None
        for within in (None, (MAY + 7200, MAY + 90_000)):
            try:
                whole = table.over(within, *money)
            except InputError:
                if within is not None and whole is None:
                    raise
            else:
                whole.at(np.array([whole.start, whole.end - 1]))
        return whole

    return read


def _read_profile(path: Path) -> object:
    target = read_profile(path, PLATFORM, Split.WHOLE_NODES)
    if target.desired is not None:
        for kind, most in enumerate(PLATFORM.capacity.sum(axis=0)):
            values = target.desired.total(kind).values
            assert (values >= 0).all()
            assert (values <= most).all()
    return target


_THREE = DesiredStates(0, 1, {f"n{n}": 400.0 for n in range(3)}, {}, {})


def _write_login(folder: Path) -> None:
    (folder / "login.toml").write_text(files.LOGIN)
    (folder / "login.toml").chmod(0o600)
    (folder / "bmc.toml").write_text(files.CONTROLLERS)


def _read_controllers(path: Path) -> object:
    return read_controllers(path, path.with_name("login.toml"), _THREE, [*_THREE.most_w])


def _read_login(path: Path) -> object:
    if path.is_file():
        path.chmod(0o600)
    return read_controllers(path.with_name("bmc.toml"), path, _THREE, [*_THREE.most_w])


def _read_script(path: Path) -> object:
    directives = read_directives(read_script(path)[0], path)
    return submit_request(directives.merge_options({}), [], path.name, {}, datetime(2026, 12, 1, tzinfo=UTC))


def _read_items(path: Path) -> object:
    items = parse_items(path.read_bytes(), ItemFormat.JSON, str(path))
    check_items(items, ["{seed}"], ItemFormat.JSON, str(path))
    return [filled_words(["{seed}"], item, is_json=True) for item in items]


def _read_deadlines(path: Path) -> object:
    trace = _small_trace(path)
    jobs = with_deadlines(to_jobs(trace, PLATFORM).jobs, trace, str(path))
    assert all(job.latest is None or job.latest >= job.earliest for job in jobs)
    return jobs


def _read_jobs(path: Path) -> object:
    schedule = read_jobs(path)
    copy = path.with_name("again.csv")
    write_jobs(schedule, copy)
    assert read_jobs(copy).digest() == schedule.digest()
    return schedule


def _read_instance(path: Path) -> DecisionProblem:
    problem = read_instance(path)
    again = path.with_name("again.json")
    again.write_text(json.dumps(problem.plain()))
    assert read_instance(again).plain() == problem.plain()
    return problem


def _exported(path: Path) -> object:
    plan = load_plan(path)
    return [form.export(plan, node_names(plan.platform, None)) for form in FORMATS.values()]
