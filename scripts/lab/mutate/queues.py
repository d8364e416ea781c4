"""Faults of queues of a site: hours, limits, priorities, and the audit of them."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

COMMAND = ("tests/unit/cli/test_site_queues.py",)
MODEL = ("tests/unit/model/test_platform.py",)

QUEUES = (
    Mutation(
        "who waits in a queue that closes stays on the list",
        "dardis/dispatch/central.py",
        "        if self._platform.hours and not self._keeps_closed:\n            self._see_to_hours(now)\n",
        "",
        COMMAND,
    ),
    Mutation(
        "a job asks beyond the hour at which its queue closes",
        "dardis/task_manager/search.py",
        "last=min(search.last, starts.changes(first) - 1)",
        "last=search.last",
        ("tests/properties/test_simulation.py",),
    ),
    Mutation(
        "a job that asks again asks only until its queue closes next",
        "dardis/task_manager/asking_again.py",
        "if window is not None and window.last < last:",
        "if window is not None and window.last > last:",
        COMMAND,
    ),
    Mutation(
        "late jobs have turns while their queue is closed",
        "dardis/task_manager/late/turns.py",
        "return self._rules.starts_of(self._view.waiting.jobs[slot]).opens(now) > now",
        "return False",
        ("tests/properties/test_late.py",),
    ),
    Mutation(
        "late jobs know no priority",
        "dardis/kernels/late.py",
        "    if table[a, LEVEL] != table[b, LEVEL]:\n        return table[a, LEVEL] > table[b, LEVEL]\n",
        "",
        COMMAND,
    ),
    Mutation(
        "what a queue does not take is taken",
        "dardis/model/platform.py",
        'refused = "" if queue is None else queue.refusal(job, self.kinds)',
        'refused = ""',
        MODEL,
    ),
    Mutation(
        "prime time that began yesterday is forgotten",
        "dardis/model/queues.py",
        ".date() - _DAY",
        ".date()",
        MODEL,
    ),
    Mutation(
        "the audit knows no hours",
        "dardis/metrics/job_rules.py",
        "closed = ran & (s.start != NO_TIME)",
        "closed = ran & (s.start == NO_TIME)",
        COMMAND,
    ),
)
