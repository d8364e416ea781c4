from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kit.node_schedules import DEFAULTS, machine, schedule_of

from dardis.model.platform import NodePower
from dardis.model.profile import StepFunction
from offline.extract.hours import HourTable, hour_table
from offline.extract.spares import Aims, Outcome, learn_spares, outcome_of
from offline.onoff.replay import PastDemand, demands_of

DAY, HOUR = 86_400, 3_600
COUNT = 40


def bursts(days: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Every day at nine 20 jobs a minute apart, two hours long; else one an hour."""
    jobs = []
    for day in range(days):
        for hour in range(24):
            begin = day * DAY + hour * HOUR + 600
            if hour == 9:
                jobs += [(begin + 5 * k, begin + 5 * k + 2 * HOUR, (k,)) for k in range(20)]
            jobs.append((begin, begin + 900, (COUNT - 1,)))
    return sorted(jobs)


def known(days: int) -> HourTable:
    return hour_table(0, days, 0, StepFunction.from_steps(0, []), COUNT, np.zeros(0, dtype=np.int64), {})


def learn(days: int, jobs=None, platform=None):
    platform = platform or machine(COUNT, DEFAULTS)
    return learn_spares(demands_of(schedule_of(jobs or bursts(days)), platform), known(days), platform)


def test_spares_are_kept_in_the_hour_that_needs_them() -> None:
    rule = learn(10)
    spares = rule.predict(known(10).rows(0, 24))[0].at(HOUR * np.arange(24))
    assert spares[9] >= 10
    assert spares[[*range(6), *range(12, 24)]].max() <= 2
    assert any("hour" in text and "spare node" in text for text in rule.rules())
    assert rule.cv_error is not None
    assert rule.cv_error < spares[9]
    assert not rule.notes


def test_the_rule_strains_the_aims_less_than_any_number_kept_always() -> None:
    demand = demands_of(schedule_of(bursts(10)), machine(COUNT, DEFAULTS))[0]
    table = known(10)
    past = PastDemand(demand, DEFAULTS, 337, table.edges)
    bound = float(past.replay(0).saved_j.sum())

    def strain(spares) -> float:
        return Aims.at_use(0.1).strain(outcome_of(past.replay(spares), bound))

    learned = learn(10).predict(table)[0].at(table.edges[:-1])
    assert strain(learned) < min(strain(always) for always in range(COUNT + 1))


def test_the_same_past_gives_the_same_rule() -> None:
    assert learn(7).rules() == learn(7).rules()


def test_what_comes_after_the_table_changes_nothing() -> None:
    later = bursts(8) + [(8 * DAY + k, 9 * DAY, (k,)) for k in range(COUNT)]
    assert learn(8, later).rules() == learn(8).rules()


def test_demand_before_a_time_is_all_that_a_rule_of_that_time_needs() -> None:
    demand = demands_of(schedule_of(bursts(8)), machine(COUNT, DEFAULTS))[0]
    platform = machine(COUNT, DEFAULTS)
    cut = learn_spares({0: demand.before(6 * DAY)}, known(6), platform)
    assert cut.rules() == learn_spares({0: demand}, known(6), platform).rules()


def test_with_little_history_a_share_of_the_nodes_is_kept_and_it_says_so() -> None:
    rule = learn(3)
    assert rule.rules() == ["always → 2 spare nodes"]
    assert rule.notes == ("n: 3 days of history, so it always keeps 2 spare nodes (3 %)",)
    assert rule.cv_error is None
    assert rule.predict(known(3))[0].at(5 * HOUR) == 2


def test_a_past_with_no_idle_node_falls_back() -> None:
    full = [(0, 10 * DAY, tuple(range(COUNT)))]
    assert "nothing to save" in learn(7, full).notes[0]


def test_without_a_job_or_a_day_nothing_is_learned() -> None:
    platform = machine(COUNT, DEFAULTS)
    nobody = demands_of(schedule_of([]), platform)
    assert "no job in its past" in learn_spares(nobody, known(7), platform).notes[0]
    assert "0 days of history" in learn_spares(nobody, known(7).rows(0, 0), platform).notes[0]


def test_groups_that_are_not_switched_have_no_rule() -> None:
    assert learn(7, platform=machine(COUNT, DEFAULTS, always_on=True)).predict(known(7)) == {}
    assert learn(7, platform=machine(COUNT, NodePower())).predict(known(7)) == {}


def test_strain_is_the_share_of_the_room_used_up() -> None:
    met = Outcome(share_of_bound=0.95, mean_delay_s=15.0, delayed_share=0.05)
    assert abs(Aims().strain(met) - 0.5) < 1e-9
    assert Aims().strain(replace(met, mean_delay_s=33.0)) > 1
    assert Aims.at_use(0.2).delayed_share == 0.15
    assert Aims.at_use(0.78).share_of_bound == 0.9
    assert Aims.at_use(0.82).share_of_bound == 0.93


def _paid(spares, wait_j: float, days: int = 10) -> float:
    """What the days cost with these spares: energy that no spares would have saved, and waits, J."""
    past = PastDemand(
        demands_of(schedule_of(bursts(days)), machine(COUNT, DEFAULTS))[0], DEFAULTS, 337, known(days).edges
    )
    replay = past.replay(spares)
    return float(past.replay(0).saved_j.sum() - replay.saved_j.sum() + wait_j * replay.delay.sum())


@pytest.mark.parametrize("wait_j", [1e-3, 10.0, 100.0, 1e4, 1e6])
def test_a_price_of_waits_takes_the_place_of_the_aims(wait_j) -> None:
    """The rule costs no more than any number that is always kept, but for what it has not seen."""
    demands, table = demands_of(schedule_of(bursts(10)), machine(COUNT, DEFAULTS)), known(10)
    rule = learn_spares(demands, table, machine(COUNT, DEFAULTS), wait_j=wait_j)
    learned = rule.predict(table)[0].at(table.edges[:-1])
    always = [_paid(number, wait_j) for number in range(COUNT + 1)]
    assert _paid(learned, wait_j) <= 1.05 * min(always)


def test_dearer_waits_keep_more_nodes_on() -> None:
    demands, table = demands_of(schedule_of(bursts(10)), machine(COUNT, DEFAULTS)), known(10)
    kept = []
    for wait_j in (1e-6, 1.0, 30.0, 1e3, 1e6):
        rule = learn_spares(demands, table, machine(COUNT, DEFAULTS), wait_j=wait_j)
        kept.append(rule.predict(table)[0].at(table.edges[:-1]).sum())
    assert kept == sorted(kept)
    assert kept[0] == 0
    assert kept[-1] > 0
