"""A wall clock that jumps by hours: walltimes and waits keep their length, nothing is lost, nothing runs twice."""

import os
import time
from pathlib import Path

import pytest
from kit.live import PLATFORM, Live
from kit.live_load import judge_jobs
from kit.waiting import until

LIBRARIES = sorted(Path("/usr/lib").glob("**/faketime/libfaketimeMT.so.1"))
HOUR = 3600
WALLTIME_S = 2
STEPS = "echo $DARDIS_JOB_ID >> $RAN; while :; do cut -d' ' -f1 /proc/uptime >> up-$DARDIS_JOB_ID; sleep 0.1; done"
"""A job that never ends, and writes down when it runs, by a clock that doesn't jump."""
SHIFTED = """
import time

true_time, true_ns = time.time, time.clock_gettime_ns


def ahead():
    with open({file!r}) as file:
        return int(file.read())


time.time = lambda: true_time() + ahead()
time.clock_gettime_ns = lambda clock: true_ns(clock) + (ahead() * 10**9 if clock == time.CLOCK_REALTIME else 0)
"""


class Clock:
    """The wall clock of processes that run `under` it."""

    def __init__(self, folder):
        self.file = folder / "clock"
        self.jump(0)

    def jump(self, seconds):
        """Be so many s ahead of the true one."""
        part = self.file.with_suffix(".part")
        part.write_text(f"{seconds:+d}\n")
        part.replace(self.file)


def faked(folder):
    """The service's alone."""
    if not LIBRARIES:
        pytest.skip("faketime isn't installed")
    clock = Clock(folder)
    clock.under = [
        "env", f"LD_PRELOAD={LIBRARIES[0]}", f"FAKETIME_TIMESTAMP_FILE={clock.file}", "FAKETIME_NO_CACHE=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1",
    ]  # fmt: skip
    return clock


def shifted(folder):
    """The keeper's too. For that faketime is no good: it shifts timers of CLOCK_BOOTTIME with the wall clock."""
    clock = Clock(folder)
    (folder / "sitecustomize.py").write_text(SHIFTED.format(file=str(clock.file)))
    clock.under = ["env", f"PYTHONPATH={folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"]
    return clock


@pytest.fixture
def live(tmp_path):
    with Live(tmp_path, PLATFORM.replace("count = 4", "count = 1")) as live:
        yield live


JUMPS = [(-HOUR, True), (HOUR, False), (-HOUR, False)]
"""By how much the clock jumps, and whether the service begins anew then."""


@pytest.mark.parametrize(("of", "jumps"), [
    (shifted, JUMPS[1:2]),
    pytest.param(faked, JUMPS, marks=pytest.mark.slow),
    pytest.param(shifted, JUMPS, marks=pytest.mark.slow),
])  # fmt: skip
def test_walltimes_and_waits_hold_when_the_wall_clock_jumps(live, of, jumps):
    clock = of(live.ran.parent)
    live.start(under=[] if of is faked else clock.under)  # a keeper that knows nothing of it
    numbers = []
    for jump, anew in jumps:
        (limited,) = live.submit(STEPS, walltime_s=WALLTIME_S, grace_s=1)
        runs = live.submit("sleep 1; echo $DARDIS_JOB_ID >> $RAN", cpus=2)
        waits = live.submit(array="0-5", cpus=3)
        until(lambda limited=limited, runs=runs: live.lines()[limited] and live.job(runs[0])["state"] == "running")
        if anew:
            live.kill("service")
            live.service.wait()
        clock.jump(jump)
        if anew:
            live.start(under=clock.under)
        (tells,) = live.submit(after=[{"kind": "any", "id": limited}], hold=True)
        assert abs(live.job(tells)["submitted_ms"] / 1000 - time.time() - jump) < 600
        begun = time.monotonic()
        assert live.ended(tells, 0.2)["state"] == "held"
        assert 0.2 <= time.monotonic() - begun < HOUR / 2
        live.client.post(f"/jobs/{tells}/release")
        job = live.ended(limited, 20)
        assert job["state"] == "timeout", job
        ups = list(map(float, (live.ran.parent / f"up-{limited}").read_text().split()))
        assert ups[-1] - ups[0] > WALLTIME_S - 0.5
        numbers += [*runs, *waits, tells]
        assert {live.ended(number, 20)["state"] for number in numbers} == {"completed"}
    live.kill("service")
    live.service.wait()
    live.start()
    numbers += live.submit()
    assert live.ended(numbers[-1], 20)["state"] == "completed"
    judge_jobs(live, numbers)
