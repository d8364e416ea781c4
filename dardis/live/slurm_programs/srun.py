"""`srun` within a job: tasks with cores of their own, their output and exit codes.

Tasks outlive the service. Each output byte is written once.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from time import sleep
from typing import Any, Final

from dardis.engine.clock import monotonic_s
from dardis.live.client import Client, current_folder
from dardis.live.exit_codes import TIMED_OUT
from dardis.live.job_option_texts import ALL, is_utf8, read_export, read_walltime
from dardis.live.option_table import FLAG, IGNORED, OPTIONAL, USED, VALUE, GivenOption, OptionTable, options_of
from dardis.live.random_keys import fresh_number
from dardis.live.remote_shell import PAUSE_S, NotRunError, SignalledError, answer_lines, current_run, raise_signals
from dardis.live.slurm_programs.srun_input import InputStream, has_stream, input_file
from dardis.live.slurm_programs.srun_mpi import mpi_library, mpirun_command
from dardis.live.slurm_programs.srun_output import TaskOutput
from dardis.live.slurm_translation import gpu_count
from dardis.live.task_request import TaskRequest
from dardis.model.errors import DardisError, InputError
from dardis.model.files import read_text
from dardis.model.hostlist import names_of
from dardis.model.numbers import whole_number

FORWARDED: Final = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGCONT, signal.SIGALRM)
_LARGEST: Final = 1 << 20
_PIECE: Final = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s'"]+)""")
_NOT_OF_MPI: Final = (
    "label", "output", "error", "input", "nodelist", "exclude", "nodes", "time", "chdir", "overcommit", "gpus-per-task",
    "ntasks-per-node", "export",
)  # fmt: skip
SRUN: Final = OptionTable("srun", {
    **options_of(VALUE, USED, """
        chdir/D cpus-per-task/c error/e exclude/x export gpus/G gpus-per-node gpus-per-task gres input/i job-name/J
        jobid mpi nodelist/w nodes/N ntasks/n ntasks-per-node open-mode output/o time/t"""),
    **options_of(OPTIONAL, USED, "exclusive kill-on-bad-exit/K"),
    **options_of(FLAG, USED, "exact label/l multi-prog overcommit/O overlap unbuffered/u"),
    **options_of(VALUE, IGNORED, """
        account/A acctg-freq comment cores-per-socket core-spec/S cpu-bind cpu-freq distribution/m extra-node-info/B
        gpu-bind gpu-freq gres-flags hint mail-type mail-user mem mem-bind mem-per-cpu mem-per-gpu network
        ntasks-per-core ntasks-per-socket partition/p profile qos/q sockets-per-node threads-per-core tres-bind
        wckey"""),
    **options_of(OPTIONAL, IGNORED, "propagate"),
    **options_of(FLAG, IGNORED, "contiguous disable-status/X no-kill/k quiet/Q spread-job use-min-nodes verbose/v"),
    **options_of(FLAG, "terminals are not supported", "pty"),
    **options_of(OPTIONAL, "files are not copied to nodes: use a common file system", "bcast"),
    **options_of(VALUE, "jobs have one kind of component", "het-group"),
    **options_of(VALUE, "use --nodelist", "relative/r"),
    **options_of(VALUE, "use --kill-on-bad-exit", "wait/W"),
    **options_of(VALUE, "nodes have no features here", "constraint/C"),
    **options_of(FLAG, "submit the job with sbatch", "test-only"),
})  # fmt: skip


def main(words: Sequence[str]) -> int:
    """Run tasks; return the highest exit code. Raises InputError and DardisError."""
    options, command = SRUN.split(words, "srun")
    said: dict[str, GivenOption] = {}
    for option in options:
        if SRUN.supported(option, option.written):
            said[option.name] = option
        else:
            sys.stderr.write(f"srun: warning: {option.written} {option.value}".rstrip() + " is ignored\n")
    if "DARDIS_RUN" not in os.environ:
        raise InputError("srun", "runs only inside jobs", "sbatch --wait SCRIPT, or dardis submit --wait -- COMMAND")
    job, attempt = current_run(os.environ)
    if "jobid" in said and said["jobid"].value != str(job):
        raise InputError("--jobid", said["jobid"].value, f"{job}, the job of this process")
    if ":" in command:
        raise InputError("srun", "':'", "one command: components of jobs are not supported")
    if not command:
        raise InputError("srun", "no command", "a command, or a file with --multi-prog")
    asked = task_request(said, os.environ)
    _run_mpi_program(said, asked, command)
    step = _Step(said, asked, command, job)
    limit = said.get("time")
    ends_s = monotonic_s() + read_walltime(limit.value, limit.written) if limit else None
    return step.run(f"/jobs/{job}/steps", attempt, fresh_number() & ~(2 * _LARGEST - 1), ends_s)


def _run_mpi_program(said: Mapping[str, GivenOption], asked: TaskRequest, command: Sequence[str]) -> None:
    kind = said["mpi"].value if "mpi" in said else ""
    if asked.tasks == 1 or kind == "none" or "multi-prog" in said:
        return
    library = mpi_library(command) or (Path(kind) if kind else None)
    if library is None:
        return
    usual = {"export": ALL, "ntasks-per-node": os.environ.get("SLURM_NTASKS_PER_NODE")}
    given = [said[name] for name in _NOT_OF_MPI if name in said and said[name].value.lower() != usual.get(name)]
    if other := [option.written for option in given]:
        raise InputError("srun", f"{other[0]} with an MPI program", "no such option, or mpirun in its place")
    line = mpirun_command(library, command, asked.tasks, asked.cpus)
    sys.stderr.write(f"srun: note: an MPI program is started with {shlex.join(line[: -len(command)])}\n")
    sys.stderr.flush()
    os.execv(line[0], line)  # noqa: S606 (words, not a shell)


def task_request(said: Mapping[str, GivenOption], environment: Mapping[str, str]) -> TaskRequest:
    """Tasks of options and variables. Raises InputError."""

    def number(option: str, variable: str = "") -> int | None:
        text, place = (
            (said[option].value, said[option].written) if option in said else (environment.get(variable), variable)
        )
        try:
            return whole_number(text, 0, _LARGEST) if text else None
        except ValueError:
            raise InputError(place, repr(text), f"a whole number from 0 to {_LARGEST}") from None

    of_job = number("", "SLURM_NNODES") or 1
    nodelist, exclude = (tuple(names_of(said[one].value)) if one in said else () for one in ("nodelist", "exclude"))
    nodes = number("nodes") or (len(nodelist) or None)
    per_node = number("ntasks-per-node")
    tasks = number("ntasks")
    if tasks is None and per_node is not None:
        tasks = per_node * (nodes or of_job)
    if tasks is None:
        tasks = max(number("", "SLURM_NTASKS") or of_job, nodes or 1) if not nodelist else nodes or 1
    gpus: dict[str, int] = {}
    for option in ("gres", "gpus", "gpus-per-node", "gpus-per-task"):
        if option in said:
            count, _ = gpu_count(said[option].value, said[option].written, of_resources=option == "gres")
            if option == "gpus":
                count = -(-count // (nodes or min(of_job, tasks)))
            gpus["gpus_per_task" if option == "gpus-per-task" else "gpus_per_node"] = count
    if not gpus and (of_task := number("", "SLURM_GPUS_PER_TASK")):
        gpus["gpus_per_task"] = of_task
    cpus = number("cpus-per-task", "SRUN_CPUS_PER_TASK")
    if cpus is None:
        cpus = number("", "SLURM_CPUS_PER_TASK")
    if cpus is None and "exact" not in said:  # the cores of the job that its tasks leave over
        on_node = -(-tasks // min(nodes or of_job, tasks))
        of_batch = environment.get("SLURM_TASKS_PER_NODE", "1").partition("(")[0].partition(",")[0]
        cpus = max((number("", "SLURM_CPUS_ON_NODE") or 1) // max(on_node, int(of_batch)), 1)
    return TaskRequest(
        tasks=tasks, cpus=0 if "overcommit" in said else 1 if cpus is None else cpus,
        nodes=None if nodes is None else min(nodes, tasks), tasks_per_node=per_node, nodelist=nodelist, exclude=exclude,
        overlap="overlap" in said, **gpus,
    )  # fmt: skip


class _Step:
    def __init__(self, said: Mapping[str, GivenOption], asked: TaskRequest, command: Sequence[str], job: int) -> None:
        self._said, self._asked, self._job = said, asked, job
        chdir = said.get("chdir")
        self._cwd = str(Path(current_folder(), chdir.value)) if chdir else current_folder()
        if "multi-prog" in said:
            self._commands = read_programs(Path(command[0]), asked.tasks)
        else:
            self._commands = [list(command)]
        killing = said.get("kill-on-bad-exit")
        text = os.environ.get("SLURM_KILL_BAD_EXIT", "0") if killing is None else killing.value or "1"
        if text not in {"0", "1"}:
            raise InputError("--kill-on-bad-exit", repr(text), "0 or 1")
        self._kills = text == "1"
        self._ends: dict[int, Mapping[str, Any]] = {}
        self._stream: InputStream | None = None
        self._streamed: set[int] | None = None

    def run(self, path: str, attempt: int, first: int, ends_s: float | None) -> int:
        service = Client(Path(os.environ["DARDIS_FOLDER"]))
        try:
            with ExitStack() as stack, raise_signals():
                for number in FORWARDED:
                    signal.signal(number, lambda number, _: self._forward(service, f"{path}/{attempt}.{first}", number))
                body = {
                    "attempt": attempt, "number": first, "request": _as_json(self._asked), "commands": self._commands,
                    "cwd": self._cwd, "environment": _exported(self._said),
                    "seen": [{} for _ in range(self._asked.tasks)],
                    **self._input(stack),
                }  # fmt: skip
                output = TaskOutput(self._said, self._asked.tasks, self._job, stack)
                over = self._follow(service, path, body, output, ends_s)
        except SignalledError as told:
            return 128 + told.number
        finally:
            with suppress(DardisError):  # else the service notices the missing client, or the end of the job
                service.delete(f"{path}/{attempt}.{first}")
        if not over:
            sys.stderr.write("srun: error: the time limit of the step was reached\n")
            return TIMED_OUT
        return max((_exit_code(end) for end in self._ends.values()), default=0)

    def _forward(self, service: Client, path: str, number: int) -> None:
        with suppress(DardisError):
            service.post(f"{path}/signal", {"number": number}, again=False)

    def _input(self, stack: ExitStack) -> dict[str, Any]:
        if "input" in self._said:
            text, place = self._said["input"].value, self._said["input"].written
            if text in {"none", "/dev/null"}:
                return {}
            path = Path(current_folder(), text)
            if not path.is_file():
                raise InputError(place, repr(text), "an existing file, or none")
            return {"stdin": str(path)}
        if (file := input_file()) is not None:
            return {"stdin": str(file)}
        if not has_stream():
            return {}
        self._stream = InputStream(stack, self._asked.tasks)
        return {"stdin_pipes": self._stream.prefix}

    def _follow(
        self, service: Client, path: str, body: dict[str, Any], output: TaskOutput, ends_s: float | None
    ) -> bool:
        pause_s = PAUSE_S[0]
        while True:
            for told in answer_lines(service, path, body):
                pause_s = PAUSE_S[0]
                self._take(told, body, output)
                if len(self._ends) == self._asked.tasks or (self._kills and any(map(_exit_code, self._ends.values()))):
                    return True
                self._check_stream()
                if ends_s is not None and monotonic_s() >= ends_s:
                    return False
            sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S[1])

    def _check_stream(self) -> None:
        if self._stream is not None and self._stream.has_data and len(self._streamed or ()) < self._asked.tasks:
            raise NotRunError.of_message("a pipe as input does not reach tasks on other hosts: use --input FILE")

    def _take(self, told: Mapping[str, Any], body: dict[str, Any], output: TaskOutput) -> None:
        if "places" in told:
            body["places"], body["step"] = told["places"], told["step"]
            output.begin([place[0] for place in told["places"]], told["step"])
            if self._stream is not None and self._streamed is None:
                self._streamed = set(told["near"])
                self._stream.begin(told["near"])
            return
        if "rank" not in told:
            if "refused" in told:
                raise NotRunError.of_message(told["refused"])
            return
        rank, seen = told["rank"], body["seen"][told["rank"]]
        seen["mark"] = told.get("mark", seen.get("mark"))
        for name in ("out", "err"):
            if name in told:
                data = b64decode(told[name])
                output.write(rank, name, data)
                seen[name] = seen.get(name, 0) + len(data)
        if "end" in told or "refused" in told:
            end = told.get("end") or {"code": None, "signal": None, "why": told["refused"]}
            seen["over"], self._ends[rank] = True, end
            output.end(rank)
            if self._stream is not None:
                self._stream.end(rank)
            if _exit_code(end):
                what = f"task {rank}: {_end_text(end)}"
                sys.stderr.write(f"srun: error: {body['places'][rank][0]}: {what}\n")
                sys.stderr.flush()


def _exit_code(end: Mapping[str, Any]) -> int:
    if end["code"] is not None:
        return int(end["code"])
    return NotRunError.exit_status if end["signal"] is None else 128 + int(end["signal"])


def _end_text(end: Mapping[str, Any]) -> str:
    if end["code"] is not None:
        return f"Exited with exit code {end['code']}"
    return str(end["why"]) if end["signal"] is None else f"Killed by signal {end['signal']}"


def _as_json(asked: TaskRequest) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in TaskRequest.__dataclass_fields__}


def _exported(said: Mapping[str, GivenOption]) -> dict[str, str]:
    option = said.get("export")
    text = os.environ.get("SLURM_EXPORT_ENV", ALL) if option is None else option.value
    names, values = read_export(
        "none" if text.upper() == "NIL" else text, "--export" if option is None else option.written
    )
    present = {name: value for name, value in os.environ.items() if is_utf8(name + value)}
    if not isinstance(names, str):
        present = {
            name: value for name, value in present.items() if name in {*names, "PATH"} or name.startswith("SLURM_")
        }
    elif names != ALL:
        present = {name: value for name, value in present.items() if name == "PATH" or name.startswith("SLURM_")}
    if "cpus-per-task" in said:
        values = {"SLURM_CPUS_PER_TASK": said["cpus-per-task"].value, **values}
    return present | values


def read_programs(path: Path, tasks: int) -> list[list[str]]:
    """Commands by rank in a file of --multi-prog. Raises InputError."""
    found: dict[int, list[str]] = {}
    text = re.sub(r"\\\n", " ", read_text(path).replace("\r\n", "\n"))
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or not (words := _quoted_words(line, f"{path}:{number}")):
            continue
        ranks = _ranks(words[0], tasks, found, f"{path}:{number}")
        if len(words) < 2:
            raise InputError(f"{path}:{number}", "no program", "RANKS PROGRAM [ARGUMENTS]")
        for offset, rank in enumerate(ranks):
            found[rank] = [word.replace("%t", str(rank)).replace("%o", str(offset)) for word in words[1:]]
    if missing := [rank for rank in range(tasks) if rank not in found]:
        raise InputError(path, f"no line for task {missing[0]}", f"a line for each task from 0 to {tasks - 1}")
    return [found[rank] for rank in range(tasks)]


def _quoted_words(line: str, place: str) -> list[str]:
    words: list[list[str]] = []
    end = 0
    for piece in _PIECE.finditer(line):
        gap, end = line[end : piece.start()], piece.end()
        if gap.strip():
            break
        if gap or not words:
            words.append([])
        words[-1].append(piece[piece.lastindex or 0])
    else:
        if not line[end:].strip():
            return ["".join(word) for word in words]
    raise InputError(place, "an open quote", "closed quotes")


def _ranks(text: str, tasks: int, found: Mapping[int, object], place: str) -> list[int]:
    if text == "*":
        return [rank for rank in range(tasks) if rank not in found]
    ranks: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            low = whole_number(first, 0, _LARGEST)
            high = whole_number(last, low, _LARGEST) if dash else low
        except ValueError:
            raise InputError(place, repr(text), "ranks such as 0,2-5, or *") from None
        ranks += range(low, high + 1)
    if ranks and max(ranks) >= tasks:
        raise InputError(place, f"task {max(ranks)}", f"ranks below {tasks}, the number of tasks")
    return ranks
