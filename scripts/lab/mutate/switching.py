"""Faults of who shuts nodes down and boots them: the switcher of a run, the plan of a day, and what both learn from."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

SWITCHER = "dardis/node_manager/switching.py"
OF_SWITCHER = ("tests/unit/node_manager/test_switcher.py", "tests/properties/test_switching.py")
COUNTS, REPLAY, PLANNED = "offline/onoff/counts.py", "offline/onoff/replay.py", "offline/onoff/planned.py"
OF_ONOFF = ("tests/unit/offline/onoff/test_onoff.py",)
STANDING, OF_STANDING = "offline/day/standing.py", ("tests/unit/offline/day/test_standing.py",)
OF_PLANNED = ("tests/unit/offline/onoff/test_onoff.py", "tests/unit/offline/day/test_day.py")

SWITCHING = (
    Mutation(
        "a node in maintenance is shut down", SWITCHER,
        " & ~self._closed[mine]", "", OF_SWITCHER,
    ),
    Mutation(
        "a node is booted a moment too late for its reservation", SWITCHER,
        "off & (first_start <= now + group.boot_s)", "off & (first_start < now + group.boot_s)", OF_SWITCHER,
    ),
    Mutation(
        "a node that still shuts down boots as if it were off", SWITCHER,
        "np.maximum(self._ready[nodes], now + group.boot_s)", "now + group.boot_s", OF_SWITCHER,
    ),
    Mutation(
        "a node that a job leaves is taken to hold no other", SWITCHER,
        "self._next[node] = min(starts.values(), default=FOREVER)", "self._next[node] = FOREVER", OF_SWITCHER,
    ),
    Mutation(
        "the switches of a day count from the last one", SWITCHER,
        "self._allowed[node] = times[0] + DAY_S", "self._allowed[node] = times[-1] + DAY_S", OF_SWITCHER,
    ),
    Mutation(
        "nodes that boot for a reservation do not count as being on", SWITCHER,
        " + int(np.count_nonzero(needed))", "", OF_SWITCHER,
    ),
    Mutation(
        "a wish that rises in a boot's time is seen a moment too late", "dardis/model/profile.py",
        "self.max_over(times, times + seconds + 1)", "self.max_over(times, times + np.maximum(seconds, 1))",
        ("tests/unit/model/test_profile.py",),
    ),
    Mutation(
        "a node that has come up is shut down at once, idle since before it was down", SWITCHER,
        "np.maximum(self._since[mine], self._ready[mine]) + self._idle_s", "self._since[mine] + self._idle_s",
        OF_SWITCHER,
    ),
    Mutation(
        "a node is shut down although its reservation comes soon", SWITCHER,
        "spare & (first_start > now + PLANNED_AHEAD * group.least_off_s)", "spare", OF_SWITCHER,
    ),
    Mutation(
        "nodes are on for the spares alone, whatever floor is asked for", SWITCHER,
        "min(int(np.count_nonzero(spare)) - group.spares.at(now), on - group.floors.at(now))",
        "int(np.count_nonzero(spare)) - group.spares.at(now)", OF_SWITCHER,
    ),
    Mutation(
        "boots and shut-downs are a gain where energy has a negative price", COUNTS,
        "paid = np.maximum(joule_cost, 0)", "paid = joule_cost", OF_ONOFF,
    ),
    Mutation(
        "a boot is paid at the price of the step after it", COUNTS,
        "boot_j * paid[max(step - 1, 0)]", "boot_j * paid[step]", OF_ONOFF,
    ),
    Mutation(
        "as many nodes may be shut down a minute as may be turned on", COUNTS,
        "np.minimum(every + most_off, last)", "np.minimum(every + most_on, last)", OF_ONOFF,
    ),
    Mutation(
        "spares are kept on beyond the nodes that there are", REPLAY,
        "np.minimum(self.demand.count, np.maximum(self._recent, wished))", "np.maximum(self._recent, wished)",
        OF_ONOFF,
    ),
    Mutation(
        "a boot costs what it takes beyond being off, not beyond idling", REPLAY,
        "boots * (p.boot_w - p.idle_w)", "boots * (p.boot_w - p.off_w)", OF_ONOFF,
    ),
    Mutation(
        "a demand of the past knows the jobs of the instant at which it ends", REPLAY,
        "first = int(np.searchsorted(self.start, end))", 'first = int(np.searchsorted(self.start, end, side="right"))',
        OF_ONOFF,
    ),
    Mutation(
        "what is needed when a step begins is taken for all of it", PLANNED,
        "most = need.max_over(edges[:-1], edges[1:])",
        "most = need.at(edges[:-1])", OF_PLANNED,
    ),
    Mutation(
        "a node goes down again sooner than it must stay on", PLANNED,
        "if up - down >= least_s and not near:", "if up - down >= least_s:", OF_PLANNED,
    ),
    Mutation(
        "a time down grows up to a reservation although others need the node", PLANNED,
        "not near and bool((room[span] > 0).all())", "not near", OF_PLANNED,
    ),
    Mutation(
        "a boot that would end after the day is paid in full", "offline/onoff/clairvoyant.py",
        "np.minimum(until, end - gaps.start) - since", "until - since",
        OF_ONOFF,
    ),
    Mutation(
        "a job that begins as another ends opens a busy time of its own", "offline/onoff/spans.py",
        "(begin[1:] > reach[:-1])", "(begin[1:] >= reach[:-1])", OF_ONOFF,
    ),
    Mutation(
        "hours that have passed are taken off as the whole day before", "offline/extract/algorithm8.py",
        "used.integral(day - DAY_S, begin - DAY_S)", "used.integral(day - DAY_S, day)",
        ("tests/unit/offline/extract/test_extract.py",),
    ),
    Mutation(
        "an hour's rule knows what was submitted on its own day", "offline/extract/hours.py",
        "arrivals(midnight - EVENING_S, midnight)", "arrivals(begins - EVENING_S, begins)",
        ("tests/unit/offline/extract/test_extract.py",),
    ),
    Mutation(
        "who is off when a day begins is shut down anew, so many a minute",
        PLANNED,
        "(node, down if (node, down) in stays else downs.at(down, 1), up)",
        "(node, downs.at(down + 60, 1), up)",
        OF_PLANNED,
    ),
    Mutation(
        "jobs that run are put on nodes that are off, though others are on",
        STANDING,
        "np.select([off, boots, self.busy, self.closed], [4, 3, 0, 2], 1)",
        "np.select([off, boots, self.busy, self.closed], [0, 3, 4, 2], 1)",
        OF_STANDING,
    ),
    Mutation(
        "who takes no jobs is given some",
        STANDING,
        "until = np.where(self.closed, end, start)",
        "until = np.where(self.closed, start, start)",
        OF_STANDING,
    ),
    Mutation(
        "a shut-down of the day before is forgotten once the node has booted again",
        STANDING,
        "            found.pop(node, None)",
        "            pass",
        OF_STANDING,
    ),
)  # fmt: skip
