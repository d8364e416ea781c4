"""A second `replan`, whole and slow, for a machine that is one node of cores, without exchanges: its starts."""

from __future__ import annotations

from kit.pool_reference import PoolJobs

HEAD_START_S, DAY_S = 36_000, 86_400


class SlowReplan:
    """Runs the jobs, numbered from 0; then `starts` has when each started."""

    def __init__(self, jobs: PoolJobs, cores: int, plan_jobs: int, *, short_first: bool) -> None:
        self.starts = [-1] * len(jobs.submit)
        self._jobs, self._cores, self._plan_jobs, self._short_first = jobs, cores, plan_jobs, short_first
        self._waiting: list[int] = []
        self._running: set[int] = set()
        self._places: dict[int, int] = {}
        """Where in the last plan that it was in each job was."""
        left = set(range(len(jobs.submit)))
        while left or self._running:
            now = min([jobs.submit[job] for job in left] + [self._end(job) for job in self._running])
            self._running = {job for job in self._running if self._end(job) > now}
            self._waiting += sorted(job for job in left if jobs.submit[job] == now)
            left -= set(self._waiting)
            self._decide(now)

    def _end(self, job: int) -> int:
        return self.starts[job] + self._jobs.runtime[job]

    def _weight(self, job: int, now: int) -> float:
        waited = now - self._jobs.submit[job]
        if self._short_first:
            weight = 1 / self._jobs.estimate[job]
        else:
            weight = (waited + HEAD_START_S) / (self._jobs.estimate[job] * self._jobs.cores[job] ** 0.5)
        return weight * (waited / DAY_S) ** 6 if waited > DAY_S else weight

    def _decide(self, now: int) -> None:
        free = self._cores - sum(self._jobs.cores[job] for job in self._running)
        if all(self._jobs.cores[job] > free for job in self._waiting):
            return
        weight = {job: self._weight(job, now) for job in self._waiting}
        by_weight = sorted(self._waiting, key=lambda job: -weight[job])[: self._plan_jobs]
        starts, order = self._plan(by_weight, now), by_weight
        known = sorted((job for job in by_weight if job in self._places), key=lambda job: self._places[job])
        if known:
            merged, new = [], [job for job in by_weight if job not in self._places]
            while known or new:
                first_known = not new or (known and weight[known[0]] >= weight[new[0]])
                merged.append((known if first_known else new).pop(0))
            again = self._plan(merged, now)
            cost = [sum(weight[job] * (plan[job] - now) for job in plan) for plan in (again, starts)]
            if cost[0] <= cost[1]:
                starts, order = again, merged
        self._places.update({job: place for place, job in enumerate(order)})
        for job in order:
            if starts[job] == now:
                self.starts[job] = now
                self._running.add(job)
                self._waiting.remove(job)

    def _plan(self, order: list[int], now: int) -> dict[int, int]:
        """Let each in turn start as early as it can beside those who run and those before it; return when."""
        held = [(now, self.starts[job] + self._jobs.estimate[job], self._jobs.cores[job]) for job in self._running]
        plan = {}
        for job in order:
            length, cores = self._jobs.estimate[job], self._jobs.cores[job]
            for start in sorted({now, *(end for _, end, _ in held)}):
                moments = [start, *(begin for begin, _, _ in held if start < begin < start + length)]
                most = max(sum(c for begin, end, c in held if begin <= moment < end) for moment in moments)
                if most + cores <= self._cores:
                    plan[job] = start
                    held.append((start, start + length, cores))
                    break
        return plan
