"""Faults of expected durations: who predicts them, who hears of ends, and queues that plan by them."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

QUEUE = "dardis/dispatch/central.py"
OF_QUEUE = ("tests/scenarios/test_expected_durations.py", "tests/properties/test_central.py")
ALIKE, RECENT = "dardis/predict/alike.py", "dardis/predict/recent.py"
OF_PREDICTORS = ("tests/unit/predict/test_predictors.py",)
OF_RUNS = ("tests/unit/runs/test_expected_run.py",)

EXPECTED = (
    Mutation(
        "who is over at his walltime may run for longer",
        QUEUE,
        "if span < job.walltime:",
        "if span <= job.walltime:",
        OF_QUEUE,
    ),
    Mutation(
        "room whose time is over is held for nobody",
        QUEUE,
        "whole = whole or now >= state[queue.FOLLOWING]",
        "whole = bool(whole)",
        OF_QUEUE,
    ),
    Mutation(
        "who is expected to be out in time runs into maintenance",
        QUEUE,
        "np.where(now + walltime > bound, walltime, expected)",
        "np.where(now + expected > bound, walltime, expected)",
        OF_QUEUE,
    ),
    Mutation(
        "who outruns what was expected of him is taken to be gone",
        QUEUE,
        "            if number in self._running:\n                slot =",
        "            if number not in self._running:\n                slot =",
        OF_QUEUE,
    ),
    Mutation(
        "what is only expected is kept as if it were promised",
        "dardis/dispatch/setups.py",
        "self.backfill_depth or (0 if self._keeps_reservations else FOREVER)",
        "self.backfill_depth",
        OF_QUEUE,
    ),
    Mutation(
        "who is out of the window keeps his reservation",
        "dardis/dispatch/setups.py",
        "self.expected is Expecting.WALLTIME and self.backfill_window == 0",
        "self.expected is Expecting.WALLTIME",
        ("tests/unit/dispatch/test_central_dispatcher.py",),
    ),
    Mutation(
        "the window of backfilling is as wide as the queue",
        "dardis/dispatch/setups.py",
        "window=self.backfill_window,",
        "window=0,",
        OF_QUEUE,
    ),
    Mutation(
        "the shortest first goes by walltimes, whatever is expected",
        "dardis/dispatch/orders.py",
        '("The shortest walltime.", lambda job, _: job.expected)',
        '("The shortest walltime.", lambda job, _: job.walltime)',
        OF_QUEUE,
    ),
    Mutation(
        "who predicts hears that jobs run until their walltimes",
        "dardis/sim/simulation.py",
        "self._predictor.observe(job.asked, job.duration, now)",
        "self._predictor.observe(job.asked, job.asked.walltime, now)",
        OF_RUNS,
    ),
    Mutation(
        "names that differ in their number are never alike",
        ALIKE,
        "job.name.rstrip(digits) or job.name",
        "job.name",
        OF_PREDICTORS,
    ),
    Mutation(
        "a name that is a number is like all others that are",
        ALIKE,
        "job.name.rstrip(digits) or job.name",
        "job.name.rstrip(digits)",
        OF_PREDICTORS,
    ),
    Mutation(
        "of a new user's job the walltime is expected",
        RECENT,
        "else int(walltime * share)",
        "else int(walltime * min(share, 1) ** 0)",
        OF_PREDICTORS,
    ),
    Mutation(
        "jobs outside of the window count among what was expected",
        "dardis/metrics/expectations.py",
        "ran = counted[schedule.ran[counted]]",
        "ran = np.flatnonzero(schedule.ran)",
        OF_RUNS,
    ),
)
