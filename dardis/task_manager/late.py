"""The late set-up: a job binds itself to nodes when it can start, in one agreed order, without a central queue.

Each task manager holds its own waiting jobs and a view of what all nodes have published. The order is by a key that
everybody works out for himself: long waits, short walltimes and few cores go first, and whoever has waited longer than
`aged_after_s` goes before all others, oldest first. The best job that can't start reserves (the head), and the best
aged one that can't holds one reservation more. Nobody else holds anything. A job that only sleeping nodes keep from
starting is as good as started: it binds itself to nodes from when they can be up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from dardis.kernels import late as kernel
from dardis.kernels import passes, selection, view
from dardis.kernels import queue as columns
from dardis.kernels import search as placing
from dardis.kernels.job_table import JobTable
from dardis.kernels.offers import make_scratch
from dardis.kernels.profile import FULL
from dardis.kernels.rows import Ints, grown, make_rows
from dardis.model.capacity import could_hold, never_wished, too_large
from dardis.model.choices import UnitsPerNode
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.task_manager.agreement import Pace
from dardis.task_manager.layout import Layout
from dardis.task_manager.machine import TaskManager
from dardis.task_manager.rounds import JobState, Pick
from dardis.task_manager.search import Search, open_window
from dardis.task_manager.setups import EVERY_HOST, LateSetUp, Reach
from dardis.wire import messages as say
from dardis.wire.effects import ALL_HOSTS, Effect, Rejected, Send

HEAD, AGED = 0, 1
"""Labels of the two reservations that there are at most: of the best job that can't start, of the best aged one."""
HEAD_START_S = 36_000
"""Added to every wait, so that short jobs do not begin with a key of 0."""
NO_GROUP = 63
"""The group of a node that is down: a bit that no job's groups have."""
Key = tuple[bool, float, int, int]
"""The least goes first: whether not aged, minus the key, submission, number."""


class LateManager(TaskManager):
    """The agents of some jobs that bind late. Turns are given to the managers in the order of their jobs' keys."""

    def __init__(
        self, setup: LateSetUp, layout: Layout, seed: int, pace: Pace | None = None, reach: Reach = EVERY_HOST,
        address: int = -1,
    ) -> None:  # fmt: skip
        """Hold no jobs, and know of the nodes what they will publish."""
        super().__init__(setup.search, layout, seed, pace, reach, address)
        self._measures = False  # its turns tell
        self._aged_after = setup.aged_after_s
        kinds = len(layout.kinds)
        nodes = layout.bounds[-1]
        self._cores = layout.kinds.index("cores")
        self._view = make_rows(nodes, 2 * kinds if layout.has_desired else kinds, 4, np.int32)
        self._group: Ints = np.repeat(np.arange(len(layout.group_counts)), layout.group_counts)
        self._ready: Ints = np.full(nodes, NO_TIME)
        """When each node is up at the soonest, as published."""
        self._boot: Ints = np.zeros(nodes, dtype=np.int64)
        """How long it takes from now on until it is up, where it is off and not asked to boot; else 0."""
        self._sleeps = False
        """Whether a node has ever been down."""
        self._waking: set[int] = set()
        """Jobs that ask for a start at which nodes that are down are up."""
        self._waiting = JobTable(kinds, nodes)
        self._slot: dict[int, int] = {}
        self._room = columns.make_room(
            kinds, make_scratch(16, self._view, 0, 0), max(1024, 2 * nodes), self._waiting.slots
        )
        self._rules_of_pass = columns.Rules(
            strict=False, backfill=False, depth=1, wish=columns.WISH_SPAN if self._rules.respect else columns.WISH_OFF,
            soft=self._rules.soft, distinct=setup.units_per_node is UnitsPerNode.DISTINCT,
            choice=selection.CHOICES[setup.node_choice], seed=seed,
        )  # fmt: skip
        self._later: list[tuple[int, int, Job]] = []
        """From when on jobs have turns that may not start yet, or find no start before the profile changes."""
        self._incarnations: dict[int, int] = {}
        self._next_change: dict[int, int] = {}
        self._heads: dict[int, Ints] = {}
        """Who holds reservations, by label, as announced: job, submission, walltime, cores, until when."""
        self._order: list[Key] = []
        """The keys of its waiting jobs at the last opening, best first."""
        self._aged = 0
        self._opened_at = NO_TIME

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Take a new job; it waits for its turn."""
        could = could_hold(
            job, self._layout.group_counts, self._layout.group_capacity, distinct=self._rules_of_pass.distinct
        )
        self._states[job.number] = JobState(job)
        if could < job.units:
            return [Rejected(job.number, too_large(job, self._layout.kinds, could))]
        if job.earliest > now and self._agreement is None:
            heappush(self._later, (job.earliest, job.number, job))
        else:
            self._enlist(job)
        return []

    def _enlist(self, job: Job) -> None:
        """Put a job among those that have turns."""
        slot = self._slot[job.number] = self._waiting.add(job)
        if self._waiting.slots > len(self._room.started):
            self._room = self._room._replace(started=np.zeros(self._waiting.slots, dtype=np.int64))
        queue = self._waiting.queue
        queue.lists[columns.RULE, queue.size[columns.RULE]] = slot
        queue.size[columns.RULE] += 1

    def _wait_for_change(self, state: JobState) -> list[Effect]:
        """Have no turns until the profile or capacity changes; be rejected if they never will."""
        job = self._waiting.remove(self._slot.pop(state.job.number))
        change = min(self._next_change.values())
        if change == FOREVER:
            return [Rejected(job.number, never_wished(self._setup.profile_split))]
        heappush(self._later, (change, job.number, job))
        return super()._wait_for_change(state)

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take a message at time `now`; return what is to be done."""
        if isinstance(message, say.Published):
            self._see(message)
            return []
        return super().handle(message, now)

    def _see(self, published: say.Published) -> None:
        """Take into the view what a host's nodes can hold."""
        self._incarnations[published.host] = published.incarnation
        self._next_change[published.host] = published.next_change
        self._heads = {row[0]: row[1:] for row in published.heads}
        self.messages += len(published.node)
        while view.accept(self._view, published.node, published.offset, published.time, published.value) == FULL:
            self._view = grown(self._view)
        if len(published.ready):
            self._ready[published.node], self._boot[published.node] = published.ready, published.boot
            self._sleeps = True

    # ------------------------------------------------------------------------------------------------------------------
    # The agreed order.

    def _keys(self, slots: Ints, now: int) -> tuple[Ints, int]:
        """The order of the slots at `now`, and how many of them are aged."""
        table = self._waiting.queue.table[slots]
        cores = table[:, columns.UNITS] * table[:, columns.REQUEST + self._cores]
        wait = now - table[:, columns.SUBMIT]
        key = -key_of(wait, table[:, columns.WALLTIME], cores)
        aged = wait > self._aged_after
        key[aged] = 0
        order = np.lexsort((table[:, columns.NUMBER], table[:, columns.SUBMIT], key, ~aged))
        placed = table[order]
        numbers, submits = placed[:, columns.NUMBER].tolist(), placed[:, columns.SUBMIT].tolist()
        self._order = list(zip((~aged[order]).tolist(), key[order].tolist(), submits, numbers, strict=True))
        return order.astype(np.int64), int(np.count_nonzero(aged))

    def open(self, now: int, *, whole: bool) -> None:
        """Begin a wake-up: put the waiting jobs in order. All are tried if it is `whole`, else new ones."""
        while self._later and self._later[0][0] <= now:
            self._enlist(heappop(self._later)[2])
        queue, state = self._waiting.queue, self._room.state
        count = int(queue.size[0])
        self._opened_at = now
        self._order, self._aged = [], 0
        state[columns.PLACE] = state[columns.LOOKED_AT] = 0
        state[columns.WHOLE] = whole
        if count == 0:
            return
        slots = queue.lists[columns.RULE, :count]
        order, self._aged = self._keys(slots, now)
        queue.lists[columns.RULE, :count] = slots[order]

    def overtakes(self, now: int) -> bool:
        """Whether a new job goes before one that holds a reservation, so that all must have their turn again."""
        worst = max((self._key_of_head(row, now) for row in self._heads.values()), default=None)
        if worst is None:
            return False
        queue = self._waiting.queue
        fresh = queue.table[queue.lists[columns.RULE, : len(self._order)], columns.FRESH] != 0
        return bool(fresh.any()) and self._order[int(np.argmax(fresh))] < worst

    def _key_of_head(self, row: Ints, now: int) -> Key:
        number, submit, walltime, cores, _ = row.tolist()
        aged = now - submit > self._aged_after
        key = 0.0 if aged else float(-key_of(np.array(now - submit), np.array(walltime), np.array(cores)))
        return (not aged, key, submit, number)

    def waits(self, number: int) -> bool:
        """Whether the job has not bound itself yet: what it holds it may give back."""
        return number in self._slot

    @property
    def anybody_waits(self) -> bool:
        """Whether any job has not bound itself yet."""
        return len(self._slot) > 0

    def next_key(self) -> Key | None:
        """The key of the job whose turn is next; None when all have had theirs."""
        place = int(self._room.state[columns.PLACE])
        return self._order[place] if place < len(self._order) else None

    def turn(self, until: Key | None, now: int) -> list[Effect]:
        """Let jobs start, in order, while they go before `until`; stop at one that reserves or wakes nodes."""
        stop = len(self._order) if until is None else bisect_left(self._order, until)
        state, queue = self._room.state, self._waiting.queue
        passes.count_free(self._view, self._room, now)
        state[columns.STARTED] = 0
        awake, delay = self._awake(now)
        while True:
            reserving = stop if HEAD not in self._heads else self._aged if AGED not in self._heads else 0
            answer = kernel.take_turn(
                self._view, self._group, awake, queue, self._rules_of_pass, self._room, now, stop, reserving
            )
            if answer == FULL:
                self._view = grown(self._view)
            elif answer == placing.ROOM:
                self._enlarge_room()
            elif answer == kernel.ASLEEP and not self._wakes(now, delay):
                if state[columns.PLACE] < reserving:
                    answer = kernel.BLOCKED
                    break
                state[columns.PLACE] += 1
            else:
                break
        effects: list[Effect] = []
        for slot in self._room.started[: state[columns.STARTED]].tolist():
            nodes, units = self._waiting.nodes_of(slot)
            started = self._states[self._waiting.jobs[slot].number]
            started.asks += 1  # names the claim
            started.search = None
            effects += self._claim(started, self._incarnations, Pick(0, now, nodes, units), now)
        if answer in (kernel.BLOCKED, kernel.ASLEEP):
            job = self._waiting.jobs[int(queue.lists[columns.RULE, state[columns.PLACE]])]
            state[columns.PLACE] += 1
            effects += self._reserve(self._states[job.number], now)
        return effects

    def _awake(self, now: int) -> tuple[Ints, int]:
        """The groups of the nodes that are up, and in how long all nodes could be."""
        if not self._sleeps:
            return self._group, 0
        up = np.maximum(self._ready, now + self._boot)
        return np.where(up > now, NO_GROUP, self._group), int(up.max()) - now

    def _wakes(self, now: int, delay: int) -> bool:
        """Whether the job at the turn's place, which only sleeping nodes keep from starting, can still start then."""
        slot = int(self._waiting.queue.lists[columns.RULE, self._room.state[columns.PLACE]])
        number = self._waiting.jobs[slot].number
        state = self._states[number]
        state.if_all_were_up = min(state.if_all_were_up, now)
        if placing.fits_now(
            self._view, self._group, self._waiting.queue.table, slot, self._rules_of_pass, now, delay
        ):  # fmt: skip
            self._waking.add(number)
        return number in self._waking

    def _enlarge_room(self) -> None:
        longest = int(self._view.size.max(initial=0))
        if longest + 4 > len(self._room.scratch.time):
            self._room = self._room._replace(scratch=make_scratch(2 * longest, self._view, 0, 0))
        else:
            self._room = self._room._replace(out=np.empty((2 * len(self._room.out), 6), dtype=np.int64))

    # ------------------------------------------------------------------------------------------------------------------
    # Reservations.

    def _reserve(self, state: JobState, now: int) -> list[Effect]:
        """Ask for the earliest start; one that had a reservation asks up to its start first."""
        job, rules = state.job, self._rules
        respect = rules.respect and not (rules.soft and job.latest is not None and now >= job.latest)
        search = open_window(Search(0, now, None, now, now, respect, quota=False), job, rules, now)
        if state.claims and state.start > now:
            search = replace(search, last=state.start)
        return self._ask_for(state, search, now)

    def _claim(self, state: JobState, incarnations: Mapping[int, int], chosen: Pick, now: int) -> list[Effect]:
        job, search = state.job, state.search
        late = job.latest is not None and chosen.start > job.latest
        if late and self._rules.soft and search is not None and search.respect:
            # A deadline counts more than a soft profile.
            free = open_window(replace(search, earliest=now, respect=False), job, self._rules, now)
            return self._ask_for(state, free, now)
        effects = super()._claim(state, incarnations, chosen, now)
        if chosen.start == now or job.number in self._waking:
            self._waiting.remove(self._slot.pop(job.number))
            self._waking.discard(job.number)
            return effects
        aged = now - job.submit > self._aged_after
        label = AGED if aged and AGED not in self._heads else HEAD
        self._heads[label] = self._row_of_head(job, chosen.start)
        return [*effects, Send(ALL_HOSTS, say.Announce(label, self._heads[label], standing=True))]

    def _row_of_head(self, job: Job, until: int) -> Ints:
        cores = job.units * job.request[self._cores]
        return np.array([job.number, job.submit, job.walltime, cores, until], dtype=np.int64)

    def drop_reservations(self) -> list[Effect]:
        """Give back what its waiting jobs hold: in a whole wake-up reservations are worked out anew."""
        effects: list[Effect] = []
        for label, row in list(self._heads.items()):
            state = self._states.get(int(row[0]))
            if state is None or state.nodes is None or state.job.number not in self._slot:
                continue
            effects += [Send(host, say.Release(state.job.number, state.claim)) for host in state.hosts]
            effects.append(Send(ALL_HOSTS, say.Announce(label, row, standing=False)))
            state.nodes, state.units, state.hosts = None, None, ()
        return effects

    def close(self) -> None:
        """End a wake-up: what has been tried is not new any more, what has started waits no more."""
        queue = self._waiting.queue
        count = int(queue.size[0])
        slots = queue.lists[columns.RULE, :count]
        table = queue.table
        table[slots, columns.FRESH] = 0
        kept = slots[table[slots, columns.GONE] == 0]
        queue.lists[columns.RULE, : len(kept)] = kept
        queue.size[0] = len(kept)
        self._order = []

    def wake(self) -> int:
        """The next time at which a waiting job's turn may come without an event (FOREVER: never)."""
        soonest = self._later[0][0] if self._later else FOREVER
        queue = self._waiting.queue
        if not queue.size[0]:
            return soonest
        soonest = min(soonest, *self._next_change.values())
        if self._sleeps:
            booting = (self._boot == 0) & (self._ready > self._opened_at)
            soonest = min(soonest, int(self._ready[booting].min(initial=FOREVER)))
        for row in self._heads.values():
            state = self._states.get(int(row[0]))
            if state is not None and state.nodes is not None:
                soonest = min(soonest, state.start)
        if self._rules.respect and self._rules.soft:
            latest = queue.table[queue.lists[columns.RULE, : queue.size[0]], columns.LATEST]
            soonest = min(soonest, int(latest[latest > self._opened_at].min(initial=FOREVER)))
        return soonest


def key_of(wait: Ints, walltime: Ints, cores: Ints) -> np.ndarray:
    """The key of jobs that have waited `wait` s: `(wait + 10 h) / (walltime · √cores)`, the largest goes first."""
    return np.asarray((wait + HEAD_START_S) / (walltime * np.sqrt(np.maximum(cores, 1))))
