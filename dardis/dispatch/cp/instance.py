"""Reads problems from files (docs/formats.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dardis.config.platform_record import InstanceRecord, JobRecord, PartRecord, RunningRecord
from dardis.config.toml_file import read_json
from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.cp.positions.fixed_boxes import first_positions
from dardis.dispatch.job_shapes import ShapeChecker
from dardis.model.addresses import JobId
from dardis.model.errors import InputError
from dardis.model.job import FOREVER, Job, Part, Request
from dardis.model.node_sets import bits_of
from dardis.model.platform import Platform


def read_instance(path: Path) -> DecisionProblem:
    """File's problem. Raises InputError for invalid content."""
    record = read_json(path, InstanceRecord)
    platform, now = record.machine(path), record.now
    running = []
    jobs_asked = [*(one.job for one in record.running), *(one.job for one in record.waiting)]
    parts = [part for job in jobs_asked for request in job.requests for part in request.parts]
    sets = [*(job.groups for job in jobs_asked), *(part.groups for part in parts)]
    platform = platform.with_sets(one for one in sets if max(one, default=0) < len(platform.groups))
    shapes = ShapeChecker(platform, distinct=record.distinct)
    for place, runs in enumerate(record.running):
        where = f"{path}: running[{place}]"
        job = _job(where, runs.job, platform)
        if runs.end < now:
            raise InputError(f"{where}.end", f"{runs.end} with now {now}", "no earlier time")
        running.append(_running(where, runs, job, platform))
    waiting = []
    for place, late in enumerate(record.waiting):
        where = f"{path}: waiting[{place}]"
        if late.job.earliest > now:
            raise InputError(f"{where}.job.earliest", f"{late.job.earliest} with now {now}", "no later time")
        waits = _job(where, late.job, platform)
        orders = shapes.feasible_orders(waits)
        if waits.requests and not orders:
            raise InputError(f"{where}.job.requests", "none of its requests fits", "a request that fits the machine")
        one = WaitingJob(waits, late.duration, orders)
        if (longest := max(request.walltime for _, request in one.requests)) != late.duration:
            raise InputError(f"{where}.duration", str(late.duration), f"{longest}, its longest request's")
        waiting.append(one)
    jobs = [*((one.job.number, one.part) for one in running), *((one.job.number, 0) for one in waiting)]
    if twice := [number for (number, _), times in Counter(jobs).items() if times > 1]:
        raise InputError(path, f"job {twice[0]} occurs twice", "each job once")
    blocked = tuple(
        BlockedCapacity(one.node, one.start, FOREVER if one.end is None else one.end, tuple(one.amounts))
        for one in record.blocked
    )
    for place, block in enumerate(blocked):
        _check_block(f"{path}: blocked[{place}]", block, platform)
    problem = DecisionProblem(
        platform, now, tuple(running), tuple(waiting), blocked, record.distinct, record.keeps_hours
    )
    _check_nodes_hold(path, problem)
    _check_positions(path, problem)
    return problem


def _job(where: str, record: JobRecord, platform: Platform) -> Job:
    if not (record.groups or record.requests):
        raise InputError(f"{where}.job.groups", "none", "node groups for the job")
    told = record.model_dump(exclude={"requests"}) | _request_fields(f"{where}.job", record, platform)
    told["number"] = JobId(record.number)
    try:
        return Job(**told, requests=tuple(_requests(f"{where}.job", record, platform)))
    except ValueError as error:
        raise InputError(f"{where}.job", str(error)) from None


def _requests(where: str, record: JobRecord, platform: Platform) -> Iterator[Request]:
    for place, request in enumerate(record.requests):
        parts = [
            Part(
                part.units,
                nodes=part.nodes,
                **_request_fields(f"{where}.requests[{place}].parts[{at}]", part, platform),
            )
            for at, part in enumerate(request.parts)
        ]
        yield Request(tuple(parts), request.walltime, request.contiguous)


def _request_fields(where: str, record: JobRecord | PartRecord, platform: Platform) -> dict[str, Any]:
    if len(record.request) != len(platform.kinds):
        expected = f"an amount for each of {', '.join(platform.kinds)}"
        raise InputError(f"{where}.request", f"{len(record.request)} amounts", expected)
    if max(record.groups, default=0) >= len(platform.groups):
        expected = f"numbers from 0 to {len(platform.groups) - 1}"
        raise InputError(f"{where}.groups", f"unknown group {max(record.groups)}", expected)
    return {"request": tuple(record.request), "groups": bits_of(record.groups)}


def _running(where: str, record: RunningRecord, job: Job, platform: Platform) -> RunningJobPart:
    nodes, units = record.nodes, record.units
    if any(after <= before for before, after in pairwise(nodes)):
        raise InputError(f"{where}.nodes", f"{nodes}", "each node once, ascending")
    if nodes[-1] >= platform.node_count:
        raise InputError(f"{where}.nodes", f"unknown node {nodes[-1]}", f"numbers from 0 to {platform.node_count - 1}")
    if len(units) != len(nodes) or sum(units) != job.units:
        raise InputError(f"{where}.units", f"{units}", f"units on each of {len(nodes)} nodes, {job.units} together")
    positions = None
    if record.positions is not None:
        shape = [len(of_kind) for of_kind in record.positions]
        if shape != [job.units] * len(platform.kinds):
            raise InputError(f"{where}.positions", f"{shape} positions", f"{job.units} for each resource kind")
        positions = np.array(record.positions, dtype=np.int64)
    node_array, unit_array = np.array(nodes, dtype=np.int64), np.array(units, dtype=np.int64)
    return RunningJobPart(job, record.end, record.foreseen, node_array, unit_array, positions, record.part)


def _check_block(where: str, block: BlockedCapacity, platform: Platform) -> None:
    if block.node >= platform.node_count:
        raise InputError(f"{where}.node", f"unknown node {block.node}", f"numbers from 0 to {platform.node_count - 1}")
    if block.end <= block.start:
        raise InputError(f"{where}.end", f"{block.end} with start {block.start}", "a later time")
    most = platform.capacity[block.node].tolist()
    if len(block.amounts) != len(most) or any(a > b for a, b in zip(block.amounts, most, strict=True)):
        raise InputError(f"{where}.amounts", f"{[*block.amounts]}", f"at most {most} on that node")


def _check_nodes_hold(path: Path, problem: DecisionProblem) -> None:
    used = np.zeros_like(problem.platform.capacity)
    for running in (one for one in problem.running if one.end > problem.now):
        used[running.nodes] += running.units[:, None] * np.array(running.job.request)
    over = np.argwhere(used > problem.platform.capacity)
    if len(over):
        node, kind = over[0].tolist()
        found = f"jobs take {used[node, kind]} {problem.platform.kinds[kind]} of node {node}"
        raise InputError(f"{path}: running", found, f"at most {problem.platform.capacity[node, kind]}")


def _check_positions(path: Path, problem: DecisionProblem) -> None:
    base, capacity = first_positions(problem.platform), problem.platform.capacity
    taken: list[tuple[int, int, int, int]] = []
    for place, running in enumerate(problem.running):
        if running.positions is None:
            continue
        nodes = np.repeat(running.nodes, running.units)
        for kind, request in enumerate(running.job.request):
            first = running.positions[kind]
            low = base[nodes, kind]
            wrong = (first < low) | (first + request > low + capacity[nodes, kind]) if request else first != -1
            if wrong.any():
                where = f"{path}: running[{place}].positions[{kind}]"
                expected = "positions of its nodes" if request else "-1, since it requests none"
                raise InputError(where, f"{int(first[wrong][0])}", expected)
            if running.end > problem.now:
                taken += [(kind, at, at + request, place) for at in first.tolist() if request]
    taken.sort()
    for (kind, _, end, one), (of, begin, _, other) in pairwise(taken):
        if kind == of and begin < end:
            where = f"{path}: running[{other}].positions[{kind}]"
            raise InputError(where, f"{begin} is also a position of running[{one}]", "different positions")
