"""Decisions as files: what comes back is what went in, and what makes no sense is one line with the place."""

import json

import numpy as np
import pytest
from kit.position_problems import NOW, machine, random_problem, running, waiting

from dardis.dispatch.cp.decision_problem import DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.cp.eurora_scheduler import Eurora, EuroraLimits
from dardis.dispatch.cp.instance import read_instance
from dardis.dispatch.cp.pcp_nodes import Pcp14, Pcp19
from dardis.dispatch.cp.pools import Hcp19
from dardis.dispatch.cp.positions.pcp20 import Pcp20
from dardis.model.errors import InputError
from dardis.model.job import Job, Part, Request

TWO_PARTS = Request((Part(2, (2, 0), 3), Part(1, (1, 2), 3)), 5)


def written(path, problem):
    path.write_text(json.dumps(problem.plain()))
    return path


@pytest.mark.parametrize("seed", range(60))
def test_instance_file_round_trips(tmp_path, seed):
    problem = random_problem(seed)
    again = read_instance(written(tmp_path / "i.json", problem))
    assert again.plain() == problem.plain()
    assert again.horizon == problem.horizon
    for model in (Pcp19(), Hcp19(), Pcp20()):
        one, other = model.decide(problem, 1), model.decide(again, 1)
        assert (one.starts, one.objective, one.bound) == (other.starts, other.objective, other.bound)
        for place, (taken, parts) in (one.where or {}).items():
            assert other.where[place][0] == taken
            assert all(np.array_equal(*both) for both in zip(other.where[place][1], parts, strict=True))


SHAPED = DecisionProblem(
    machine((2, 4, 1), (1, 6, 2)),
    NOW,
    (
        running(7, 5, 0, (1, 0), None),
        RunningJobPart(Job(7, 0, 0, None, 9, 1, (0, 1), 3), NOW + 5, NOW + 5, np.array([2]), np.array([1]), part=1),
    ),
    (
        WaitingJob(
            Job(1, 0, 0, None, 5, 3, (2, 0), 3, requests=(TWO_PARTS, Request((Part(2, (2, 0), 1, 2),), 9, True))),
            9,
            {0: [1, 0], 1: [0]},
        ),
        waiting(2, 5, 3, 0, groups=4),
    ),
)
"""A job of two parts runs, and one of two parts, or else on two nodes side by side, waits."""


def test_shaped_jobs_round_trip_through_an_instance_file(tmp_path):
    again = read_instance(written(tmp_path / "i.json", SHAPED))
    assert again.plain() == SHAPED.plain()
    assert [dict(one.orders) for one in again.waiting] == [{0: [1, 0], 1: [0]}, {}]
    for model in (Pcp14(composite=False), Pcp19(), Hcp19(), Eurora(EuroraLimits())):
        one, other = model.decide(SHAPED, 1), model.decide(again, 1)
        assert (one.starts, one.objective, one.bound) == (other.starts, other.objective, other.bound)


def changed(problem, path, value):
    """The plain problem with one thing changed; `path` is keys and places."""
    told = json.loads(json.dumps(problem.plain()))
    part = told
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return told


PROBLEM = next(
    problem
    for problem in map(random_problem, range(500))
    if len(problem.running) > 1
    and problem.blocked
    and all(one.positions is not None and one.job.request[1] for one in problem.running)
)
"""Two at least run, with positions of both kinds, and something is blocked."""
FIRST = int(PROBLEM.running[0].nodes[0])
REQUESTS = ["waiting", 0, "job", "requests"]
IN_PARTS = [
    (["waiting", 0, "duration"], 5, "waiting[0].duration"),
    ([*REQUESTS, 1, "parts", 0, "request"], [1], "waiting[0].job.requests[1].parts[0].request"),
    ([*REQUESTS, 0, "parts", 1, "groups"], [9], "waiting[0].job.requests[0].parts[1].groups"),
    ([*REQUESTS, 1, "parts", 0, "nodes"], 3, "waiting[0].job"),
    ([*REQUESTS, 0, "walltime"], 4, "waiting[0].job"),
    (["running", 1, "part"], 0, "job 7 occurs twice"),
]
DAMAGES = [
    (["format"], "other", "format"),
    (["version"], 2, "version"),
    (["waiting"], [], "waiting"),
    (["now"], 1 << 60, "now"),
    (["waiting", 0, "duration"], 0, "waiting[0].duration"),
    (["waiting", 0, "job", "request"], [1], "waiting[0].job.request"),
    (["waiting", 0, "job", "groups"], [40], "waiting[0].job.groups"),
    (["waiting", 0, "job", "earliest"], NOW + 1, "waiting[0].job.earliest"),
    (["waiting", 1, "job", "number"], 1, "occurs twice"),
    (["running", 0, "end"], 999, "running[0].end"),
    (["running", 0, "nodes"], [99], "running[0].nodes"),
    (["running", 0, "units"], [2], "running[0].units"),
    (["running", 1, "nodes"], [FIRST], "running"),
    (["running", 0, "positions"], [[0]], "running[0].positions"),
    (["running", 0, "positions", 0], [999], "running[0].positions[0]"),
    (["running", 0, "job", "request"], [10_000, 1], "running"),
    (["blocked", 0, "node"], 77, "blocked[0].node"),
    (["blocked", 0, "amounts"], [1000, 0], "blocked[0].amounts"),
]


@pytest.mark.parametrize(
    ("problem", "path", "value", "said"), [(PROBLEM, *one) for one in DAMAGES] + [(SHAPED, *one) for one in IN_PARTS]
)
def test_damaged_instance_is_refused_with_position(tmp_path, problem, path, value, said):
    file = tmp_path / "i.json"
    file.write_text(json.dumps(changed(problem, path, value)))
    with pytest.raises(InputError) as mistake:
        read_instance(file)
    told = str(mistake.value)
    assert (str(file) in told, said in told, "\n" in told) == (True, True, False)


def test_shared_positions_are_refused(tmp_path):
    held = (running(7, 5, 0, (1, 1), (0, 0)), running(8, 5, 0, (1, 1), (1, 0)))
    problem = DecisionProblem(machine((1, 4, 2)), NOW, held, (waiting(1, 3, 1, 0),))
    with pytest.raises(InputError, match=r"running\[1\].positions\[1\]"):
        read_instance(written(tmp_path / "i.json", problem))


@pytest.mark.parametrize("text", ["", "{", "[]", "nothing", '{"format": "dardis-instance"}'])
def test_invalid_instance_file_is_refused(tmp_path, text):
    file = tmp_path / "i.json"
    file.write_text(text)
    with pytest.raises(InputError):
        read_instance(file)
