"""The Gymnasium environments: interface, seeds, rewards, digests, caps of hours, and one line for bad input."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dardis
from dardis.metrics.audit import audit
from dardis.model.choices import Expecting
from dardis.power.unit_power import UnitPower

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

import dardis.gym  # noqa: E402
from dardis.gym.env_inputs import expected_runtimes  # noqa: E402

QUEUE, POWER = "dardis/Queue-v0", "dardis/Power-v0"
ACTIONS = {QUEUE: 0, POWER: np.ones(1, dtype=np.float32)}
pytestmark = pytest.mark.filterwarnings("ignore:platform machine:dardis.DardisWarning")


def trace_of(count=120, span=2 * 86_400):
    draw = np.random.default_rng(7)
    walltime = draw.integers(60, 20_000, count)
    return dardis.Trace(
        {
            "job_id": np.arange(1, count + 1), "submit_s": np.sort(draw.integers(0, span, count)),
            "runtime_s": np.maximum(walltime // draw.integers(1, 4, count), 1), "walltime_s": walltime,
            "units": draw.integers(1, 7, count), "req_cores": draw.integers(1, 9, count),
            "user": draw.integers(1, 4, count),
        }
    )  # fmt: skip


PLATFORM = dardis.Platform([dardis.nodes(6, cores=8, power={"idle_w": 90, "core_w": 7.5})], prices=0.3, weather=12.0)
TRACE = trace_of()


def make(name, trace=TRACE, platform=PLATFORM, **options):
    options = {"jobs_per_episode": 40} | options if name == QUEUE else {"hours": 12} | options
    return gymnasium.make(name, trace=trace, platform=platform, **options)


def finish(env, pick):
    rewards, infos, over = [], [], False
    while not over:
        _, reward, ended, cut, info = env.step(pick())
        rewards.append(reward)
        infos.append(info)
        over = ended or cut
    return rewards, infos


@pytest.mark.parametrize(
    ("name", "options"),
    [(QUEUE, {}), (QUEUE, {"each_step": True, "reward": "wait"}), (POWER, {}), (POWER, {"levels": 5})],
)
def test_environments_pass_gymnasiums_checker(name, options):
    check_env(make(name, **options).unwrapped)


@pytest.mark.parametrize("name", [QUEUE, POWER])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_of_environments_step(name, mode):
    options = {"jobs_per_episode": 10} if name == QUEUE else {"hours": 2}
    envs = gymnasium.make_vec(name, 2, mode, trace=TRACE, platform=PLATFORM, **options)
    try:
        envs.reset(seed=3)
        for _ in range(14):
            observation, reward, *_ = envs.step(np.array([ACTIONS[name]] * 2))
        assert reward.shape == (2,)
        assert all(len(values) == 2 for values in observation.values())
    finally:
        envs.close()


@pytest.mark.parametrize(
    ("backfill", "name"), [("easy", "easy"), ("conservative", "conservative"), (None, "rules-fcfs")]
)
def test_first_job_always_picked_gives_the_dispatchers_digest(backfill, name):
    env = make(QUEUE, backfill=backfill)
    env.reset(seed=5)
    rewards, infos = finish(env, lambda: 0)
    numbers = env.unwrapped.episode().number
    part = dardis.Trace(TRACE.frame[TRACE.frame["job_id"].isin(numbers)])
    run = dardis.simulate(part, PLATFORM, name)
    assert env.unwrapped.schedule().digest() == run.digest
    assert rewards[-1] == pytest.approx(-run.metrics["mean_bounded_slowdown"]) == -infos[-1]["mean_bounded_slowdown"]
    assert not any(rewards[:-1])


def test_rewards_of_steps_sum_to_that_of_the_episode_and_masks_hold():
    sums = []
    for options in (
        {},
        {"each_step": True},
        {"reward": lambda episode: -float((episode.start - episode.submit).mean())},
    ):
        env = make(QUEUE, jobs_seen=4, **options)
        observation, info = env.reset(seed=1, options={"first": 3})
        draw, rewards, over = np.random.default_rng(2), [], False
        while not over:
            assert (env.unwrapped.action_masks() == info["action_mask"]).all()
            assert (observation["jobs"][:, 1] > 0).tolist() == info["action_mask"].astype(bool).tolist()
            place = draw.choice(np.flatnonzero(info["action_mask"]))
            observation, reward, over, _, info = env.step(place)
            rewards.append(reward)
        sums.append(sum(rewards))
    assert sums[0] == pytest.approx(sums[1])
    assert sums[2] == pytest.approx(-info["mean_wait_s"])


def test_seeds_repeat_windows_and_a_masked_action_picks_the_first_job():
    first, second = make(QUEUE), make(QUEUE)
    one, two = first.reset(seed=8)[0], second.reset(seed=8)[0]
    assert all((one[key] == two[key]).all() for key in one)
    finish(first, lambda: 127)
    finish(second, lambda: 0)
    assert (first.unwrapped.episode().start == second.unwrapped.episode().start).all()
    first.reset()
    second.reset()
    assert first.unwrapped._first == second.unwrapped._first


def test_expected_runtimes_use_only_jobs_that_ended_by_then():
    jobs = make(QUEUE).unwrapped.jobs
    found = expected_runtimes(jobs, [0] * len(jobs), Expecting.LAST_TWO)
    assert found[0] == jobs[0].walltime
    assert all(runtime <= job.walltime for runtime, job in zip(found, jobs, strict=True))
    assert (expected_runtimes(jobs, [10**9] * len(jobs), Expecting.LAST_TWO) == [job.walltime for job in jobs]).all()
    plain, told = (
        make(QUEUE, expected=one).reset(options={"first": 60})[0]["jobs"] for one in ("walltime", "last-two")
    )
    assert (plain[:, 1] == plain[:, 2]).all()
    assert (told[:, 2] <= told[:, 1]).all()
    assert (told[:, 2] < told[:, 1]).any()


@pytest.mark.parametrize(("cap", "levels"), [("cores", None), ("power", None), ("cores", 4)])
def test_starts_obey_the_cap_of_their_hour(cap, levels):
    env = make(POWER, hours=40, cap=cap, levels=levels, reward=(lambda hour: hour.cap) if levels else None)
    env.reset(seed=2)
    env.action_space.seed(4)
    rewards, hours = finish(env, env.action_space.sample)
    schedule = env.unwrapped.schedule()
    assert audit(schedule, PLATFORM.machine) == []
    cores = schedule.units * schedule.request[:, 0]
    power = UnitPower(PLATFORM.machine)
    unit = power.of_unit((1,), np.array([0])) if cap == "power" else 1
    most = int(power.busy_mw.sum()) if cap == "power" else PLATFORM.cores
    bound = 0
    for start in schedule.start:
        hour = (start - hours[0]["begin_s"]) // 3600
        if hour < len(hours):
            used = cores[(schedule.start <= start) & (schedule.finish > start)].sum() * unit
            assert used <= round(hours[hour]["cap"] * most)
            bound += used > 0.6 * hours[hour]["cap"] * most
    assert bound > 10
    waits = np.minimum(schedule.start, hours[-1]["begin_s"] + 3600) - schedule.submit
    assert sum(hour["waiting_h"] for hour in hours) == pytest.approx(waits.clip(0).sum() / 3600)
    paid = [hour["cap"] if levels else -(hour["cost_eur"] + 0.1 * hour["waiting_h"]) for hour in hours]
    assert rewards == pytest.approx(paid)
    edges = [hours[0]["begin_s"], hours[-1]["begin_s"] + 3600]
    busy_s = (np.clip(schedule.finish, *edges) - np.clip(schedule.start, *edges)) * cores
    kwh = (busy_s.sum() * 7.5 + 6 * 90 * (edges[1] - edges[0])) / 3.6e6
    assert sum(hour["energy_kwh"] for hour in hours) == pytest.approx(kwh)
    assert sum(hour["cost_eur"] for hour in hours) == pytest.approx(0.3 * kwh)


CLOSED = dardis.Platform([dardis.nodes(6, cores=8)], maintenance=[{"nodes": [1], "start_s": 0, "end_s": 50}])
SMALL = dardis.Platform([dardis.nodes(1, cores=1)])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (QUEUE, {"backfill": "firstfit"}, "backfill: 'firstfit'; expected one of 'easy', 'conservative', None"),
        (QUEUE, {"reward": "slowdown"}, "reward: 'slowdown'; expected one of 'bounded_slowdown', 'wait'"),
        (QUEUE, {"reward": len, "each_step": True}, "each_step: a reward of the complete episode; expected"),
        (QUEUE, {"jobs_seen": 0}, "jobs_seen: 0; expected a whole number of at least 1"),
        (QUEUE, {"horizon_s": [60, 5]}, "horizon_s: [60, 5]; expected whole seconds from now"),
        (QUEUE, {"jobs_per_episode": 121}, "jobs_per_episode: 121; expected at most 120, the jobs that can run"),
        (QUEUE, {"expected": "best"}, "expected: 'best'; expected one of"),
        (QUEUE, {"platform": CLOSED}, "Queue-v0: nodes or queues close at times"),
        (POWER, {"cap": "watts"}, "cap: 'watts'; expected one of 'cores', 'power'"),
        (POWER, {"hours": 100}, "hours: 100; expected at most 48, the hours in which jobs are submitted"),
        (POWER, {"levels": 1}, "levels: 1; expected at least 2"),
        (POWER, {"wait_price": -1}, "wait_price: -1; expected an amount of money"),
        (POWER, {"reward": 1}, "reward: 1; expected None or a function"),
        (POWER, {"platform": SMALL}, "platform: machine states no prices"),
        (POWER, {"platform": dardis.Platform([dardis.nodes(6, cores=8)], prices=1.0), "cap": "power"}, "cap: machine "),
    ],
)
def test_bad_options_are_one_line(name, options, message):
    with pytest.raises(dardis.InputError, match=re.escape(message)) as error:
        make(name, **options)
    assert "\n" not in str(error.value)


def test_bad_steps_are_one_line():
    for name, action, message in (
        (QUEUE, 128, "action: 128; expected a whole number from 0 to 127"),
        (POWER, [1.5], "action: [1.5]; expected a number of 0 to 1"),
    ):
        env = make(name).unwrapped
        with pytest.raises(dardis.InputError, match="the episode is over; expected a call of reset"):
            env.step(ACTIONS[name])
        with pytest.raises(dardis.InputError, match=re.escape("options['first']: 999")):
            env.reset(options={"first": 999})
        env.reset()
        with pytest.raises(dardis.InputError, match=re.escape(message)):
            env.step(action)
        with pytest.raises(dardis.InputError, match=r"schedule: .*; expected the end of the episode"):
            env.schedule()


def test_missing_gymnasium_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "dardis.gym")
    with pytest.raises(
        dardis.InputError, match=re.escape("gymnasium is not installed; expected pip install 'dardis[gym]'")
    ):
        importlib.import_module("dardis.gym")


def test_code_of_the_docs_runs(monkeypatch, tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "gym.md").read_text()
    TRACE.write(tmp_path)
    PLATFORM.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, {})  # noqa: S102 (our own)
