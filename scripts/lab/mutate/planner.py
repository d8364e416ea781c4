"""Faults of planning: bounds that are exceeded, moves judged wrongly, glances at the future, plans not heeded."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

CP = "offline/planner/cp"
BOUND = ("tests/unit/offline/planner/test_cp_bound.py",)
SEARCHES = ("tests/unit/offline/planner/test_planner_searches.py",)
MIDNIGHT = "offline/planner/midnight.py"
HISTORY = ("tests/unit/offline/planner/test_midnight.py",)
PLANS = ("tests/unit/offline/planner/test_planner_plan.py",)
OF_LOOP = ("tests/unit/offline/loop/test_loop.py",)
OF_CAP = ("tests/unit/cli/test_hybrid.py",), "cap"
PAST = ("tests/unit/offline/forecast/test_forecast_past.py",)

PLANNER = (
    Mutation(
        "what is wasted counts where energy has a positive price, not a negative one",
        "offline/planner/switched_bound.py",
        "np.maximum(-price, 0)", "np.maximum(price, 0)", PLANS,
    ),
    Mutation(
        "nothing is wasted unless all prices are negative", "offline/planner/switched_bound.py",
        "if price.min() >= 0:", "if price.max() >= 0:", PLANS,
    ),
    Mutation(
        "no node draws less when it boots or idles than when it is off", "offline/planner/switched_bound.py",
        "least = min(power.off_w, power.idle_w, power.boot_w if power.boot_s else np.inf,\n"
        "                power.shutdown_w if power.shutdown_s else np.inf)  # fmt: skip\n",
        "least = power.off_w\n", PLANS,
    ),
    Mutation(
        "a job's best start is looked for only where a segment begins", f"{CP}/market.py",
        "np.concatenate([np.tile(edges, (len(block), 1)), edges[None, :] - duration], axis=1)",
        "np.tile(edges, (len(block), 1))", BOUND,
    ),
    Mutation(
        "room that jobs pay for is let by nobody", f"{CP}/market.py",
        "total = self.base_income + gain + sold.sum() + letting", "total = self.base_income + gain + sold.sum()", BOUND,
    ),
    Mutation(
        "a unit of half a node takes the node for itself", f"{CP}/capacity.py",
        "large = np.where(inside & (request > half)", "large = np.where(inside & (request >= half)", BOUND,
    ),
    Mutation(
        "a node that holds two jobs at once is taken off twice", f"{CP}/capacity.py",
        "if blocks[place] and start[place] >= busy_until.get(int(node[place]), _BEFORE_ALL):", "if blocks[place]:",
        BOUND,
    ),
    Mutation(
        "cooling of a column is looked up where it ends, not where it is cheapest", f"{CP}/model.py",
        "least = np.minimum(cost(at - slack), cost(at + day.column_w + slack))",
        "least = cost(at + day.column_w + slack)",
        BOUND,
    ),
    Mutation(
        "polishing moves a job beyond its latest start", f"{CP}/window.py",
        "last = conditions.end if jobs.latest[job] == NO_TIME else min(conditions.end, int(jobs.latest[job]))",
        "last = conditions.end", BOUND,
    ),
    Mutation(
        "a start is offered to a job where others leave it no room at its end", "dardis/model/profile.py",
        'last = np.searchsorted(self._times, ends, side="left") - 1', "last = first",
        ("tests/unit/model/test_profile.py",),
    ),
    Mutation(
        "prices that differ are merged into one segment", "scripts/lab/thesis_6/solver_searches.py",
        "if float(np.ptp(span)) > ALIKE_C or price[place] != price[first[-1]]:",
        "if float(np.ptp(span)) > ALIKE_C:",
        ("tests/unit/scripts/test_solver_searches.py",),
    ),
    Mutation(
        "a job that is asked for later may begin before it is allowed to", "offline/planner/packing.py",
        "first = soonest if first is None else max(first, soonest)", "first = soonest if first is None else first",
        SEARCHES,
    ),
    Mutation(
        "a limit of power that always binds is worth no more than its penalty", "offline/planner/money.py",
        "LATE * (late + account.over_limit_kwh)", "LATE * late", SEARCHES,
    ),
    Mutation(
        "a move is judged without the contracted maximum", "offline/planner/money.py",
        "    if tariff.contracted_kw is not None:\n", "    if tariff.contracted_kw is not None and not found:\n",
        SEARCHES,
    ),
    Mutation(
        "ties turn with the order", "offline/planner/orders.py",
        "np.lexsort((ties(problem), -values if decreasing else values))",
        "np.lexsort((-ties(problem) if decreasing else ties(problem), -values if decreasing else values))", SEARCHES,
    ),
    Mutation(
        "a job that has ended when the day begins is taken to run on", MIDNIGHT,
        "(schedule.start < now) & (schedule.finish > now)",
        "(schedule.start < now) & (schedule.finish >= now)", HISTORY,
    ),
    Mutation(
        "the walltimes that a trace does not state are learned from jobs that have not ended", MIDNIGHT,
        "schedule.ran & (schedule.finish <= now)", "schedule.ran & (schedule.start < now)", HISTORY,
    ),
    Mutation(
        "a forecast knows how long a job will wait that has not begun", "offline/forecast/past.py",
        "wait = np.where(start <= origin, jobs.wait, UNKNOWN)", "wait = jobs.wait", PAST,
    ),
    Mutation(
        "a forecast knows the runtime of a job that ends in its first moment", "offline/forecast/past.py",
        "ended = start + jobs.runtime <= origin", "ended = start + jobs.runtime <= origin + 1", PAST,
    ),
    Mutation(
        "no plan is told to be above the time limit", "offline/planner/plan.py",
        "for reason in (StoppedBy.USER, StoppedBy.TIME) if", "for reason in (StoppedBy.USER,) if",
        PLANS,
    ),
    Mutation(
        "the search begins with what multi-search made, though a rule's plan is better", "offline/planner/plan.py",
        "best = rule if rank > rank_of(problem, multi.start)[0] else multi", "best = multi", PLANS, "rule",
    ),
    Mutation(
        "what runs already holds its nodes while they are in maintenance", "offline/planner/problem.py",
        "for span in platform.open_spans(node, now, finish):", "for span in [(now, finish)]:",
        (*SEARCHES, *PLANS),
    ),
    Mutation(
        "nodes that the plan leaves idle are switched as if CO2 were free", "offline/day/day.py",
        "cost_of_joule(conditions, problem.cooling, problem.tariff,",
        "cost_of_joule(conditions, problem.cooling, replace(problem.tariff, co2_per_t=0.0),",
        ("tests/unit/offline/day/test_day.py",),
    ),
    Mutation(
        "jobs are held as if CO2 were free", "offline/loop/shift.py",
        "cost_of_joule(conditions, site.cooling, site.tariff,",
        "cost_of_joule(conditions, site.cooling, replace(site.tariff, co2_per_t=0.0),", OF_LOOP,
    ),
    Mutation(
        "jobs are held as if their walltimes were how long they run", "offline/loop/shift.py",
        "expected = predictor.runtime(job.user, job.walltime, job.submit)", "expected = job.walltime", OF_LOOP,
    ),
    Mutation(
        "a soft cap is taken for a hard one", "offline/loop/loop.py",
        'f"profile={options.cap}"', '"profile=hard"', *OF_CAP,
    ),
    Mutation(
        "no day has its cap", "offline/loop/loop.py",
        "target = Target(desired, ", "target = Target(None, ", *OF_CAP,
    ),
    Mutation(
        "a profile that is off decides all the same", "dardis/runs/play.py",
        "return None if dispatcher.setup.profile is ProfileRule.OFF else target.desired", "return target.desired",
        ("tests/unit/runs/test_play.py",),
    ),
)  # fmt: skip
