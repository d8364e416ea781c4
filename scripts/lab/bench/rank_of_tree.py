"""What each rank runs that `over_ranks` launches: questions through a tree, and the same bytes by MPI alone, in turns.

Rank 0 prints what they took as JSON.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import sys
from functools import partial
from pathlib import Path

from mpi4py import MPI

from dardis.engine.clock import cpu_ns, monotonic_s
from dardis.model.addresses import FIRST_HOST, HostId, split_hosts
from dardis.runs.kernel_warmup import warm_reach
from dardis.scale.experiment import RankGroup
from dardis.scale.measure import bare_collective_s, drive_turns, filled_host
from dardis.scale.scale_run import ScaleRequest
from dardis.transport.mpi_transport import broadcast, run_or_abort, world
from dardis.transport.rank_groups import largest, usable_cores, wait_for_all

REPETITIONS = 31
_TAG = 21


class TimedCommunicator(MPI.Intracomm):
    """A communicator that knows what CPU time passes between having a message and waiting for the next."""

    def __init__(self, comm: MPI.Intracomm) -> None:  # noqa: ARG002 (its handle is taken before)
        """Nothing has come yet."""
        self.busy_ns = 0
        self._since: int | None = None

    def Mprobe(  # noqa: N802 (MPI's name)
        self, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None
    ) -> MPI.Message:
        """Wait for a message."""
        if self._since is not None:
            self.busy_ns += cpu_ns() - self._since
        message = super().Mprobe(source, tag, status)
        self._since = cpu_ns()
        return message


class BareTree:
    """A rank's place in a tree of messages that hold nothing: so many bytes down, and so many up."""

    def __init__(self, comm: MPI.Intracomm, arity: int) -> None:
        """Find whom it hears and tells, as a relaying host does."""
        self._comm = comm
        self.parent, self.children = FIRST_HOST, list[HostId]()
        first, last = FIRST_HOST, comm.size
        while True:
            parts = split_hosts(first + 1, last, arity)
            if first == comm.rank:
                self.children = [child for child, _ in parts]
                return
            self.parent = first
            first, last = next(part for part in parts if part[0] <= comm.rank < part[1])

    def pass_s(self, down_bytes: int, up_bytes: int) -> float:
        """How long it takes from the root's first message until it has all answers: the median; all ranks call it."""
        down, up = bytearray(down_bytes), bytearray(up_bytes)
        answers = [bytearray(up_bytes) for _ in self.children]
        self._comm.Barrier()
        taken = []
        for _ in range(REPETITIONS):
            begun = monotonic_s()
            self._pass(down, up, answers)
            taken.append(monotonic_s() - begun)
        return statistics.median(taken)

    def _pass(self, down: bytearray, up: bytearray, answers: list[bytearray]) -> None:
        comm = self._comm
        if comm.rank != FIRST_HOST:
            comm.Recv(down, source=self.parent, tag=_TAG)
        sent = [comm.Isend(down, dest=child, tag=_TAG) for child in self.children]
        for child, answer in zip(self.children, answers, strict=True):
            comm.Recv(answer, source=child, tag=_TAG)
        for request in sent:
            request.Wait()
        if comm.rank != FIRST_HOST:
            comm.Send(up, dest=self.parent, tag=_TAG)


def measure(comm: MPI.Intracomm, nodes: int, arity: int, jobs: int, repeats: int) -> dict[str, list[float]] | None:
    """What each turn took, in s; on rank 0. `leaf` and `relay` are CPU s of a question, the median of such ranks.

    `peak_mib` is the memory of the largest rank so far.
    """
    [what] = ScaleRequest((nodes,), jobs, Path(), arities=(arity,)).experiments(comm.size)
    warm_reach(what.dispatcher)
    gc.freeze()  # as `dardis scale` does
    bare = BareTree(comm, arity)
    taken: dict[str, list[float]] = {"question": [], "tree": [], "collective": [], "leaf": [], "relay": [],
                                     "peak_mib": []}  # fmt: skip
    for turn in range(repeats + 1):
        noted = TimedCommunicator(comm)
        ground = RankGroup(noted, None, usable_cores(comm))
        driven = drive_turns(what, ground, filled_host(what, comm.rank), None)
        busy = comm.gather((noted.busy_ns, bool(bare.children)))
        collective = bare_collective_s(ground, driven)
        sizes = None if driven is None else [round(driven.ask_bytes), round(driven.answer_bytes)]
        tree_s = bare.pass_s(*broadcast(comm, sizes))
        peak_mib = largest(comm, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        if driven is None or busy is None or collective is None or not turn:
            continue  # the first touches what has not been touched yet
        taken["question"].append(driven.exchange_s or 0.0)
        taken["tree"].append(tree_s)
        taken["collective"].append(collective)
        taken["peak_mib"].append(peak_mib)
        for kind, inner in (("leaf", False), ("relay", True)):
            of_kind = [ns for ns, has_children in busy[1:] if has_children == inner] or [0]
            taken[kind].append(statistics.median(of_kind) / driven.rounds / 1e9)
    wait_for_all(comm)
    return taken if comm.rank == 0 else None


def main(arguments: list[str]) -> None:
    """Take nodes, arity, jobs and repeats, and print what was measured."""
    comm = world()
    nodes, arity, jobs, repeats = map(int, arguments)
    taken = run_or_abort(comm, partial(measure, comm, nodes, arity, jobs, repeats))
    if taken is not None:
        sys.stdout.write(json.dumps(taken) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
