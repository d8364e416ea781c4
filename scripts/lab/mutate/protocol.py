"""Faults of node and task managers, and of hosts between them: what is held twice, lost, or taken for the present."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

POOL = "dardis/node_manager/pool.py"
STATE = "dardis/node_manager/state.py"
RELAY = "dardis/node_manager/relay.py"
TASKS = "dardis/task_manager"
OF_POOL = ("tests/unit/node_manager/test_node_pool.py", "tests/unit/node_manager/test_published.py")
FAULTS = ("tests/faults/test_agreement.py", "tests/faults/test_faults.py")
TREES = ("tests/unit/node_manager/test_relay.py", "tests/faults/test_tree_faults.py", *FAULTS[1:])
OF_TASKS = ("tests/unit/task_manager/test_planned.py", "tests/properties/test_simulation.py")
STALE = FAULTS[1:]
LATE = ("tests/unit/task_manager/test_late_by_turns.py", "tests/properties/test_late.py")

PROTOCOL = (
    Mutation(
        "a claim is taken though its start has passed", POOL,
        "confirm.start < now or ", "", (*OF_POOL, *FAULTS),
    ),
    Mutation(
        "a copy of a claim that comes after it has expired is taken", POOL,
        " or confirm.expires <= now", "", STALE,
    ),
    Mutation(
        "a node forgets what was released before its claims have expired", POOL,
        "if self._closed.get(timer.job, (0, FOREVER))[1] <= now:", "if timer.job in self._closed:", (*FAULTS, *OF_POOL),
    ),
    Mutation(
        "a claim does not say when it expires", f"{TASKS}/claims/agreed.py",
        "return replace(self.confirms[host], expires=self.expires)", "return self.confirms[host]", STALE,
    ),
    Mutation(
        "waits that a slow tree needs do not grow any longer than others", f"{TASKS}/claims/agreed.py",
        "(self._longest_growth if slow else LONGEST_BACKOFF)", "LONGEST_BACKOFF", TREES,
    ),
    Mutation(
        "an earlier claim that comes late replaces a later one", POOL,
        "(old is not None and old.attempt > attempt) or ", "", (*OF_POOL, *FAULTS),
    ),
    Mutation(
        "a claim that does not fit in place of an earlier one loses both", POOL,
        "            if old is not None:\n                self._hold(job, old, now)\n", "", OF_POOL,
    ),
    Mutation(
        "a job that has gone stays in its nodes' lists", POOL,
        "        self.state.unbook(claim.nodes, job, claim.start)\n", "", OF_POOL,
    ),
    Mutation(
        "what is committed lapses at its start like what is not", POOL,
        " or claim.committed:\n            return []", ":\n            return []", (*OF_POOL, *FAULTS),
    ),
    Mutation(
        "a release that comes late drops a later claim", POOL,
        "if claim is None or claim.attempt > attempt:", "if claim is None:", (*OF_POOL, *FAULTS),
    ),
    Mutation(
        "a note that comes late silences the report of a later attempt", POOL,
        "if self._finished.get(noted.job) == noted.attempt:", "if noted.job in self._finished:", FAULTS,
    ),
    Mutation(
        "a head is not told any more in the instant of its start", POOL,
        "if head[-1] >= now}", "if head[-1] > now}", OF_POOL,
    ),
    Mutation(
        "a node that is off is reserved as if it were already booting", STATE,
        "(start < np.maximum(self._ready[nodes], now + self._boot[nodes])).any()", "(start < self._ready[nodes]).any()",
        ("tests/unit/node_manager/test_switcher.py",),
    ),
    Mutation(
        "where messages may be lost, nodes that have not changed are not told again", STATE,
        "        self._changed |= whole\n", "", OF_POOL[1:],
    ),
    Mutation(
        "a tree tells that nothing changes from when that holds of one of its hosts", "dardis/kernels/relayed.py",
        "answer[place] = max(answer[place], said[at + place])", "answer[place] = said[at + place]",
        (*TREES[:1], "tests/properties/test_tree.py"),
    ),
    Mutation(
        "a host in a tree is as patient as the one that asked it", RELAY,
        "question.until - now - relay.step", "question.until - now", TREES,
    ),
    Mutation(
        "an answer is forgotten before the patience of whoever asked has ended", RELAY,
        "forgotten_at = question.relay.expires", "forgotten_at = question.until", (*TREES, *STALE),
    ),
    Mutation(
        "a dead host whose place another takes is not asked whether it is back", RELAY,
        "if not any(first <= host < last", "if any(first <= host < last", TREES,
    ),
    Mutation(
        "a last word of a dead incarnation is taken for a host that lives", f"{TASKS}/claims/agreed.py",
        "if not self.is_dead(host, self._alive[host]):", "if not self.is_dead(host, self._alive[host] + 1):", FAULTS,
    ),
    Mutation(
        "nodes of an incarnation that is known to be dead are claimed", f"{TASKS}/claims/agreed.py",
        "if any(self.is_dead(host, confirm.incarnation)", "if any(self.is_dead(host, confirm.incarnation + 1)", FAULTS,
    ),
    Mutation(
        "a job waits for ever for what a dead host has to release", f"{TASKS}/claims/agreed.py",
        "                effects += self._answered(proposal, host, now)\n            elif",
        "                pass\n            elif", FAULTS,
    ),
    Mutation(
        "a job asks anew while its last claim is still held somewhere", f"{TASKS}/claims/agreed.py",
        "if job in self._open else self._retry", "if False else self._retry", FAULTS,
    ),
    Mutation(
        "a job that moves keeps what it had on the hosts that it leaves", f"{TASKS}/claims/final.py",
        "for host in state.hosts if host not in confirms", "for host in state.hosts if host in confirms", OF_TASKS,
    ),
    Mutation(
        "offers are joined in the order in which hosts answered", f"{TASKS}/rounds.py",
        "for host in sorted(self.offers)]", "for host in self.offers]", (*OF_TASKS[:1], *FAULTS),
    ),
    Mutation(
        "a node offers one start fewer than makes a common one certain", f"{TASKS}/rounds.py",
        "(units - 1) * instants // nodes + 1", "(units - 1) * instants // nodes",
        ("tests/unit/task_manager/test_search.py",),
    ),
    Mutation(
        "those that came after one that moved ask again the other way round", f"{TASKS}/asking_again.py",
        "for state in reversed(distinct.values())", "for state in distinct.values()", OF_TASKS,
    ),
    Mutation(
        "a window begins at the last start of the one before it", f"{TASKS}/search.py",
        "first = search.last + 1", "first = search.last", ("tests/unit/task_manager/test_search.py",),
    ),
    Mutation(
        "a job that moves still counts on the nodes that it has left", f"{TASKS}/sampling.py",
        "        assert state.units is not None\n        self.drop(state.job.number)\n",
        "        assert state.units is not None\n", ("tests/unit/task_manager/test_sampling.py",),
    ),
    Mutation(
        "of equals the one with the lower number goes first, whenever it was submitted", "dardis/kernels/late.py",
        "    if table[a, SUBMIT] != table[b, SUBMIT]:\n        return table[a, SUBMIT] < table[b, SUBMIT]\n", "", LATE,
    ),
    Mutation(
        "more than one job that can't start holds a reservation", f"{TASKS}/late/turns.py",
        "reserving = 0 if self._heads else stop", "reserving = stop", LATE,
    ),
    Mutation(
        "of what the oldest jobs of task managers are, the youngest goes first", "dardis/turns/late.py",
        "oldest = min((old for manager", "oldest = max((old for manager", LATE,
    ),
    Mutation(
        "work of other task managers' jobs does not count for when a job is old", f"{TASKS}/late/backlog.py",
        "Totals.of((self.totals, *told))", "self.totals", LATE,
    ),
    Mutation(
        "work counts in full, however much of what they asked for jobs have used", f"{TASKS}/late/backlog.py",
        "work * self.used // (cores * self.asked) if self.asked else work // cores", "work // cores", LATE,
    ),
    Mutation(
        "what runs counts as work as if it had just begun", f"{TASKS}/late/backlog.py",
        "self.ends - now * self.cores", "self.ends", LATE,
    ),
    Mutation(
        "a job that waits has no turn when the profile changes", f"{TASKS}/late/turns.py",
        "            if self._opened_at < change < soonest:\n                soonest = change\n",
        "            pass\n", LATE,
    ),
    Mutation(
        "what a host published before, and comes late, replaces what is known of it", f"{TASKS}/late/timers.py",
        " or published.at < self._seen.get(source, published.at):", ":",
        ("tests/unit/task_manager/test_late_by_timers.py", *FAULTS[1:]),
    ),
)  # fmt: skip
