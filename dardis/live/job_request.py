"""Job requests: fields, checks and JSON format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import PurePath
from typing import Any, Final, Literal

from dardis.live.job_option_texts import (
    ALL,
    DEFAULT_GRACE_S,
    DEFAULT_RETRY_DELAY_S,
    DEFAULT_WALLTIME_S,
    EXPORTS,
    LAST_MOMENT_MS,
    MOST_AFTER,
    MOST_CPUS,
    MOST_GPUS,
    MOST_MEMORY_MIB,
    MOST_NODE_WATTS,
    MOST_NODES,
    MOST_PATH,
    MOST_PRIORITY,
    MOST_RETRIES,
    MOST_RETRY_DELAY_S,
    MOST_SIGNAL_S,
    MOST_WALLTIME_S,
    NONE,
    SIGNAL_NUMBERS,
    Array,
    Dependency,
    LimitSignal,
    check_after,
    check_array,
    check_pattern,
    check_text,
    check_variable,
    fill_pattern,
    read_array,
)
from dardis.model.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Job's request, with resources per node. Raises InputError naming the option.

    Tasks and totals determine the amounts of each node: see `on_nodes`.
    """

    argv: tuple[str, ...]
    """Command; with a script only arguments."""
    name: str = ""
    """Empty: last part of the first word."""
    array: Array | None = None
    walltime_s: int = DEFAULT_WALLTIME_S
    nodes: int = 1
    most_nodes: int | None = None
    """None: exactly `nodes`."""
    cpus: int = 1
    """Cores of each node, or (if tasks are stated) the least number."""
    memory_mib: int | None = None
    """0: all memory of each node; None: no limit."""
    gpus: int = 0
    tasks: int | None = None
    """None: not stated."""
    tasks_per_node: int | None = None
    cpus_per_task: int | None = None
    memory_per_cpu_mib: int | None = None
    gpus_in_total: int | None = None
    gpus_per_task: int | None = None
    exclusive: bool = False
    """Take all cores and GPUs of nodes."""
    begin_ms: int | None = None
    """Unix ms."""
    deadline_ms: int | None = None
    """Unix ms; a job that no longer fits is cancelled."""
    after: tuple[Dependency, ...] = ()
    after_any: bool = False
    """One of `after` is enough."""
    singleton: bool = False
    """Start after all earlier jobs of the same user and name."""
    export: tuple[str, ...] | Literal["all", "none"] = "all"
    chdir: str | None = None
    """None: folder of the submission."""
    output: str = ""
    """Path pattern; empty: default."""
    error: str = ""
    """Path pattern; empty: equal to output."""
    watts: int | None = None
    """Power added to each node, W; None: by cores and GPUs."""
    priority: int = 0
    """Higher goes first; above 0 only for the service's user."""
    tmp_mib: int = 0
    """Least temporary disk space per node."""
    stdin: str | None = None
    """None: no input."""
    append: bool = False
    """Keep existing content of output files."""
    requeue: bool = False
    hold: bool = False
    grace_s: int | None = None
    """From SIGTERM to SIGKILL; None: default."""
    signal: LimitSignal | None = None
    retries: int = 0
    retry_delay_s: int = DEFAULT_RETRY_DELAY_S
    """Pause before the first retry; doubles."""
    retry_codes: tuple[int, ...] = ()
    """Of `dardis wait`; empty: all failures."""
    partition: str = ""
    comment: str = ""

    def __post_init__(self) -> None:
        usual = "dardis-%j.out" if self.array is None else "dardis-%A_%a.out"
        output = self.output or usual
        left = {"name": self.name or PurePath(*self.argv[:1]).name or "job", "output": output}
        for name, value in {**left, "error": self.error or output}.items():
            object.__setattr__(self, name, value)
        self._check_texts()
        for option, number, least, most in (
            ("--time", self.walltime_s, 1, MOST_WALLTIME_S),
            ("--nodes", self.nodes, 1, MOST_NODES),
            ("--cpus", self.cpus, 1, MOST_CPUS),
            ("--gpus", self.gpus, 0, MOST_GPUS),
            ("--nodes", self.most_nodes, self.nodes, MOST_NODES),
            ("--mem", self.memory_mib, 0, MOST_MEMORY_MIB),
            ("--mem-per-cpu", self.memory_per_cpu_mib, 1, MOST_MEMORY_MIB),
            ("--ntasks", self.tasks, 1, MOST_CPUS),
            ("--ntasks-per-node", self.tasks_per_node, 1, MOST_CPUS),
            ("--cpus-per-task", self.cpus_per_task, 1, MOST_CPUS),
            ("--gpus", self.gpus_in_total, 0, MOST_GPUS),
            ("--grace", self.grace_s, 0, MOST_WALLTIME_S),
            ("--retries", self.retries, 0, MOST_RETRIES),
            ("--retry-delay", self.retry_delay_s, 0, MOST_RETRY_DELAY_S),
            *(("--retry-codes", code, 1, 255) for code in self.retry_codes),
            ("--priority", self.priority, -MOST_PRIORITY, MOST_PRIORITY),
            ("--watts", self.watts, 1, MOST_NODE_WATTS),
            ("--tmp", self.tmp_mib, 0, MOST_MEMORY_MIB),
            ("--begin", self.begin_ms, 0, LAST_MOMENT_MS),
            ("--deadline", self.deadline_ms, 0, LAST_MOMENT_MS),
            ("--signal", None if self.signal is None else self.signal.before_s, 0, MOST_SIGNAL_S),
        ):
            if number is not None and not least <= number <= most:
                raise InputError(option, str(number), f"from {least} to {most}")
        if self.array is not None:
            check_array("--array", self.array)
        if self.signal is not None and self.signal.number not in SIGNAL_NUMBERS:
            raise InputError("--signal", str(self.signal.number), "the number of a signal")
        if self.after_any and any(one.kind == "each" for one in self.after):
            raise InputError("--after", "each: with ?", "commas, as each job of the array waits for another one")
        if len(self.after) > MOST_AFTER:
            raise InputError("--after", f"{len(self.after)} jobs", f"at most {MOST_AFTER}")
        for one in self.after:
            check_after("--after", one)

    def _check_texts(self) -> None:
        for word in self.argv:
            check_text("COMMAND", word)
        check_text("--name", self.name)
        if len(self.name) > 200 or "/" in self.name or not self.name.isprintable():
            raise InputError("--name", repr(self.name), "at most 200 printable characters, without /")
        for option, text in (("--partition", self.partition), ("--comment", self.comment)):
            check_text(option, text)
            if len(text) > 1000 or not text.isprintable():
                raise InputError(option, repr(text), "at most 1,000 printable characters")
        check_text("--chdir", self.chdir or "")
        check_text("--stdin", self.stdin or "")
        if len((self.stdin or "").encode()) > MOST_PATH:
            raise InputError("--stdin", "a path that is too long", f"at most {MOST_PATH} bytes")
        check_pattern("--output", self.output)
        check_pattern("--error", self.error)
        if not isinstance(self.export, str):
            for name in self.export:
                check_variable("--export", name)
        elif self.export not in {ALL, NONE}:
            raise InputError("--export", repr(self.export), EXPORTS)

    @property
    def grace(self) -> int:
        """Time from SIGTERM to SIGKILL, s."""
        return DEFAULT_GRACE_S if self.grace_s is None else self.grace_s

    def amounts_on(self, nodes: int) -> tuple[int, int | None, int]:
        """Cores, memory (MiB) and GPUs on each of so many nodes; tasks and totals divided, rounded up."""
        cpus = self.cpus
        if self.tasks is not None or self.tasks_per_node is not None:
            tasks = -(-self.tasks // nodes) if self.tasks is not None else self.tasks_per_node or 1
            cpus = max(tasks * (self.cpus_per_task or 1), cpus)
        memory = self.memory_mib if self.memory_per_cpu_mib is None else self.memory_per_cpu_mib * cpus
        return cpus, memory, self.gpus if self.gpus_in_total is None else -(-self.gpus_in_total // nodes)

    def on_nodes(self, nodes: int) -> JobRequest:
        """Same request on so many nodes."""
        cpus, memory, gpus = self.amounts_on(nodes)
        return replace(self, nodes=nodes, most_nodes=None, cpus=cpus, memory_mib=memory, gpus=gpus)

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        value = {one: getattr(self, one) for one in _FIELDS}
        value["argv"] = list(self.argv)
        value["array"] = None if self.array is None else str(self.array)
        value["after"] = [asdict(one) for one in self.after]
        value["retry_codes"] = list(self.retry_codes)
        value["signal"] = None if self.signal is None else asdict(self.signal)
        value["export"] = self.export if isinstance(self.export, str) else list(self.export)
        return value

    @classmethod
    def from_dict(cls, value: object, place: str = "jobs") -> JobRequest:
        """From JSON values. Raises InputError."""
        given = dict(_object(value, _FIELDS, place))
        for key, kinds in _KINDS_OF.items():
            if key in given and type(given[key]) not in kinds:
                raise InputError(f"{place}.{key}", repr(given[key]), " or ".join(_KIND_WORDS[kind] for kind in kinds))
        given["argv"] = _texts(given.get("argv", []), f"{place}.argv")
        if (array := given.get("array")) is not None:
            given["array"] = read_array(array, f"{place}.array")
        given["after"] = tuple(
            Dependency(**_typed(one, {"kind": str, "id": int}, f"{place}.after")) for one in given.get("after", [])
        )
        given["retry_codes"] = tuple(given.get("retry_codes", ()))
        if wrong := [code for code in given["retry_codes"] if type(code) is not int]:
            raise InputError(f"{place}.retry_codes", repr(wrong[0]), "whole numbers")
        if (warning := given.get("signal")) is not None:
            kinds_of = {"number": int, "before_s": int, "batch": bool}
            given["signal"] = LimitSignal(**_typed(warning, kinds_of, f"{place}.signal"))
        if isinstance(given.get("export"), list):
            given["export"] = _texts(given["export"], f"{place}.export")
        return cls(**given)


_FIELDS: Final = tuple(field.name for field in fields(JobRequest))
_KIND_WORDS: Final = {
    int: "a whole number", str: "a text", bool: "true or false", list: "a list", type(None): "null",
}  # fmt: skip
_KINDS_OF: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("argv", "after", "retry_codes"), (list,)),
    **dict.fromkeys(("name", "output", "error", "partition", "comment"), (str,)),
    **dict.fromkeys(("walltime_s", "nodes", "cpus", "gpus", "priority", "tmp_mib", "retries", "retry_delay_s"), (int,)),
    **dict.fromkeys(("after_any", "singleton", "exclusive", "append", "requeue", "hold"), (bool,)),
    **dict.fromkeys(("array", "chdir", "stdin"), (str, type(None))),
    **dict.fromkeys((
        "most_nodes", "memory_mib", "tasks", "tasks_per_node", "cpus_per_task", "memory_per_cpu_mib", "gpus_in_total",
        "gpus_per_task",
        "begin_ms", "deadline_ms", "grace_s", "watts",
    ), (int, type(None))),
    "export": (str, list),
}  # fmt: skip


def job_paths(
    asked: JobRequest, job: int, first: int | None, index: int | None, user: str, cwd: str, node: str
) -> tuple[str, str, str]:
    """Absolute paths of working directory, output and error output."""
    chdir = PurePath(cwd, asked.chdir or "")
    output, error = (
        str(chdir / fill_pattern(pattern, job, first, index, asked.name, user, node))
        for pattern in (asked.output, asked.error)
    )
    return str(chdir), output, error


def check_environment(cwd: object, environment: object) -> None:
    """Check a working directory and an environment. Raises InputError."""
    check_text("cwd", cwd)
    if not str(cwd).startswith("/"):
        raise InputError("cwd", repr(cwd), "an absolute path")
    if not isinstance(environment, dict):
        raise InputError("environment", "is no object", "names and values")
    for name, value in environment.items():
        check_text("environment", name)
        check_text(name, value)
        if not name or "=" in name:
            raise InputError("environment", f"a variable can't be called {name!r}")


def _object(value: object, known: tuple[str, ...], place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(place, repr(value), "an object")
    if unknown := [key for key in value if key not in known]:
        raise InputError(place, f"unknown key {unknown[0]!r}", ", ".join(known))
    return value


def _texts(value: list[object], place: str) -> tuple[str, ...]:
    if wrong := [one for one in value if not isinstance(one, str)]:
        raise InputError(place, repr(wrong[0]), "texts")
    return tuple(str(one) for one in value)


def _typed(value: object, kinds: Mapping[str, type], place: str) -> Mapping[str, Any]:
    given = _object(value, tuple(kinds), place)
    if wrong := [key for key, kind in kinds.items() if type(given.get(key)) is not kind]:
        raise InputError(place, repr(value), f"{wrong[0]} as {_KIND_WORDS[kinds[wrong[0]]]}")
    return given
