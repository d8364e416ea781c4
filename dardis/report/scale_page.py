"""Draws `report.html` of scale experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from dardis.config.platform_record import Record
from dardis.config.toml_file import read_json
from dardis.model.loggp import LogGP
from dardis.model.resources import Count
from dardis.report import scale_faults, words
from dardis.report.chart import ChartFormat, write_charts
from dardis.report.run_page import write_page
from dardis.report.scale_beyond import beyond_charts, predicted_table, read_predictions
from dardis.report.scale_charts import charts, manager_charts
from dardis.report.scale_faults import fault_charts, fault_notes
from dardis.report.scale_rows import ALL, ScaleRow, Value, medians, read_rows

_COLUMNS: Final[tuple[tuple[str, str, str, float], ...]] = (
    ("nodes", "Nodes", "", 1), ("ranks", "Ranks", "", 1), ("hosts", "Hosts", "", 1),
    ("task_managers", "Task managers", "", 1), ("overlap", "In flight", "jobs", 1),
    ("arity", "Arity", "", 1), ("sample", "Sample", "", 1),
    ("window_s", "Window", "s", 1), ("reservations", "Reservations", "a node", 1),
    ("jobs", "Jobs", "", 1), ("repeat", "Repeat", "", 1), ("completed", "Com\u00adpleted", "", 1),
    ("rounds", "Rounds", "", 1), ("waves", "Waves", "", 1),
    ("cpu_ns_per_node_job", "CPU", "ns a node and job", 1), ("bytes_per_node", "Memory", "B a node", 1),
    ("message_bytes_per_node_job", "Messages", "B a node and job", 1),
    ("root_message_bytes", "Root's largest", "B", 1), ("chain", "Chain", "messages", 1),
    ("wall_s_per_round", "Round", "ms", 1e3), ("exchange_s_median", "Exchange", "ms, median", 1e3),
    ("predicted_s_per_round", "Predicted", "ms", 1e3), ("collective_s_per_round", "Bare bcast + gather", "ms", 1e3),
    ("mpi_share", "MPI", "%", 1e2), ("jobs_per_s", "Through\u00adput", "jobs/s", 1),
    ("startup_s", "Start-up", "s", 1), ("schedule_digest", "Digest", "", 1),
)  # fmt: skip
_ASKED: Final = ("ranks", "task_managers", "overlap", "arity", "sample", "window_s", "reservations", "jobs", "repeat")
"""Columns omitted if constant."""
_SAME: Final = ("nodes", "overlap", "jobs", "window_s", "reservations", "dispatcher", "seed", "sample")
"""Common to schedules with equal digests."""
_Measured = Annotated[float, Field(ge=0, le=1e15)]


class _Arguments(Record):
    jobs: Count
    dispatcher: str
    hosts_of: Count


class _Network(Record):
    ranks: Count
    latency_ns: _Measured
    send_overhead_ns: _Measured
    receive_overhead_ns: _Measured
    gap_ns: _Measured
    gap_per_byte_ns: _Measured


class ScaleRecord(Record):
    """Displayed part of scale.json."""

    arguments: _Arguments
    networks: dict[str, _Network]
    versions: dict[str, str | None]
    command: list[str]
    started_utc: str
    dardis_version: str
    ranks: Count
    cores: Count
    load: _Measured
    launch_s: _Measured
    runs: Count = 0
    """Planned rows; 0 from older versions."""


def draw_scale_report(out: Path, *, form: ChartFormat | None = None) -> Path:
    """Write `report.html`. With `form`, also charts.

    Raises InputError and OSError.
    """
    is_faulty = (faults := out / "faults.csv").exists()
    rows = read_rows(faults, scale_faults.READERS) if is_faulty else read_rows(out / "scale.csv")
    record = read_json(out / "scale.json", ScaleRecord).model_dump()
    networks = [LogGP(**network) for network in record["networks"].values()]
    predictions = read_predictions(out / "predictions.csv")
    if is_faulty:
        columns, asked, repeated = scale_faults.COLUMNS, scale_faults.ASKED, rows
        said, drawn = fault_notes(rows), fault_charts(rows)
    else:
        columns, asked, repeated = _COLUMNS, _ASKED, medians(rows)
        said = notes(rows, record)
        drawn = [*charts(repeated), *beyond_charts(repeated, predictions), *manager_charts(repeated, networks)]
    if (missing := record["runs"] - len(rows)) > 0:
        said = [f"Not finished: {missing} of {record['runs']} runs are missing, since the command was stopped.", *said]
    alike = {name for name in asked if len({row.values[name] for row in rows}) == 1}
    shown = [column for column in columns if column[0] not in alike and any(row.has(column[0]) for row in rows)]
    in_all = [
        f"{name.lower()} {_cell(rows[0].values[key], by)}" for key, name, _, by in columns if key in alike - {"repeat"}
    ]
    path = out / "report.html"
    arguments = record["arguments"]
    write_page(
        path,
        "scale.html.j2",
        title="Scale",
        lead=f"{len(repeated)} experiments of {words.number(arguments['jobs'])} jobs under {arguments['dispatcher']}",
        notes=said,
        charts=drawn,
        predicted=predicted_table(predictions),
        columns=[(name, unit) for _, name, unit, _ in shown],
        rows=[[_cell(row.values[name], by) for name, _, _, by in shown] for row in rows],
        setup=[("common to all experiments", ", ".join(in_all)), *setup(record, networks)],
    )
    if form is not None:
        write_charts(out, {"": drawn}, form)
    return path


def notes(rows: Sequence[ScaleRow], record: dict[str, Any]) -> list[str]:
    """Notes for readers."""
    digests: dict[tuple[Value, ...], list[Value]] = {}
    for row in rows:
        # Sampled nodes depend on the task manager's other placements.
        managers = None if row.values["sample"] == ALL else row.values["task_managers"]
        key = (managers, *(row.values[name] for name in _SAME))
        digests.setdefault(key, []).append(row.values["schedule_digest"])
    said = []
    if (repeats := max((int(row.number("repeat")) for row in rows), default=1)) > 1:
        said.append(f"Each experiment ran {repeats} times: charts show medians, the table shows each run.")
    if any(len(set(found)) > 1 for found in digests.values()):
        said.append("Defect: schedules differ between ways to reach the same decision.")
    elif any(len(found) > 1 for found in digests.values()):
        said.append(
            "The same jobs on the same machine have the same schedule for any number of ranks and any tree (with "
            "samples or jobs in flight: if these and the number of task managers are equal)."
        )
    most, cores = max((int(row.number("ranks")) for row in rows), default=1), record["cores"]
    if most > cores:
        said.append(
            f"Up to {most} ranks shared {cores} cores here: times over ranks show the cost of messages, not speed-up."
        )
    if record["load"] > record["ranks"] + cores / 2:
        said.append(
            f"The load average was {record['load']:.1f} on {cores} cores at the start: wall times are longer than on "
            "an idle machine, but predictions from CPU time are not."
        )
    if any(row.values["ranks"] == 1 for row in rows):
        said.append(
            f"One process has one pool of nodes: its hosts of {record['arguments']['hosts_of']} nodes each are "
            "virtual, and their messages are counted, not sent."
        )
    return said


def setup(record: dict[str, Any], networks: Sequence[LogGP]) -> list[tuple[str, str]]:
    """Setup and measured network."""
    said = [("command", " ".join(record["command"])), ("started (UTC)", record["started_utc"])]
    said += [("cores", str(record["cores"])), ("load average at the start", words.number(record["load"]))]
    said += [("start of all processes", words.duration(record["launch_s"]))]
    said += [(name, str(version)) for name, version in record["versions"].items() if version]
    for network in networks:
        latency, sending, receiving, gap = (
            f"{1e-3 * value:.3g} µs"
            for value in (network.latency_ns, network.send_overhead_ns, network.receive_overhead_ns, network.gap_ns)
        )
        per_byte = f"{network.gap_per_byte_ns:.3g} ns"
        measured = (
            f"latency {latency}, sending {sending}, receiving {receiving}, gap {gap} a message, {per_byte} a byte"
        )
        said.append((f"network, {network.ranks} ranks", measured))
    return [*said, ("version", record["dardis_version"])]


def _cell(value: Value, by: float) -> str:
    if value is None:
        return words.NOTHING
    if isinstance(value, str):
        return value[:12]
    return words.number(value * by)
