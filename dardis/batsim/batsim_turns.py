"""Turns of an external scheduler: an instant's events form a message, decisions of the answer become effects.

Events wait for a busy scheduler (`now` of its answer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, Protocol

import numpy as np

from dardis.batsim.batsim_jobs import WORKLOAD, BatsimJobs, JobState
from dardis.batsim.batsim_machine import BatsimMachine, NodeState
from dardis.batsim.batsim_messages import Decision, Event, event, interval_set, kinds_of, message, mistake, read_answer
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.errors import InputError, ProtocolError
from dardis.model.events import Change
from dardis.model.job import FOREVER, ActualJob, Job
from dardis.model.platform import Platform
from dardis.model.resources import UNKNOWN_END
from dardis.turns.turn import Turn
from dardis.wire.effects import Effect, Kill, Placed, Registered, Rejected, Switched
from dardis.workload.slurm_texts import whole_seconds

_COMPUTE, _SLEEP = "0", "1"
"""States of SET_RESOURCE_STATE."""
_STATES: Final = {
    JobState.OVER: "COMPLETED_SUCCESSFULLY",
    JobState.KILLED: "COMPLETED_KILLED",
}
_WALLTIME_REACHED: Final = "COMPLETED_WALLTIME_REACHED"


class Requests(Protocol):
    """Connection."""

    endpoint: str
    timeout_s: int

    def request(self, text: str) -> bytes:
        """Answer. Raises TimeoutError."""

    def close(self) -> None:
        """Close."""


class BatsimTurns:
    """Batsim's side; closes the connection."""

    by_instant = batched = True
    messages = renegotiations = 0

    def __init__(
        self, platform: Platform, jobs: Sequence[ActualJob], trace: str, connect: Callable[[], Requests], *,
        dynamic: bool,
    ) -> None:  # fmt: skip
        """`dynamic`: the scheduler may register jobs. Raises InputError."""
        for job in jobs:
            if job.latest is not None:
                raise InputError(trace, f"job {job.number} has a latest start, unknown to Batsim", "--deadlines none")
        self._trace = trace
        self._dynamic = dynamic
        self._registers = dynamic
        self._jobs = BatsimJobs(jobs, platform)
        self._machine = BatsimMachine(platform, self._jobs.ids)
        self._static = {job.number for job in jobs if not platform.refusal(job.job)}
        """Future jobs of the trace."""
        self._requests: dict[JobId, Job] = {}
        self._starts: dict[JobId, int] = {}
        self._events: list[Event] = []
        """Unsent."""
        self._due: list[tuple[int, int, Callable[[int], Iterable[Effect]]]] = []
        self._order = count()
        self._switching = 0
        """Unfinished switches of nodes."""
        self._ready = 0
        self._has_begun = self._is_over = self._said_last = False
        self._connect = connect
        self._connection: Requests | None = None
        self._handlers: dict[str, Callable[[Decision], Iterable[Effect]]] = {
            "EXECUTE_JOB": self._execute,
            "REJECT_JOB": self._reject,
            "KILL_JOB": self._kill,
            "CALL_ME_LATER": self._call_later,
            "REGISTER_JOB": self._register_job,
            "REGISTER_PROFILE": self._register_profile,
            "SET_RESOURCE_STATE": self._set_state,
            "SET_JOB_METADATA": self._check_metadata,
            "NOTIFY": self._notify,
            "QUERY": self._answer_query,
        }

    # ------------------------------------------------------------------------------------------------------------------
    # See `Turns`.

    def wake(self) -> int:
        """See `Turns.wake`."""
        if not self._has_begun:
            return 0
        waiting = self._ready if self._events else FOREVER
        return min(waiting, self._due[0][0] if self._due else FOREVER)

    def on_wake(self, now: int) -> None:
        """Wait for the instant's end."""

    def on_submit(self, job: Job, place: int, now: int) -> Iterable[Turn]:  # noqa: ARG002 (ids name jobs)
        """Report the job."""
        self._requests[job.number] = job
        self._jobs.unsettled.add(job.number)
        if job.earliest > now:
            self._put(job.earliest, partial(self._announce, job))
        else:
            self._announce(job, now)
        return ()

    def on_job_ends(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """Report ends."""
        for job in jobs:
            truth = self._jobs.truth[job]
            state = JobState.KILLED if self._jobs.states[job] is JobState.KILLED else JobState.OVER
            self._jobs.settle(job, state)
            cut = state is JobState.OVER and truth.runtime > self._requests[job].walltime
            cores = self._machine.give_back(job, now)
            self._say(now, "JOB_COMPLETED", {
                "job_id": self._jobs.ids[job],
                "job_state": _WALLTIME_REACHED if cut else _STATES[state],
                "return_code": -1 if cut or state is JobState.KILLED else 0,
                "kill_reason": "Walltime reached" if cut else "",
                "alloc": interval_set(cores),
            })  # fmt: skip
        return ()

    def on_change(self, change: Change, now: int) -> Iterable[Turn]:
        """Raise ProtocolError."""
        raise ProtocolError(f"{type(change).__name__} at {now} s, which Batsim's protocol does not know")

    def on_instant_end(self, now: int, *, last: bool) -> Iterator[Turn]:
        """Exchange messages until none is due. Raises InputError."""
        if self._is_over:
            return
        try:
            yield from self._exchange_all(now)
            if not (self._events or self._jobs.unsettled or self._static or self._registers or self._switching):
                self._is_over = True
                self._due.clear()
                self._exchange([event("SIMULATION_ENDS", now, {})], now)
            else:
                self._check_deadlock(now, last=last)
        except BaseException:
            self._is_over = True
            raise
        finally:
            if self._is_over and self._connection is not None:
                self._connection.close()

    def next_switch(self) -> int:
        """See `Turns.next_switch`."""
        return FOREVER

    def switch(self, now: int) -> Iterable[Turn]:  # noqa: ARG002 (the scheduler switches)
        """See `Turns.switch`."""
        return ()

    # ------------------------------------------------------------------------------------------------------------------
    # Messages.

    def _exchange_all(self, now: int) -> Iterator[Turn]:
        if not self._has_begun:
            self._has_begun = True
            self._connection = self._connect()
            self._exchange([event("SIMULATION_BEGINS", now, self._beginning())], now)
        while True:
            while self._due and self._due[0][0] <= now:
                if effects := tuple(heappop(self._due)[2](now)):
                    yield Turn(effects)
            if not self._static and not self._said_last:
                self._said_last = True
                self._say(now, "NOTIFY", {"type": "no_more_static_job_to_submit"})
            if not self._events or self._ready > now:
                return
            events, self._events = self._events, []
            self._exchange(events, now)

    def _exchange(self, events: list[Event], now: int) -> None:
        assert self._connection is not None
        kinds = kinds_of(events)
        try:
            answer = self._connection.request(message(now, events))
        except TimeoutError:
            limit = f"no answer from {self._connection.endpoint} within {self._connection.timeout_s} s"
            raise mistake(kinds, now, limit, "a scheduler that answers (--batsim-timeout)") from None
        self._ready, decisions = read_answer(answer, now, kinds)
        for decision in () if self._is_over else decisions:
            self._put(decision.at, partial(self._perform, decision))

    def _perform(self, decision: Decision, now: int) -> Iterable[Effect]:  # noqa: ARG002 (it is the decision's)
        handler = self._handlers.get(decision.kind)
        if handler is None:
            raise decision.mistake("is not supported", f"one of {', '.join(self._handlers)}")
        return handler(decision)

    def _put(self, at: int, act: Callable[[int], Iterable[Effect]]) -> None:
        heappush(self._due, (at, next(self._order), act))

    def _say(self, now: int, kind: str, data: dict[str, Any]) -> tuple[()]:
        self._events.append(event(kind, now, data))
        return ()

    def _say_later(self, at: int, kind: str, data: dict[str, Any]) -> None:
        self._put(at, lambda now: self._say(now, kind, data))

    def _announce(self, job: Job, now: int) -> Iterable[Effect]:
        self._static.discard(job.number)
        self._jobs.states[job.number] = JobState.WAITING
        self._say(now, "JOB_SUBMITTED", self._jobs.description(job))
        return ()

    def _beginning(self) -> dict[str, Any]:
        dynamic = self._dynamic
        return {
            "nb_resources": self._machine.count,
            "nb_compute_resources": self._machine.count,
            "nb_storage_resources": 0,
            "allow_compute_sharing": False,
            "allow_storage_sharing": False,
            "allow_time_sharing_on_compute": False,
            "allow_time_sharing_on_storage": False,
            "config": {
                "redis-enabled": False,
                "profiles-forwarded-on-submission": False,
                "dynamic-jobs-enabled": dynamic,
                "dynamic-jobs-acknowledged": dynamic,
                "forward-unknown-events": False,
                "redis": {"enabled": False},
                "job_submission": {
                    "forward_profiles": False,
                    "from_scheduler": {"enabled": dynamic, "acknowledge": dynamic},
                },
            },
            "compute_resources": self._machine.resources(),
            "storage_resources": [],
            "workloads": {WORKLOAD: self._trace},
            "profiles": self._jobs.profiles,
        }

    def _check_deadlock(self, now: int, *, last: bool) -> None:
        if not last or self.wake() < UNKNOWN_END:
            return
        states = [(job, self._jobs.states[job]) for job in sorted(self._jobs.unsettled)]
        if any(state is not JobState.WAITING for _, state in states):
            return
        if states:
            found = f"no event follows, but jobs wait: {len(states)}, first {self._jobs.ids[states[0][0]]}"
            raise mistake("last answer", now, found, "EXECUTE_JOB, REJECT_JOB or CALL_ME_LATER")
        raise mistake("last answer", now, "no event follows, but jobs may be registered", "registration_finished")

    # ------------------------------------------------------------------------------------------------------------------
    # Decisions.

    def _execute(self, decision: Decision) -> Iterable[Effect]:
        job, now = self._jobs.find_waiting(decision), decision.at
        cores = decision.cores("alloc", self._machine.count)
        if any(decision.data.get(key) for key in ("storage_mapping", "additional_io_job")):
            raise decision.mistake("storage_mapping or additional_io_job", "a job without input and output")
        if decision.data.get("mapping"):
            _check_mapping(decision, len(cores))
        try:
            nodes, units = self._machine.take(self._requests[job], cores, now)
        except ValueError as error:
            raise decision.mistake(f"job {self._jobs.ids[job]} on {decision.text('alloc')!r}: {error}") from None
        self._jobs.states[job] = JobState.RUNNING
        self._starts[job] = now
        return (Placed(job, now, nodes, units),)

    def _reject(self, decision: Decision) -> Iterable[Effect]:
        job = self._jobs.find_waiting(decision)
        self._jobs.settle(job, JobState.OVER)
        return (Rejected(job, "rejected by the scheduler"),)

    def _kill(self, decision: Decision) -> Iterable[Effect]:
        names, now = decision.texts("job_ids"), decision.at
        found = [self._jobs.find(decision, name) for name in names]
        if any(self._jobs.states[job] is JobState.RUNNING and self._starts[job] == now for job in found):
            self._put(now + 1, partial(self._perform, replace(decision, at=now + 1)))  # a job runs at least 1 s
            return ()
        progress: dict[str, Any] = {}
        kills: list[Effect] = []
        for name, job in zip(names, found, strict=True):
            if self._jobs.states[job] is JobState.WAITING:
                raise decision.mistake(f"job {name!r} waits", "a job that runs or has run")
            if self._jobs.states[job] is JobState.RUNNING:
                self._jobs.states[job] = JobState.KILLED
                progress[name] = self._jobs.progress(job, now - self._starts[job])
                kills.append(Kill(job, 0))
        said = {"job_ids": names, "job_progress": progress}
        self._say_later(now, "JOB_KILLED", said)  # after JOB_COMPLETED
        return kills

    def _call_later(self, decision: Decision) -> Iterable[Effect]:
        at, now = decision.seconds("timestamp"), decision.at
        if at <= now:
            raise decision.mistake(f"asks for a call at {at} s", "a later time")
        self._say_later(max(now + 1, whole_seconds(at)), "REQUESTED_CALL", {})
        return ()

    def _register_profile(self, decision: Decision) -> Iterable[Effect]:
        self._check_registers(decision)
        self._jobs.add_profile(decision)
        return ()

    def _register_job(self, decision: Decision) -> Iterable[Effect]:
        self._check_registers(decision)
        return (Registered(self._jobs.add_job(decision)),)

    def _check_registers(self, decision: Decision) -> None:
        if not self._registers:
            expected = "continue_registration first" if self._dynamic else "a run with --batsim-dynamic"
            raise decision.mistake("registration is closed", expected)

    def _set_state(self, decision: Decision) -> Iterable[Effect]:
        cores, state, now = decision.cores("resources", self._machine.count), decision.text("state"), decision.at
        if state not in (_COMPUTE, _SLEEP) or not len(cores):
            raise decision.mistake(f"state {state!r} of {len(cores)} resources", "0 (on) or 1 (off) of some resources")
        up = state == _COMPUTE
        try:
            nodes = self._machine.nodes_to_switch(cores, up=up)
        except ValueError as error:
            raise decision.mistake(f"state {state!r}: {error}") from None
        spans = (self._machine.power.boot_s if up else self._machine.power.shutdown_s)[nodes]
        self._machine.enter(nodes, NodeState.SWITCHING_ON if up else NodeState.SWITCHING_OFF, now)
        after = NodeState.IDLE if up else NodeState.SLEEPING
        for span in np.unique(spans).tolist():
            self._switching += 1
            self._put(now + span, partial(self._end_switch, nodes[spans == span], after))
        said = {"resources": interval_set(cores), "state": state}
        self._say_later(now + int(spans.max()), "RESOURCE_STATE_CHANGED", said)
        moments = now + spans if up else np.full(len(nodes), now)
        return (Switched(up, nodes, moments),)

    def _end_switch(self, nodes: Ints, state: NodeState, now: int) -> Iterable[Effect]:
        self._switching -= 1
        self._machine.enter(nodes, state, now)
        return ()

    def _check_metadata(self, decision: Decision) -> Iterable[Effect]:
        self._jobs.number_of(decision, decision.text("job_id"))
        return ()

    def _notify(self, decision: Decision) -> Iterable[Effect]:
        kind = decision.text("type")
        if kind not in {"registration_finished", "continue_registration"}:
            raise decision.mistake(f"type {kind!r}", "registration_finished or continue_registration")
        self._registers = self._dynamic and kind == "continue_registration"
        return ()

    def _answer_query(self, decision: Decision) -> Iterable[Effect]:
        asked = decision.object("requests")
        if asked.keys() != {"consumed_energy"}:
            raise decision.mistake(f"requests {', '.join(asked) or 'nothing'}", "consumed_energy")
        if not self._machine.power.stated:
            raise decision.mistake("consumed_energy: the platform states no power of some nodes")
        self._say(decision.at, "ANSWER", {"consumed_energy": self._machine.joules(decision.at)})
        return ()


def _check_mapping(decision: Decision, resources: int) -> None:
    mapping = decision.object("mapping")
    try:
        places = sorted(int(place) for place in mapping.values())
        ranks = sorted(map(int, mapping))
    except (TypeError, ValueError):
        raise decision.mistake(f"mapping {mapping!r}", "numbers of executors and resources") from None
    if places != [*range(resources)] or ranks != places:
        found = f"mapping of {len(mapping)} executors to {resources} resources"
        raise decision.mistake(found, "one executor on each resource, since resources are cores")
