"""Jobs that are handed in while a live service is in trouble, and what must have become of them."""

import random
import threading
import time
from contextlib import contextmanager

from dardis.live.journal import read_instants
from dardis.live.live_decisions import replay
from dardis.model.errors import DardisError

COMMANDS = [
    "echo $DARDIS_JOB_ID >> $RAN", "echo $DARDIS_JOB_ID >> $RAN; sleep 0.3", "sleep 0.1; echo $DARDIS_JOB_ID >> $RAN",
]  # fmt: skip


class Load(threading.Thread):
    """Hands jobs in until it is told to stop, each with a key, again where nobody has answered."""

    def __init__(self, live, seed):
        super().__init__()
        self.live, self.rng, self.acknowledged = live, random.Random(seed), {}  # noqa: S311 (a seed is to say it all)
        self.over = threading.Event()
        self.refused = 0

    @property
    def count(self):
        """How many jobs were acknowledged."""
        return sum(map(len, self.acknowledged.values()))

    def run(self):
        number = 0
        while not self.over.is_set():
            number += 1
            more = {"array": f"0-{self.rng.randint(0, 9)}"}
            more = {} if self.rng.random() < 0.5 else more
            command = self.rng.choice(COMMANDS)
            until = time.monotonic() + 60
            while time.monotonic() < until:
                try:
                    ids = self.live.submit(command, key=f"k{number}", cpus=self.rng.choice([1, 1, 4]), **more)
                except DardisError:
                    self.refused += 1
                else:
                    assert self.acknowledged.setdefault(number, ids) == ids
                    break
                time.sleep(0.05)
            time.sleep(self.rng.random() * 0.1)


@contextmanager
def under_load(live, seed):
    """Jobs are handed in meanwhile; then the service is to be ready, and all of them to end."""
    load = Load(live, seed)
    load.start()
    try:
        yield load
        live.ready()
        load.over.set()
        load.join()
        live.all_over()
    finally:
        load.over.set()
    print(f"seed {seed}: {load.count} jobs")


def judge(live, load, *, is_full=False):
    """What has become of all that was acknowledged; the jobs of which nobody can tell."""
    known = [number for ids in load.acknowledged.values() for number in ids]
    lines = live.lines()
    unknown = judge_jobs(live, known, is_full=is_full)
    assert set(lines) <= set(known) | {number for number in lines if live.job(number)}
    return unknown


def judge_jobs(live, numbers, *, is_full=False):
    """What has become of some jobs; those of which nobody can tell. `is_full`: the disk was, at times."""
    lines, unknown = live.lines(), []
    for number in numbers:
        job = live.job(number)
        assert job["state"] in {"completed", "unknown", "failed"}, job
        assert lines[number] <= 1, job
        if job["state"] == "completed":
            assert lines[number] == 1, job
        if job["state"] == "failed":
            could_not_begin = is_full and job["why"].startswith("failed to start: ") and not lines[number]
            assert job["signal"] or job["code"] or could_not_begin, job
        if job["state"] == "unknown":
            unknown.append(job)
    replayed = replay(read_instants(live.folder))
    assert not replayed.differs
    return unknown
