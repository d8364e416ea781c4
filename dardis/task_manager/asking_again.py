"""Which jobs ask again after something was freed, how many of them in one message, and for which starts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dardis.task_manager.rounds import JobState
from dardis.task_manager.sampling import Sampling
from dardis.task_manager.search import Search, SearchRules, in_hours
from dardis.task_manager.setups import BackfillScope

FIRST_BATCH, LARGEST_BATCH = 4, 64
"""How many jobs ask again in one message: few at first, since one that moves makes the later answers void."""


class AskingAgain:
    """The jobs of a task manager that are to ask again, in order."""

    def __init__(self, scope: BackfillScope, rules: SearchRules, sampling: Sampling | None) -> None:
        """Begin with none. With `sampling`, who moves asks some nodes of all."""
        self._scope = scope
        self._rules = rules
        self._sampling = sampling if scope is BackfillScope.ALL_NODES else None
        self._queue: deque[tuple[JobState, int]] = deque()
        """Who asks, and for starts from when on."""
        self._batch = FIRST_BATCH
        self._freed_until = 0

    def add(self, states: Iterable[JobState], freed_until: int) -> None:
        """Let these ask again, too; those without a reservation for starts before `freed_until`."""
        self._queue.extend((state, 0) for state in states)
        self._batch = FIRST_BATCH
        self._freed_until = freed_until

    def nobody_moved(self) -> None:
        """Take note that a whole message's jobs have nothing to gain."""
        self._batch = min(2 * self._batch, LARGEST_BATCH)

    def moved(self, later: Sequence[JobState]) -> None:
        """Take note that a job has moved: those that came later in its message ask again."""
        distinct = {state.job.number: state for state in later}
        self._queue.extendleft((state, 0) for state in reversed(distinct.values()))
        self._batch = FIRST_BATCH

    def next_batch(self, now: int) -> tuple[list[JobState], list[Search]]:
        """Who asks next, in one message, and for which starts."""
        batch: list[JobState] = []
        searches: list[Search] = []
        while self._queue and len(batch) < self._batch:
            state, since = self._queue[0]
            first, last = max(now, state.job.earliest, since), self._last(state)
            window = in_hours(
                Search(0, first, last, first, last, self._binds(state), quota=False), state.job, self._rules
            )
            if window is not None:
                size = self._sampling.first(state.job) if self._sampling and state.nodes is not None else 0
                search = replace(window, sample=size, draw=window.first)
                # Those that share a message keep to the desired profile, and ask samples, either all or none.
                if searches and (searches[0].desired_binds, searches[0].sample > 0) != (search.desired_binds, size > 0):
                    break
                batch.append(state)
                searches.append(search)
            self._queue.popleft()
            if window is not None and window.last < last:  # its queue is closed in between
                self._queue.appendleft((state, window.last + 1))
        return batch, searches

    def _binds(self, state: JobState) -> bool:
        """Whether a job that asks again keeps to the desired profile: a soft one counts less than its deadline."""
        late = state.nodes is not None and state.job.latest is not None and state.start > state.job.latest
        return self._rules.desired_binds and not (late and self._rules.soft)

    def _last(self, state: JobState) -> int:
        """The last start that a job asks again for: an earlier one, or also its own, on nodes that fit better."""
        if state.nodes is None:
            return self._freed_until - 1
        return state.start - (self._scope is BackfillScope.SAME_NODES)
