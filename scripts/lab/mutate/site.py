"""Faults of what happens at a site: reservations, events, and those who are told of them."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

KEPT = ("tests/properties/test_reservations.py",)
HAPPENS = ("tests/properties/test_site_events.py",)
FILES = ("tests/unit/config/test_platform_file.py", "tests/unit/config/test_events_files.py")

SITE = (
    Mutation(
        "what is kept for a reservation others may use",
        "dardis/kernels/profiles.py",
        "            if window.less is not None:\n                self._take_less(window, window.less)\n",
        "            pass\n",
        KEPT,
    ),
    Mutation(
        "jobs of a reservation run on beyond its end",
        "dardis/model/laid_out.py",
        "        (spans[-1][1], spans[-1][1] + 1),\n",
        "",
        KEPT,
    ),
    Mutation(
        "who waits for a reservation is in the way of all others",
        "dardis/registry/builders.py",
        "Apart(make, machine) if machine.kept_groups else make(machine)",
        "make(machine)",
        KEPT,
    ),
    Mutation(
        "the audit knows no users",
        "dardis/metrics/audit.py",
        "~np.isin(s.user, reservation.users)",
        "False",
        KEPT,
    ),
    Mutation(
        "the audit lets jobs of a reservation run when it is over",
        "dardis/metrics/audit.py",
        "outside = ran & ((place < 0) | (end > ends[place]))",
        "outside = ran & (place < 0)",
        KEPT,
    ),
    Mutation(
        "the audit lets others have what is kept",
        "dardis/metrics/capacities.py",
        "if window.less is not None:",
        "if window.less is None and window.less:",
        KEPT,
    ),
    Mutation(
        "three reservations that keep too much together",
        "dardis/config/reservations.py",
        "if len(standing) < 2:",
        "if len(standing) < 9:",
        FILES,
    ),
    Mutation(
        "jobs of a stopped queue start",
        "dardis/sim/site.py",
        "                world.withdraw(places, now)\n                self._held.update(places)\n",
        "                world.withdraw([], now)\n",
        HAPPENS,
    ),
    Mutation(
        "jobs that arrive in a stopped queue start",
        "dardis/sim/site.py",
        "        if job.queue in self._stopped:\n            self._held.add(place)\n",
        "",
        HAPPENS,
    ),
    Mutation(
        "what runs on nodes that fail runs on",
        "dardis/sim/site.py",
        "np.isin(world.recorder.nodes_of(place), failed).any()",
        "place < 0",
        HAPPENS,
    ),
    Mutation(
        "a reservation that is made stands beside whoever runs there",
        "dardis/sim/site.py",
        "                if until > moment:",
        "                if until > moment + (1 << 40):",
        HAPPENS,
    ),
    Mutation(
        "nodes that are told of failures forget what runs",
        "dardis/node_manager/pool.py",
        "            self._hold(job, replace(claim, start=max(claim.start, now)), now)\n",
        "            pass\n",
        HAPPENS,
    ),
    Mutation(
        "a central dispatcher that is told of failures forgets what runs",
        "dardis/dispatch/central.py",
        "if now < end and not self._nodes.reserve(nodes, units, request, now, end, now):",
        "if len(nodes) == 0:",
        HAPPENS,
    ),
    Mutation(
        "a withdrawn job keeps its reservation on nodes",
        "dardis/task_manager/late/turns.py",
        "        effects = self._negotiation.states[number].give_back()\n        self.forget(number)",
        "        effects: list[Effect] = []\n        self.forget(number)",
        HAPPENS,
    ),
    Mutation(
        "a job that was changed has its old end",
        "dardis/sim/simulation.py",
        "            self._version[place] += 1\n            self.recorder.withdrawn(place)",
        "            self.recorder.withdrawn(place)",
        HAPPENS,
    ),
    Mutation(
        "only what is stopped starts",
        "dardis/config/events.py",
        "            if table.start_queue not in stopped:",
        "            if table.start_queue in {None}:",
        FILES,
    ),
)
