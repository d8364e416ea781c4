"""The rule-based set-ups as opponents: they know all runtimes, and no walltime."""

from __future__ import annotations

from dataclasses import replace

from kit.small_site import DAY_S, START, crowded_rows, swf, write_site

from offline.planner.midnight import plan_jobs, state_at
from offline.planner.problem import Expected, Problem
from offline.planner.rules import rule_based, rule_plans, rule_setups
from offline.site.history import predictor_of, replayed
from offline.site.site import SiteRequest, load_site


def problem_of(site, day):
    start = site.calendar.day(day)[0]
    past = replayed(site.jobs, site.platform)
    state = state_at(past, [job.asked for job in site.jobs], site.platform, start, predictor_of(past))
    jobs = [*state.waiting, *(Expected.as_it_runs(job) for job in site.jobs if start <= job.submit < start + DAY_S)]
    rows = plan_jobs(jobs, site.platform, start)
    return jobs, Problem(site.platform, site.conditions(day), site.cooling, site.tariff, rows, state.running,
                         start + 2 * DAY_S)  # fmt: skip


def test_rules_know_all_runtimes_and_no_walltime(tmp_path):
    folder = write_site(tmp_path)
    (folder / "trace.swf").write_text(swf(crowded_rows()))
    files = (folder / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    site = load_site(SiteRequest(*files, calendar_start=START))
    jobs, problem = problem_of(site, 8)
    now, numbers = problem.conditions.start, problem.jobs.number.tolist()
    plans = {rule.search: rule for rule in rule_plans(problem)}
    assert len(plans) == len(rule_setups()) == 6
    for name, setup in rule_setups().items():
        for told in (
            jobs[::-1],
            [replace(job, asked=replace(job.asked, walltime=job.asked.walltime * 2)) for job in jobs],
        ):
            schedule = rule_based(told, problem.running, site.platform, setup, now)
            start = dict(zip(schedule.number.tolist(), schedule.start.tolist(), strict=True))
            assert [start[number] for number in numbers] == plans[name].start.tolist()
