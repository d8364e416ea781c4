"""Faults of dispatchers that plan anew or ask models: problems, answers, bounds."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

ASKING, POOLS, BOUND = "dardis/dispatch/cp/asking.py", "dardis/dispatch/cp/pools.py", "dardis/dispatch/cp/bound.py"
OBJECTIVES, BETTER = "dardis/dispatch/cp/objectives.py", "dardis/dispatch/replan/better.py"
OF_RUNS = ("tests/unit/runs/test_solved_run.py", "tests/properties/test_asking.py")
OF_POOLS, OF_NODES = ("tests/properties/test_cp_pools.py",), ("tests/properties/test_cp_nodes.py",)
OF_PLANS = ("tests/properties/test_better_plans.py",)

ASKING_MODELS = (
    Mutation(
        "who starts later by the model starts now",
        ASKING,
        "            if start == now\n",
        "            if start >= now\n",
        OF_RUNS,
    ),
    Mutation(
        "decisions take no time",
        ASKING,
        "if self._takes_time and answer.deterministic_s > 0:",
        "if answer.deterministic_s < 0:",
        OF_RUNS,
    ),
    Mutation(
        "where a search finds nothing nobody ever starts",
        ASKING,
        "if self._due is None and not runs:",
        "if self._due is not None and not runs:",
        OF_RUNS,
    ),
    Mutation(
        "what happens while a decision takes its time is forgotten",
        ASKING,
        "decides = due is None or bool(queue.size[[ARRIVED, ENDED, OUTRUN]].any()) or self._has_changed(now)",
        "decides = due is None",
        OF_RUNS,
    ),
    Mutation(
        "what is closed is not told to the model",
        ASKING,
        "if block.end > now and block.start < horizon",
        "if block.end < now",
        OF_RUNS,
    ),
    Mutation(
        "the fluid bound leaves durations whole",
        BOUND,
        "duration[order] / 2",
        "0 * duration[order]",
        OF_POOLS,
    ),
    Mutation(
        "in the fluid bound a group is full of jobs that may go elsewhere",
        BOUND,
        "[of_job & ~bits == 0 for of_job in groups]",
        "[of_job & bits != 0 for of_job in groups]",
        OF_NODES,
    ),
    Mutation(
        "in the fluid bound whoever is due later is late at once",
        OBJECTIVES,
        "starts - float((weight * self.due).sum())",
        "starts - float((weight * np.minimum(self.due, 0)).sum())",
        OF_NODES,
    ),
    Mutation(
        "a better plan is found and its order is not",
        BETTER,
        'self.places[np.argsort(starts, kind="stable")]',
        "self.places",
        OF_PLANS,
    ),
    Mutation(
        "a plan begins with what has been taken in the end",
        BETTER,
        "ahead.value[0, :steps]",
        "ahead.value[1, :steps]",
        OF_PLANS,
    ),
    Mutation(
        "jobs that outrun hold what they have in every version",
        POOLS,
        "mended=self.version >= 2",
        "mended=True",
        OF_POOLS,
    ),
    Mutation(
        "whom the free sums don't hold stays in the model",
        POOLS,
        "(pool.needs[place] <= pool.free[0]).all()",
        "(pool.needs[place] >= 0).all()",
        OF_POOLS,
    ),
)
