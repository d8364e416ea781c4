"""`sinfo`: lists nodes by state."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dardis.live.client import Client, service_folder
from dardis.live.job_option_texts import UNLIMITED_S
from dardis.live.option_table import FLAG, IGNORED, USED, VALUE, OptionTable, options_of
from dardis.live.slurm_names import PARTITION
from dardis.live.slurm_programs.slurm_jobs import limit_text
from dardis.live.slurm_programs.slurm_table import line_of, read_format
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist, names_of

PROGRAM: Final = OptionTable("sinfo", {
    **options_of(VALUE, USED, "format/o nodes/n partition/p states/t"),
    **options_of(FLAG, USED, "Node/N long/l noheader/h"),
    **options_of(VALUE, IGNORED, "clusters/M sort/S"),
    **options_of(FLAG, IGNORED, "all/a exact/e hide local responding/r verbose/v"),
})  # fmt: skip
USUAL: Final = "%.9P %.5a %.10l %.6D %.6t %N"
BY_NODE: Final = "%N %.6D %.9P %6t"
LONG_BY_NODE: Final = "%N %.6D %.9P %.11T %.4c %.8m %.8f %20E"
LONG: Final = "%.9P %.5a %.10l %.6D %.9T %.4c %.8m %N"
Node = Mapping[str, Any]
Group = Sequence[Node]
_SHORT: Final = {"draining": "drng", "drained": "drain", "allocated": "alloc", "mixed": "mix"}


def state_of(node: Node) -> str:
    """Slurm's state of a node."""
    if node["silent"]:
        return "down*"
    if node["state"] != "up":
        return str(node["state"])
    used = node["used_cores"]
    return "idle" if not used else "allocated" if used >= node["cores"] else "mixed"


def _cores(group: Group) -> str:
    total, used = sum(node["cores"] for node in group), sum(node["used_cores"] for node in group)
    closed = sum(node["cores"] - node["used_cores"] for node in group if node["silent"] or node["state"] != "up")
    return f"{used}/{total - used - closed}/{closed}/{total}"


def _common(key: str, group: Group) -> str:
    values = sorted({node[key] for node in group})
    return f"{values[0]}" + ("+" if len(values) > 1 else "")


def _gpus(group: Group) -> str:
    return f"gpu:{_common('gpus', group)}" if any(node["gpus"] for node in group) else "(null)"


def fields_of(max_time_s: int) -> dict[str, tuple[str, Callable[[Group], str]]]:
    """Header and text of each field. `max_time_s`: longest walltime of the service."""
    limit = "infinite" if max_time_s == UNLIMITED_S else limit_text({"walltime_s": max_time_s})
    return {
        "P": ("PARTITION", lambda _: f"{PARTITION}*"), "R": ("PARTITION", lambda _: PARTITION),
        "a": ("AVAIL", lambda _: "up"), "l": ("TIMELIMIT", lambda _: limit),
        "D": ("NODES", lambda group: str(len(group))),
        "N": ("NODELIST", lambda group: hostlist(node["name"] for node in group)),
        "n": ("HOSTNAMES", lambda group: ",".join(node["name"] for node in group)),
        "t": ("STATE", lambda group: _SHORT.get(state_of(group[0]), state_of(group[0]))),
        "T": ("STATE", lambda group: state_of(group[0])), "c": ("CPUS", lambda group: _common("cores", group)),
        "m": ("MEMORY", lambda group: _common("memory_mib", group)), "C": ("CPUS(A/I/O/T)", _cores),
        "G": ("GRES", _gpus), "E": ("REASON", lambda group: group[0]["why"] or "none"),
        "f": ("AVAIL_FEATURES", lambda _: "(null)"),
        "X": ("SOCKETS", lambda _: "1"), "Y": ("CORES", lambda group: _common("cores", group)),
        "Z": ("THREADS", lambda _: "1"),
    }  # fmt: skip


def main(words: Sequence[str]) -> int:
    """List nodes. Raises InputError and DardisError."""
    said: dict[str, str] = {}
    options, left = PROGRAM.split(words, "sinfo")
    for option in options:
        if PROGRAM.supported(option, option.written):
            said[option.name] = option.value
    if left:
        raise InputError("sinfo", repr(left[0]), "options such as --Node")
    service = Client(service_folder(None))
    fields = fields_of(service.get("/status")["max_time_s"])
    usual = BY_NODE if "Node" in said else os.environ.get("SINFO_FORMAT", USUAL)
    if "long" in said:
        usual = LONG_BY_NODE if "Node" in said else LONG
    columns = read_format(said.get("format", usual), fields)
    nodes: list[Node] = service.get("/nodes")["nodes"]
    if "nodes" in said:
        names = {*names_of(said["nodes"])}
        nodes = [node for node in nodes if node["name"] in names]
    if "states" in said:
        states = {*said["states"].lower().split(",")}
        nodes = [node for node in nodes if states & {state_of(node), _SHORT.get(state_of(node), "")}]
    if "partition" in said and PARTITION not in said["partition"].split(","):
        nodes = []
    groups: dict[object, list[Node]] = {}
    for node in nodes:
        groups.setdefault(
            node["name"] if "Node" in said else (state_of(node), node["cores"], node["memory_mib"]), []
        ).append(node)
    lines = [] if "noheader" in said else [line_of(columns, lambda field: fields[field][0])]
    lines += [line_of(columns, lambda field, group=group: fields[field][1](group)) for group in groups.values()]  # type: ignore[misc]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0
