"""How much work task managers' jobs are, whoever has which of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual

from dardis.model.addresses import address_of
from dardis.model.platform import NodeGroup, Platform
from dardis.task_manager.late.backlog import Backlog, Totals
from dardis.task_manager.layout import layout_of
from dardis.task_manager.setups import LateSetUp

MACHINE = Platform("m", (NodeGroup("a", 3, {"cores": 4, "memory": 9}), NodeGroup("b", 2, {"cores": 1, "memory": 1})))
LAYOUT = layout_of(MACHINE, (0, 5), None)


def backlog(manager: int = 0) -> Backlog:
    return Backlog(LAYOUT, address_of(manager), LateSetUp(aged_after_s=48))


def job(number: int, walltime: int, cores: int):
    return actual(number, 0, 0, None, walltime, cores, (1, 1), 3, runtime=walltime).job


NEW = job(9, 1, 1)


def seconds(mine: Backlog, now: int) -> tuple[int, int]:
    return mine.known(now).seconds(now, LAYOUT.cores)


def test_backlog_counts_waiting_and_running_work():
    mine = backlog()
    mine.add_waiting(job(1, 100, 2), 0)
    mine.add_waiting(job(2, 30, 14), 0)
    assert mine.totals(0) == Totals(waits=620)
    assert seconds(mine, 0) == (620 // 14, 0)
    assert mine.old_after(job(2, 30, 14), 0) == 9 * 3 * (200 // 14) // 4  # without most of its own work
    mine.record_start(1, 10)
    assert mine.totals(60) == Totals(waits=420, ends=220, cores=2, lasting=420)
    assert seconds(mine, 60) == ((420 + 2 * 50) // 14,) * 2
    assert mine.old_after(NEW, 60) == 37 + 5 * 37 // 4
    mine.record_end(1, 60)  # it has used half of what it asked for
    assert mine.totals(60) == Totals(waits=420, asked=200, used=100, lasting=420)
    assert seconds(mine, 60) == (210 // 14,) * 2
    assert mine.old_after(NEW, 80) == 9 * (37 - 2) // 4  # the largest backlog falls by a tenth of the time
    assert mine.old_after(NEW, 360) == 9 * 15 // 4  # less than what is left
    mine.drop_waiting(2)
    mine.drop_waiting(2)
    mine.drop_waiting(1)
    assert mine.totals(400) == Totals(asked=200, used=100)
    mine.add_waiting(job(3, 10**10, 14), 400)
    assert mine.old_after(NEW, 400) == 48 + 5 * 864_000 // 4  # of more no more counts


def test_job_withdrawn_soon_has_no_later_effect():
    mine = backlog()
    mine.add_waiting(job(1, 10**6, 14), 0)
    assert mine.old_after(NEW, 1) == 48 + 5 * 864_000 // 4
    mine.drop_waiting(1)
    assert mine.old_after(NEW, 1) == mine.old_after(NEW, 10) == 0


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 50), st.integers(1, 9), st.integers(0, 99)), max_size=12))
def test_task_managers_agree_after_all_reports(rows):
    alone, split = backlog(), [backlog(manager) for manager in range(3)]
    for number, (manager, walltime, cores, fate) in enumerate(rows):
        for one in (alone, split[manager]):
            one.add_waiting(job(number, walltime, cores), 0)
            if fate > 30:
                one.record_start(number, fate % 7)
            if fate > 60:
                one.record_end(number, fate % 7 + 5)
    for now in (0, 3, 20):
        said = [one.make_report(now).message for one in split]
        told = np.array([[t.manager, t.number, *t.totals.tolist()] for t in said])
        for one in split:
            one.store_reports(told, now)
            one.store_reports(told - np.array([0, 1, *[9] * 14]), now)  # an older one comes late
        assert {seconds(one, now) for one in split} == {seconds(alone, now)}
        assert split[now % 3].old_after(NEW, now) == alone.old_after(
            NEW, now
        )  # the others learn of the largest by reports


def exchange_reports(told: list[Backlog], by: Backlog, now: int) -> None:
    said = [one.make_report(now).message for one in told]
    by.store_reports(np.array([[one.manager, one.number, *one.totals.tolist()] for one in said]), now)


@given(st.integers(0, 400))
def test_missing_report_does_not_reduce_the_work_of_others(now):
    mine, other = backlog(), backlog(1)
    mine.add_waiting(job(1, 400, 5), 0)
    mine.record_start(1, 0)
    other.add_waiting(job(2, 100, 9), 0)
    other.record_start(2, 0)
    exchange_reports([other], mine, 0)
    assert seconds(mine, now)[0] == (5 * (400 - now) + 9 * max(100 - now, 0)) // 14
