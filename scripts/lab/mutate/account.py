"""Faults of power and money, and of the audit: what is drawn when, what it costs, and which schedules pass."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

ACCOUNTED = "dardis/power/account.py"
OF_ACCOUNT = ("tests/unit/power/test_account.py",)
PLANTS = ("tests/unit/power/test_nodes_and_plants.py",)
FIGURES = ("tests/unit/metrics/test_power_figures.py",)
AUDIT = ("tests/unit/metrics/test_audit.py", "tests/unit/metrics/test_downtime.py")

ACCOUNT = (
    Mutation(
        "a boot counts from before the node is off, where it is up sooner than it can be", ACCOUNTED,
        "boot = np.maximum(up - machine.boot_s[node], off)", "boot = up - machine.boot_s[node]", OF_ACCOUNT,
    ),
    Mutation(
        "a node that shuts down or boots idles as well", ACCOUNTED,
        "- joules(down, up, machine.idle_w[node])", "- joules(off, boot, machine.idle_w[node])", OF_ACCOUNT,
    ),
    Mutation(
        "a quarter of an hour is as warm as its first moment", ACCOUNTED,
        "Series(conditions.edges, conditions.temp_c).means(quarters)",
        "Series(conditions.edges, conditions.temp_c).at(quarters[:-1])", OF_ACCOUNT,
    ),
    Mutation(
        "a limit on power holds to the end of the quarter of an hour in which it ends", ACCOUNTED,
        "inside = np.clip(np.minimum(quarters[1:], end) - np.maximum(quarters[:-1], start), 0, None)",
        "inside = np.where(quarters[:-1] < end, np.clip(quarters[1:] - np.maximum(quarters[:-1], start), 0, None), 0)",
        OF_ACCOUNT,
    ),
    Mutation(
        "the CO2 of cooling is free", ACCOUNTED,
        "kwh = (it_w + cooling_w) * np.diff(conditions.edges) / 3.6e6",
        "kwh = it_w * np.diff(conditions.edges) / 3.6e6",
        OF_ACCOUNT,
    ),
    Mutation(
        "limits on power are judged by IT power alone", ACCOUNTED,
        "_limits(quarters, drawn_w / 1000, tariff)", "_limits(quarters, load_w / 1000, tariff)", OF_ACCOUNT,
    ),
    Mutation(
        "a profit does not have what the tariff charges besides energy", ACCOUNTED,
        "- self.cooling_eur - self.tariff_eur", "- self.cooling_eur", OF_ACCOUNT,
    ),
    Mutation(
        "stated watts come on top of the share of idle power", ACCOUNTED,
        "np.maximum(stated - idle_w, 0)", "stated", OF_ACCOUNT,
    ),
    Mutation(
        "stated watts below the share of idle power give power back", ACCOUNTED,
        "np.maximum(stated - idle_w, 0)", "stated - idle_w", OF_ACCOUNT,
    ),
    Mutation(
        "quarters of an hour count from the trace's begin, not from UTC's hours", "dardis/power/conditions.py",
        "-(self.start + self.offset) % DEMAND_SPAN_S", "-self.start % DEMAND_SPAN_S", OF_ACCOUNT,
    ),
    Mutation(
        "a time down pays before a node can shut down and boot", "dardis/power/nodes.py",
        "np.maximum(even, self.cycle_s)", "even", ("tests/unit/power/test_nodes_and_plants.py",),
    ),
    Mutation(
        "nodes that are off draw nothing of a power cap", "dardis/power/nodes.py",
        "on * machine.idle_w.mean() + off * machine.off_w.mean()", "on * machine.idle_w.mean()",
        ("tests/unit/power/test_nodes_and_plants.py",),
    ),
    Mutation(
        "whoever weighs energy takes its CO2 to be free", "dardis/power/joule.py",
        "(conditions.price_per_kwh + co2_per_kwh(conditions, tariff)) / 3.6e6", "conditions.price_per_kwh / 3.6e6",
        OF_ACCOUNT,
    ),
    Mutation(
        "whoever weighs energy takes all cooling for what the last joule adds", "dardis/power/joule.py",
        "(cooling.watts(conditions.temp_c, load) - cooling.watts(conditions.temp_c, less))",
        "cooling.watts(conditions.temp_c, load)", OF_ACCOUNT,
    ),
    Mutation(
        "energy that is saved counts as throughput at its price after, not before", "dardis/power/gain.py",
        "energy, cost = (energy_before, cost_before) if energy_before else (energy_after, cost_after)",
        "energy, cost = (energy_after, cost_after) if energy_after else (energy_before, cost_before)",
        ("tests/unit/power/test_account.py",),
    ),
    Mutation(
        "free cooling runs although the chiller would be cheaper", "dardis/power/air.py",
        "np.minimum(free, machine)", "np.where(np.isfinite(free), free, machine)", PLANTS,
    ),
    Mutation(
        "a chiller that helps a dry cooler removes all of the heat", "dardis/power/hybrid.py",
        "fans + self.chiller.watts(temp, (1 - share) * heat)", "fans + self.chiller.watts(temp, heat)", PLANTS,
    ),
    Mutation(
        "the condenser gets as cold as the air", "dardis/power/chiller.py",
        "np.clip(temp_c, self.floor_c, self.ceiling_c)", "np.minimum(temp_c, self.ceiling_c)", PLANTS,
    ),
    Mutation(
        "a profit is told although the cooling of a plant is not known", "dardis/metrics/power.py",
        "complete = priced and (cooled or report.terms.cooling is None)", "complete = priced", FIGURES,
    ),
    Mutation(
        "CO2 is told as 0 where nothing is known of it", "dardis/metrics/power.py",
        "told.co2_kg if around.carbon is not None else None", "told.co2_kg", FIGURES,
    ),
    Mutation(
        "jobs that did not run count among those that waited for no boot", "dardis/metrics/downtime.py",
        "int(np.count_nonzero(boot_delay[ran])) / int(np.count_nonzero(ran))",
        "int(np.count_nonzero(boot_delay[ran])) / len(ran)", ("tests/unit/metrics/test_downtime.py",),
    ),
    Mutation(
        "a node is off while it shuts down", "dardis/metrics/downtime.py",
        "np.clip(downtime.down + shutdown_s, start, end)", "np.clip(downtime.down, start, end)",
        ("tests/unit/metrics/test_downtime.py",),
    ),
    Mutation(
        "a node that is shut down while it is down passes the audit", "dardis/metrics/audit.py",
        "(node[1:] == node[:-1]) & (down[1:] < up[:-1])", "(node[1:] == node[:-1]) & (down[1:] < down[:-1])", AUDIT,
    ),
    Mutation(
        "a job whose walltime reaches into a maintenance passes the audit", "dardis/metrics/job_rules.py",
        "end = s.start + s.walltime if self._reserved and window.foreseen else s.finish", "end = s.finish", AUDIT,
    ),
    Mutation(
        "a job that begins as its node comes up is told to be on a node that is down", "dardis/metrics/job_rules.py",
        "(spans.up[last] > s.start[job])", "(spans.up[last] >= s.start[job])", (*AUDIT, *OF_ACCOUNT),
    ),
    Mutation(
        "at one instant starts come before ends", "dardis/metrics/capacities.py",
        "order = np.lexsort((begins, time,", "order = np.lexsort((~begins, time,", AUDIT,
    ),
)  # fmt: skip
