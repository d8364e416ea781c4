"""A small Slurm in this process: jobs, nodes and reservations, and the calls of a steerer.

It starts jobs of an active reservation only on their required nodes, and all other jobs first come, first served on
the lowest nodes while no reservation is active. Nothing is ever overbooked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kit.slurm_json import document, queue_job

from dardis.model.hostlist import hostlist, names_of
from dardis.slurm.slurm_client import SlurmError, SlurmReply

CONFIG = """Configuration data as of {now}
SelectType              = select/cons_tres
SelectTypeParameters    = {parameters}
"""
PARTITION = "PartitionName=batch OverSubscribe={sharing} State={state} Nodes=n[0-9]\n"
SHOWN_S = 300
DENIED = "scontrol: slurm_update error: Access/permission denied"


@dataclass
class FakeJob:
    """A job that runs for `runtime` s on `nodes` nodes with `cores` each."""

    number: int
    submit: int
    nodes: int
    cores: int
    runtime: int
    limit_min: int = 60
    user: str = "ann"
    partition: str = "batch"
    more: dict[str, object] = field(default_factory=dict)
    """Further keys of its record."""
    array: tuple[int, int | None, str] = (0, None, "")
    blocked: bool = False
    """Whether a limit keeps it from starting."""
    reason: str = "Resources"
    state: str = "PENDING"
    start: int = 0
    end: int = 0
    reservation: str = ""
    required: str = ""
    placed: tuple[str, ...] = ()
    restarts: int = 0
    starts: int = 0

    @property
    def waits(self) -> bool:
        """Whether it waits."""
        return self.state == "PENDING"

    def record(self, version: int, memory: int) -> dict[str, object]:
        """Its record of `squeue --json`."""
        tres = f"cpu={self.nodes * self.cores},mem={self.nodes * memory}M,node={self.nodes},billing=1"
        cells = {
            "JobIDRaw": str(self.number), "User": self.user, "Account": "phys", "Partition": self.partition,
            "QOS": "normal", "JobName": "job", "Submit": str(self.submit), "Eligible": str(self.submit),
            "Start": str(self.start), "End": str(self.end), "TimelimitRaw": str(self.limit_min),
            "NNodes": str(self.nodes), "NCPUS": str(self.nodes * self.cores), "ReqTRES": tres,
            "AllocTRES": "" if self.waits else tres, "State": self.state, "NodeList": hostlist(self.placed),
        }  # fmt: skip
        tasks = {"tasks": self.nodes, "cpus_per_task": self.cores, "restart_cnt": self.restarts}
        texts = {"required_nodes": self.required, "resv_name": self.reservation, "state_reason": self.reason}
        return queue_job(cells, version, array=self.array) | tasks | texts | self.more


class FakeSlurm:
    """Slurm with `count` nodes n0, n1, … of equal cores."""

    def __init__(self, jobs: list[FakeJob], count: int = 4, cores: int = 4, now: int = 1_000_000) -> None:
        self.jobs, self.cores, self.now = jobs, cores, now
        self.nodes = [f"n{place}" for place in range(count)]
        self.states = dict.fromkeys(self.nodes, "IDLE")
        self.node_words = dict.fromkeys(self.nodes, "")
        self.reservations: dict[str, tuple[int, int]] = {}
        self.other_reservations = ""
        self.calls: list[tuple[str, ...]] = []
        self.version, self.memory, self.parameters, self.sharing, self.state = 43, 0, "CR_CORE", "NO", "UP"
        self.partitions = "batch"
        self.clock_ahead = 0
        self.clock_step = 0
        """Of the steerer's clock."""
        self.lingers = False
        """Whether reservations that have ended remain, as while jobs use them."""
        self.lost_answers = ""
        """Calls with this word are carried out, but their answers are lost."""
        self.denies = False
        self.fails_at = -1
        """Number of the call that fails, and all after it: a crash of the steerer."""
        self.trouble = ""
        self.cuts = False

    def call(self, *words: str) -> SlurmReply:
        """Answer a call. Raises SlurmError."""
        if len(self.calls) == self.fails_at:
            raise KeyboardInterrupt
        self.calls.append(words)
        if self.trouble:
            raise SlurmError(self.trouble)
        text = self._answer(words)
        if self.lost_answers and self.lost_answers in " ".join(words):
            raise SlurmError(f"{words[0]} gave no answer within 20 s")
        return SlurmReply(text[: len(text) // 2] if self.cuts and words[0] == "squeue" else text, 0.01)

    def _answer(self, words: tuple[str, ...]) -> str:
        line = " ".join(words)
        if words[0] == "squeue":
            shown = [
                job for job in self.jobs if job.submit <= self.now and (not job.end or self.now < job.end + SHOWN_S)
            ]
            return document("jobs", [job.record(self.version, self.memory) for job in shown], self.version)
        if "show config" in line:
            return CONFIG.format(now=self.now + self.clock_ahead, parameters=self.parameters)
        if "show partition" in line:
            if words[-1] not in self.partitions.split(","):
                raise SlurmError(f"scontrol: Partition {words[-1]} not found")
            return PARTITION.format(sharing=self.sharing, state=self.state)
        if "show node" in line:
            return "".join(map(self._node, self.nodes))
        if "show reservation" in line:
            return self._reservations()
        if self.denies:
            raise SlurmError(DENIED)
        fields = dict(word.partition("=")[::2] for word in words if "=" in word)
        if "create" in words:
            self._create(fields)
        elif "JobId" in fields:
            self._update(fields)
        else:
            self._extend(fields)
        return ""

    def _node(self, name: str) -> str:
        used = sum(job.cores for job in self.jobs if job.state == "RUNNING" and name in job.placed)
        state = self.states[name] + ("+RESERVED" if self.active() else "")
        return (
            f"NodeName={name} {self.node_words[name]} CPUAlloc={used} CPUTot={self.cores} AllocMem=0 RealMemory=4000 "
            f"State={state} ThreadsPerCore=1 Partitions={self.partitions}\n"
        )

    def _reservations(self) -> str:
        own = "".join(
            f"ReservationName={name} StartTime={start} EndTime={end} Duration=1 Nodes={hostlist(self.nodes)} "
            "NodeCnt=1 Flags=FLEX TRES=cpu=1\n"
            for name, (start, end) in self.reservations.items()
            if end > self.now or self.lingers
        )
        return own + self.other_reservations or "No reservations in the system\n"

    def active(self) -> str:
        """Name of the active reservation, or ""."""
        return next((name for name, (start, end) in self.reservations.items() if start <= self.now < end), "")

    def _create(self, fields: dict[str, str]) -> None:
        name = fields["ReservationName"]
        if name == self.active() or (self.lingers and name in self.reservations):
            raise SlurmError("Error creating the reservation: Duplicate reservation name")
        self.reservations[name] = self.now, self.now + 60

    def _extend(self, fields: dict[str, str]) -> None:
        name = fields["ReservationName"]
        if name != self.active() and not (self.lingers and name in self.reservations):
            raise SlurmError("Error updating the reservation: Requested reservation is invalid")
        start, _ = self.reservations[name]
        self.reservations[name] = start, self.now + (0 if fields["EndTime"] == "now" else 60)

    def _update(self, fields: dict[str, str]) -> None:
        job = self._job(fields["JobId"].partition("_[")[0])
        if not job.waits:
            raise SlurmError(f"Job is no longer pending execution for job {job.number}")
        assert fields["Account"] == "phys"  # without it Slurm would shrink running jobs
        reservation = fields.get("ReservationName", job.reservation)
        if "ReservationName" in fields and reservation not in {"", self.active()}:
            raise SlurmError("Requested reservation is invalid")
        job.reservation = reservation
        job.required = fields.get("NodeList", job.required)

    def _job(self, name: str) -> FakeJob:
        array, _, task = name.partition("_")
        for job in self.jobs:
            if task and job.array[0] == int(array) and job.array[1] == int(task):
                return job
            if task and job.array[0] == int(array) and job.array[2] and job.waits:
                return self._split(job, int(task))
        return next(job for job in self.jobs if job.number == int(array))

    def _split(self, array: FakeJob, task: int) -> FakeJob:
        """A task becomes a job of its own when it is changed."""
        members = [int(one) for one in array.array[2].partition("%")[0].split(",")]
        members.remove(task)
        limit = array.array[2].partition("%")[1:]
        number = array.array[0]
        if not members:
            array.array = number, task, ""
            return array
        own = FakeJob(
            max(job.number for job in self.jobs) + 1, array.submit, array.nodes, array.cores, array.runtime,
            array.limit_min, more=array.more, array=(number, task, ""),
        )  # fmt: skip
        array.array = number, None, ",".join(map(str, members)) + "".join(limit)
        self.jobs.append(own)
        return own

    def schedule(self) -> None:
        """Ends and starts of this second."""
        for job in self.jobs:
            if job.state == "RUNNING" and job.start + min(job.runtime, 60 * job.limit_min) <= self.now:
                job.state, job.end = "COMPLETED", self.now
        active = self.active()
        for job in self.jobs:
            if not active and job.reservation:
                job.reservation = ""
            may = job.waits and job.submit <= self.now and not job.blocked and not job.array[2]
            if may and (not active or job.reservation == active):
                self._try(job)

    def _try(self, job: FakeJob) -> None:
        free = {
            name: self.cores - sum(one.cores for one in self.jobs if one.state == "RUNNING" and name in one.placed)
            for name in self.nodes
            if self.states[name] == "IDLE"
        }
        wanted = names_of(job.required) if job.required else self.nodes
        able = [name for name in wanted if free.get(name, 0) >= job.cores][: job.nodes]
        if len(able) == job.nodes:
            job.state, job.start, job.placed, job.starts = "RUNNING", self.now, tuple(able), job.starts + 1

    def requeue(self, job: FakeJob) -> None:
        """As after a failure of a node."""
        job.state, job.start, job.placed, job.restarts = "PENDING", 0, (), job.restarts + 1
