"""Kernel compilation by a tiny simulation."""

from __future__ import annotations

from dataclasses import replace

from dardis.kernels.jit import lock_compilation
from dardis.model.addresses import HostId, JobId
from dardis.model.choices import Expecting
from dardis.model.errors import InputError
from dardis.model.events import JobChanged
from dardis.model.job import ActualJob, Job, Part, Request
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split, Target
from dardis.registry import BUILT_IN_DISPATCHERS, Dispatcher, find_dispatcher
from dardis.runs.hosts import even_bounds, host_of
from dardis.runs.play import HostAssignment, followed_profile, play_over
from dardis.sim.simulation import NO_HOSTS
from dardis.task_manager.setups import EVERY_HOST, Reach
from dardis.transport.local_transport import LocalHosts, LocalPool

_MACHINE = Platform("tiny", (NodeGroup("n", 4, {"cores": 2}),))
_DESIRED = DesiredProfile(_MACHINE, {0: StepFunction.from_steps(8, [(30, 6), (90, 4)])})


def _job(number: int, submit: int, units: int, cores: int, walltime: int, runtime: int) -> ActualJob:
    return ActualJob(Job(JobId(number), submit, submit, submit + 600, walltime, units, (cores,), 1), runtime)


_JOBS = (
    _job(1, 0, 2, 2, 240, 20), _job(2, 0, 4, 2, 80, 30), _job(3, 0, 1, 1, 200, 5), _job(4, 2, 2, 2, 60, 60),
    _job(5, 2, 4, 1, 60, 60),
)  # fmt: skip
_EVENTS = (JobChanged(3, JobId(5), walltime=50),)
_PARTS = Request((Part(1, (2,), 1), Part(1, (1,), 1, nodes=1)), 60)
_OF_PARTS = ActualJob(Job(JobId(6), 3, 3, 603, 60, 2, (2,), 1, requests=(_PARTS,)), 10)


def warm_kernels(
    dispatcher: Dispatcher, reach: Reach = EVERY_HOST, *, wished: bool = False, task_managers: int = 1, hosts: int = 1
) -> None:  # fmt: skip
    """Compile or load a dispatcher's kernels for one or several `hosts`.

    `wished`: with a desired profile. Nothing for an external dispatcher with own builder.
    """
    ours = dispatcher if not dispatcher.origin else _equal_builtin(dispatcher)
    if ours is None:
        return
    try:
        ours.setup.check_platform(_MACHINE)
    except InputError:  # a setting names a resource absent from this machine
        ours = find_dispatcher(ours.name)
    setup, target = ours.setup, Target(replace(_DESIRED, split=ours.setup.profile_split) if wished else None)
    hosts = min(hosts, 2) if setup.asks_nodes else 1
    desired, bounds = followed_profile(ours, target), even_bounds(_MACHINE.node_count, hosts)
    profile = 2 if wished and setup.profile_split is Split.SHARED else int(wished)
    what = f"{ours.name}-{hosts}-{task_managers > 1:d}{profile}{reach.arity > 0:d}{reach.sample > 0:d}"
    jobs: tuple[ActualJob, ...]
    events: tuple[JobChanged, ...]
    with lock_compilation(what) as is_compiled:
        if is_compiled:  # rare kernels load on demand; solvers load slowly
            jobs, events = _JOBS[:1] if hasattr(setup, "model") else _JOBS, ()
        elif setup.obeys_shapes and setup.expecting in (None, Expecting.WALLTIME) and desired is None:
            jobs, events = (*_JOBS, _OF_PARTS), _EVENTS
        else:
            jobs, events = _JOBS, _EVENTS
        over = HostAssignment(NO_HOSTS, bounds)
        if setup.asks_nodes:
            nodes = [host_of(_MACHINE, desired, bounds, HostId(host), 1, ours.pool) for host in range(hosts)]
            over = HostAssignment(LocalHosts(nodes) if hosts > 1 else LocalPool(nodes[0].pool), bounds)
        for happens, some in ((events, jobs), ((), _JOBS)) if events and desired is None else ((events, jobs),):
            play_over(
                over, _MACHINE, some, ours, target, 1, task_managers=task_managers, reach=reach, progress=None,
                events=happens,
            )  # fmt: skip


def warm_reach(dispatcher: Dispatcher) -> None:
    """Compile the kernels for all nodes at once, a tree, and samples."""
    for reach in (EVERY_HOST, Reach(arity=2), Reach(sample=1)):
        for hosts in (1, 2):
            warm_kernels(dispatcher, reach, hosts=hosts)


def _equal_builtin(dispatcher: Dispatcher) -> Dispatcher | None:
    names = [name for name, ours in BUILT_IN_DISPATCHERS.items() if ours.builder is dispatcher.builder]
    return find_dispatcher(names[0]) if names else None
