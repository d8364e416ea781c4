"""A whole service with its keeper: what is asked of it, what jobs see, who may ask, and what can't be served."""

import base64
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from kit.keeper import Asker, close_all
from kit.live import PLATFORM, Live, live_for_all
from kit.waiting import until

from dardis.cli.main import run
from dardis.live.client import STARTING
from dardis.live.gateway import FORGOTTEN
from dardis.live.journal import FILE
from dardis.live.keeper_client import start_supervisor
from dardis.live.live_jobs import LiveJob
from dardis.live.output import output_path
from dardis.model.errors import DardisError, InputError

AWAITS = "w() { while ! [ -e $1 ]; do sleep 0.05; done; }; w go"
"""A job that goes on when there is a file `go` (and what is written behind it)."""


def told(capsys, words):
    capsys.readouterr()
    status = run([str(word) for word in words])
    return status, capsys.readouterr().err.strip().splitlines()


def test_job_runs_and_its_exit_record_is_stored(live):
    (number,) = live.submit("echo $DARDIS_JOB_ID >> $RAN; exit 3")
    job = live.ended(number)
    assert (job["state"], job["code"], job["signal"], job["attempt"]) == ("failed", 3, None, 1)
    assert job["submitted_ms"] <= job["started_ms"] <= job["ended_ms"]
    assert live.lines()[number] == 1
    assert number in [one["id"] for one in live.client.history(state="over")]
    assert number not in [one["id"] for one in live.client.get("/jobs")["jobs"]]


def test_job_sees_its_environment_hostfile_and_folder(live):
    out = live.ran.parent / "seen-%j"
    (number,) = live.submit(
        "env; cat $DARDIS_HOSTFILE; pwd", output=str(out), nodes=2, cpus=3, name="looks", array=None, chdir=None
    )
    job = live.ended(number)
    assert job["state"] == "completed"
    said = (live.ran.parent / f"seen-{number}").read_text().splitlines()
    assert f"DARDIS_JOB_ID={number}" in said
    assert "DARDIS_JOB_NAME=looks" in said
    assert [line for line in said if line.endswith(" slots=3")] == [f"{name} slots=3" for name in job["nodes"]]
    assert len(set(job["nodes"])) == 2
    assert said[-1] == str(live.ran.parent)


def test_an_array_is_several_jobs_of_which_some_run_at_once(live):
    numbers = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 0.2", array="3-9:2%2")
    assert len(numbers) == 4
    most = 0
    while True:
        jobs = [job for job in live.client.history(state="all") if job["id"] in numbers]
        most = max(most, sum(job["state"] == "running" for job in jobs))
        if all(job["state"] == "completed" for job in jobs):
            break
        time.sleep(0.02)
    assert most <= 2
    assert [job["index"] for job in reversed(jobs)] == [3, 5, 7, 9]
    assert {job["array"] for job in jobs} == {numbers[0]}


def test_jobs_follow_each_other_as_they_end(live):
    (good,) = live.submit(f"{AWAITS}-first")
    (bad,) = live.submit(f"{AWAITS}-first; exit 1")

    def follows(kind, number):
        return live.submit("true", after=[{"kind": kind, "id": number}])[0]

    ends = {follows("ok", good): "completed", follows("ok", bad): "cancelled", follows("fail", bad): "completed",
            follows("fail", good): "cancelled", follows("any", bad): "completed"}  # fmt: skip
    assert "waits for the end of" in live.job(next(iter(ends)))["why"]
    (live.ran.parent / "go-first").touch()
    assert {number: live.ended(number)["state"] for number in ends} == ends
    with pytest.raises(InputError, match="rules out the new job"):
        follows("ok", bad)
    with pytest.raises(InputError, match="there is no job 99999"):
        follows("ok", 99999)


def test_jobs_are_held_released_and_cancelled(live):
    (number,) = live.submit("echo $DARDIS_JOB_ID >> $RAN", hold=True)
    time.sleep(0.3)
    assert live.job(number)["state"] == "held"
    assert live.client.post(f"/jobs/{number}/release")["state"] in {"waiting", "running", "completed"}
    assert live.ended(number)["state"] == "completed"
    (number,) = live.submit("echo $DARDIS_JOB_ID >> $RAN; exec sleep 60")
    until(lambda: live.lines()[number])  # it may be cancelled before it has begun, and then no signal ends it
    live.client.post(f"/jobs/{number}/cancel")
    job = live.ended(number, 20)
    assert (job["state"], job["signal"]) == ("cancelled", signal.SIGTERM)
    with pytest.raises(DardisError, match="can't be held"):
        live.client.post(f"/jobs/{number}/hold")


def test_output_of_an_array_is_followed_with_indices(live, capfdbinary):
    script = "echo begins $DARDIS_ARRAY_INDEX; sleep 0.5; printf ends"
    first, _ = live.submit(script, array="4-5", output=str(live.ran.parent / "array-%a"))
    assert run(["logs", "-f", str(first), "--folder", str(live.folder)]) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert sorted(lines) == [b"4: begins 4", b"4: ends", b"5: begins 5", b"5: ends"]
    counts = live.client.get("/counts", first=first, last=first + 1)
    assert [counts[state] for state in ("held", "waiting", "running")] == [0, 0, 0]


def test_jobs_of_an_array_are_counted_by_state(live):
    script = (
        "[ $DARDIS_ARRAY_INDEX != 1 ] || exit 3; [ $DARDIS_ARRAY_INDEX != 2 ] || until [ -e go ]; do sleep 0.05; done"
    )
    first, *_, last = live.submit(script, array="0-2")
    client = live.client
    for number in (first, first + 1):
        live.ended(number)
    until(lambda: client.get("/counts", first=first, last=last)["running"] == 1)
    counts = client.get("/counts", first=first, last=last)
    assert {state: count for state, count in counts.items() if count} == {"completed": 1, "failed": 1, "running": 1}
    assert sum(client.get("/counts", first=last, last=last).values()) == 1
    (live.ran.parent / "go").touch()
    assert live.ended(last)["state"] == "completed"


def test_failed_jobs_run_again_until_they_succeed(live):
    (number,) = live.submit(
        "echo $DARDIS_JOB_ID >> $RAN; [ -e retried ] || { touch retried; exit 3; }", retries=1, retry_delay_s=0
    )
    job = live.ended(number)
    assert (job["state"], job["attempt"], job["retried"]) == ("completed", 2, 1)
    (number,) = live.submit("[ -e mended ]")
    assert live.ended(number)["state"] == "failed"
    (live.ran.parent / "mended").touch()
    assert run(["retry", str(number), "--folder", str(live.folder)]) == 0
    assert live.ended(number)["state"] == "completed"


def test_walltime_ends_all_processes_of_a_job(live):
    own = os.getpid()  # others may test beside
    (number,) = live.submit(f"trap '' TERM; setsid sleep 61{own} & sleep 62{own}", walltime_s=1, grace_s=1)
    job = live.ended(number, 30)
    assert (job["state"], job["signal"]) == ("timeout", signal.SIGKILL)
    assert job["ended_ms"] - job["started_ms"] >= 2000
    left = subprocess.run(["pgrep", "-f", f"^sleep 6[12]{own}$"], capture_output=True, text=True, check=False).stdout
    assert left == ""


def test_a_second_service_in_the_folder_is_refused(live, capsys):
    status, lines = told(capsys, ["serve", "--folder", live.folder, "--platform", live.platform])
    assert (status, len(lines)) == (2, 1)
    assert "is in use by another dardis process" in lines[0]
    assert live.client.get("/status")["trouble"] == ""


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda folder: (folder / FILE).write_bytes(b"x" * 9000), "is damaged"),
    (lambda folder: folder.rmdir() or folder.write_text(""), "can't be created"),
])  # fmt: skip
def test_unusable_folder_is_one_line(tmp_path, capsys, spoil, said):
    (tmp_path / "p.toml").write_text(PLATFORM)
    folder = tmp_path / "f"
    folder.mkdir()
    spoil(folder)
    status, lines = told(capsys, ["serve", "--folder", folder, "--platform", tmp_path / "p.toml"])
    assert (status, len(lines)) == (2, 1)
    assert said in lines[0]


def test_killed_service_restarts_and_its_jobs_survive(tmp_path):
    with Live(tmp_path).start() as live:
        (runs,) = live.submit(f"{AWAITS}; echo $DARDIS_JOB_ID >> $RAN; exit 4", cpus=4, nodes=4)
        (waits,) = live.submit()
        until(lambda: live.job(runs)["state"] == "running")
        live.kill("service")
        live.service.wait()
        assert (live.folder / "gateway.sock").exists(), "it is stale now"
        live.start()
        assert live.client.get("/status")["epoch"] == 2
        (live.ran.parent / "go").touch()
        job = live.ended(runs)
        assert (job["state"], job["code"], job["attempt"]) == ("failed", 4, 1)
        assert live.ended(waits)["state"] == "completed"
        assert live.lines() == {runs: 1, waits: 1}
        live.client.post("/stop")
        assert live.service.wait(20) == 0
        assert live.keeper is None
        assert run(["journal", "replay", str(live.folder)]) == 0


@contextmanager
def unwritable(live):
    """Let the journal take nothing in for a while."""
    with closing(sqlite3.connect(live.folder / FILE, isolation_level=None, timeout=10)) as db:
        db.execute("CREATE TRIGGER full BEFORE INSERT ON jobs BEGIN SELECT raise(ABORT, 'it is full'); END")
        yield
        db.execute("DROP TRIGGER full")


def test_stop_with_kill_fails_when_it_cannot_be_journaled(tmp_path):
    with Live(tmp_path).start() as live:
        (number,) = live.submit("sleep 60")
        until(lambda: live.job(number)["state"] == "running")
        with unwritable(live), pytest.raises(DardisError, match="it is full"):
            live.client.post("/stop", {"kill": True}, again=False)
        live.ready()
        assert live.job(number)["state"] == "running"
        assert live.ended(live.submit("true")[0])["state"] == "completed"  # it goes on as before
        live.client.post("/stop", {"kill": True})
        assert live.service.wait(20) == 0
        assert live.keeper is None


@pytest.mark.slow
def test_stop_with_kill_starts_nothing_while_the_journal_is_full(tmp_path):
    with Live(tmp_path).start() as live:
        first = live.submit("trap '' TERM; sleep 60", nodes=4, cpus=4, grace_s=5)[0]
        until(lambda: live.job(first)["state"] == "running")
        live.submit("echo $DARDIS_JOB_ID >> $RAN", hold=True)
        (held,) = live.submit("echo $DARDIS_JOB_ID >> $RAN", hold=True)
        stopping = threading.Thread(target=live.client.post, args=("/stop", {"kill": True}), daemon=True)
        stopping.start()
        until(lambda: is_to_end(live, first))
        with unwritable(live), pytest.raises(DardisError, match="it is full"):
            live.client.change_job_job(held, "cancel")
        live.ready()
        live.client.change_job_job(held - 1, "release")
        stopping.join(30)
        assert live.service.wait(20) == 0
        assert not live.lines()


def is_to_end(live, number):
    """Whether somebody has cancelled a job, as the journal has it."""
    with closing(sqlite3.connect(live.folder / FILE)) as db:
        (text,) = db.execute("SELECT value FROM jobs WHERE id = ?", (number,)).fetchone()
    job = LiveJob(number, None)
    job.restore(text)
    return job.cancelled


def test_stop_with_kill_ends_all_runs(tmp_path):
    with Live(tmp_path).start() as live:
        numbers = live.submit("sleep 30", array="0-40")
        until(lambda: live.client.get("/status")["running"] >= 16)
        live.client.post("/stop", {"kill": True})
        assert live.service.wait(20) == 0
        assert live.keeper is None
        live.start()
        states = [live.job(number)["state"] for number in numbers]
        assert states.count("cancelled") == 16
        assert set(states) == {"cancelled", "waiting", "running"}


def test_run_that_ended_unobserved_is_unknown_and_requeued_only_on_request(tmp_path):
    with Live(tmp_path).start() as live:
        until_told = "echo $$ >> pids; echo $DARDIS_JOB_ID >> $RAN; while ! [ -e go ]; do sleep 0.05; done"
        (plain,) = live.submit(until_told)
        (again,) = live.submit(until_told, requeue=True)
        until(lambda: len(live.lines()) >= 2)
        live.kill("service")
        live.kill("keeper")
        live.service.wait()
        (live.ran.parent / "go").touch()
        # A keeper that finds them before whoever takes in orphans has asked for their exit status knows that itself.
        pids = (live.ran.parent / "pids").read_text().split()
        last = time.monotonic() + 60
        while any(Path("/proc", pid).exists() for pid in pids):
            if time.monotonic() > last:
                pytest.skip("needs a first process that asks for the exit status of orphans")
            time.sleep(0.02)
        live.start()
        assert live.ended(plain)["state"] == "unknown"
        assert live.ended(again)["state"] == "completed"
        assert live.lines() == {plain: 1, again: 2}
        live.client.post(f"/jobs/{plain}/release")
        assert live.ended(plain)["state"] == "completed"
        assert live.lines() == {plain: 2, again: 2}


@pytest.mark.parametrize("another_died", [pytest.param(False, marks=pytest.mark.slow), True])
def test_begun_run_is_unknown_after_the_keeper_folder_is_lost(tmp_path, another_died):
    with Live(tmp_path).start() as live:
        (number,) = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 20")
        until(lambda: live.lines()[number])
        live.kill("service")
        live.kill("keeper")
        live.service.wait()
        shutil.rmtree(live.folder / "keeper")
        if another_died:
            assert start_supervisor(live.folder / "keeper").wait(20) == 0
            assert Asker(live.folder / "keeper/keeper.sock").hello(1) == {}
            close_all()
        live.start()
        job = live.ended(number)
        assert (job["state"], job["why"]) == ("unknown", FORGOTTEN)
        (after,) = live.submit()
        assert live.ended(after)["state"] == "completed"
        assert live.lines() == {number: 1, after: 1}


@pytest.mark.slow
def test_restored_older_journal_is_reported_and_accepted_on_request(tmp_path):
    with Live(tmp_path).start() as live:

        def stopped():
            live.client.post("/stop", {"kill": False})
            live.service.wait(20)

        def why():
            def told():
                return {node["why"] for node in live.client.get("/nodes")["nodes"]} - {"", STARTING}

            until(told)
            return told()

        stopped()
        copy = (live.folder / FILE).read_bytes()
        for _ in range(2):
            live.start()
            stopped()
        (live.folder / FILE).write_bytes(copy)
        live.start()
        (line,) = why()
        assert "of epoch 3, but this service has epoch 2" in line
        assert "older copy; nothing starts on any host (to continue" in line
        assert line.endswith("may run again: serve --epoch 4)")
        stopped()
        live.start("--epoch", "4")
        (number,) = live.submit()
        assert live.ended(number)["state"] == "completed"


@pytest.fixture(scope="module")
def site():
    """A service of root, for everybody, in a place where all may look."""
    with live_for_all("users", None, "--user-jobs", "5") as live:
        yield live


OTHER = 65534
AS_ANOTHER = """
import json, os, sys
from pathlib import Path
from dardis.live.client import Client
from dardis.model.errors import DardisError
client = Client(Path(sys.argv[1]))
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
asked = json.loads(sys.argv[3])
try:
    print(json.dumps(getattr(client, asked["do"])(asked["path"], **asked["more"])))
except DardisError as error:
    print(json.dumps({"refused": str(error)}))
"""


def asks(live, do, path, **more):
    """What the service answers to another user; `refused`: it doesn't."""
    words = [
        sys.executable, "-c", AS_ANOTHER, live.folder, str(OTHER), json.dumps({"do": do, "path": path, "more": more}),
    ]  # fmt: skip
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def submit_as_other(live, command, output):
    """How a job of another user ends."""
    asked = {"argv": ["/bin/sh", "-c", command], "output": str(output), "error": str(output)}
    (number,) = asks(live, "post", "/jobs", body={"jobs": asked, "cwd": "/", "environment": {}, "script": ""})["ids"]
    return live.ended(number)


def test_jobs_run_as_the_submitting_user(site):
    mine = site.ran.parent / "mine"
    job = submit_as_other(site, "id -u; id -g; id -G; grep Groups /proc/self/status", mine)
    assert (job["state"], job["code"]) == ("completed", 0), job
    assert set(mine.read_text().split()) == {str(OTHER), "Groups:"}
    assert mine.stat().st_uid == OTHER


def test_job_details_are_visible_to_their_owner_only(site):
    word = "merger"
    (roots,) = site.submit(f"echo {word}", name=word, output=f"/{word}", chdir=f"/{word}", export=[word])
    job = site.ended(roots)
    assert word in json.dumps(job)
    assert word in job["why"]
    (number,) = asks(site, "post", "/jobs", body=theirs(f"sleep 30 # {word}", hold=True))["ids"]
    assert word in json.dumps(asks(site, "get", f"/jobs/{number}"))
    for state in ("open", "all", "over"):
        told = asks(site, "get", "/jobs", state=state)["jobs"]
        mine = [one for one in told if one["user"] != "root"]
        assert [one["id"] for one in mine if word in json.dumps(one)] == ([] if state == "over" else [number])
        assert word not in json.dumps([one for one in told if one["user"] == "root"])
    for path in (f"/jobs/{roots}", f"/jobs/{roots}/wait"):
        seen = asks(site, "get", path)
        assert word not in json.dumps(seen)
        assert seen.keys() == job.keys()
        shown = ("id", "user", "state", "nodes", "submitted_ms", "started_ms", "ended_ms", "cpus", "walltime_s")
        assert {name: seen[name] for name in shown} == {name: job[name] for name in shown}
    with pytest.raises(DardisError, match="to root: its output path"):
        output_path(seen, error=False)
    assert word in json.dumps(site.client.get(f"/jobs/{number}"))
    site.client.post(f"/jobs/{number}/cancel")


def test_only_the_owner_starts_job_steps_and_they_run_as_the_owner(site):
    out = site.ran.parent / "theirs"
    (roots,) = site.submit("sleep 30", nodes=2)
    (number,) = asks(site, "post", "/jobs", body=theirs("sleep 30", nodes=2))["ids"]
    until(lambda: {site.job(one)["state"] for one in (roots, number)} == {"running"})
    asked = {
        "attempt": 1, "number": 7, "node": site.job(number)["nodes"][1], "argv": ["sh", "-c", f"id -u; id -G > {out}"],
        "cwd": "/", "environment": {"PATH": os.environ["PATH"]},
    }  # fmt: skip
    refused = asks(site, "post", f"/jobs/{roots}/parts", body=asked | {"node": site.job(roots)["nodes"][1]})
    assert refused == {"refused": f"job {roots} belongs to root"}
    told = list(site.client.lines(f"/jobs/{number}/parts", asked))
    assert base64.b64decode(next(one["out"] for one in told if "out" in one)) == b"65534\n"
    assert told[-1] == {"end": {"state": "over", "code": 0, "signal": None, "why": "exit"}}
    assert out.stat().st_uid == OTHER
    for one in (roots, number):
        site.client.post(f"/jobs/{one}/cancel")


def theirs(command, **more):
    """A job of another user, to be handed in."""
    asked = {"argv": ["/bin/sh", "-c", command], "output": "/dev/null", "error": "/dev/null", **more}
    return {"jobs": asked, "cwd": "/", "environment": {}, "script": ""}


def test_only_owners_change_jobs_and_only_root_administers(site):
    (number,) = site.submit("sleep 30")
    for do in ("cancel", "hold", "release"):
        assert "belongs to root" in asks(site, "post", f"/jobs/{number}/{do}")["refused"]
    assert "only the user of the service" in asks(site, "post", "/nodes/n0/drain")["refused"]
    assert "only the user of the service" in asks(site, "post", "/stop")["refused"]
    assert site.job(number)["state"] in {"waiting", "running"}
    site.client.post(f"/jobs/{number}/cancel")
    for name in (FILE, "keeper/log"):
        assert (site.folder / name).stat().st_mode & 0o077 == 0


def test_unwritable_script_fails_only_its_job(tmp_path):
    with Live(tmp_path).start() as live:
        (live.folder / "scripts").write_text("in the way")
        body = {"jobs": {"argv": []}, "script": "#!/bin/sh\n", "cwd": "/", "environment": {}}
        (number,) = live.client.post("/jobs", body)["ids"]
        (other,) = live.submit()
        job = live.ended(number)
        assert (job["state"], job["why"].startswith("failed to start: ")) == ("failed", True), job
        assert live.ended(other)["state"] == "completed"
        assert live.lines() == {other: 1}


def test_job_refused_by_the_keeper_fails_without_effect_on_others(tmp_path):
    with Live(tmp_path).start() as live:
        odd, other = (live.submit(hold=True)[0] for _ in range(2))
        live.client.post("/stop")
        live.service.wait(20)
        with closing(sqlite3.connect(live.folder / FILE)) as db, db:  # as another version may have taken it in
            db.execute("UPDATE submissions SET value = json_set(value, '$.cwd', 'nowhere') WHERE first = ?", (odd,))
        live.start()
        live.client.post(f"/jobs/{odd}/release")
        live.client.post(f"/jobs/{other}/release")
        job = live.ended(odd, 20)
        assert (job["state"], job["why"]) == ("failed", "failed to start: its chdir is invalid")
        assert live.ended(other, 20)["state"] == "completed"
        assert live.lines() == {other: 1}


def test_service_removes_jobs_after_the_retention_time(tmp_path):
    def handed_in(command):
        body = {"jobs": {"argv": []}, "script": f"#!/bin/sh\n{command}\n", "cwd": str(tmp_path), "environment": {}}
        return live.client.post("/jobs", body)["ids"][0]

    with Live(tmp_path).start() as live:
        old = [handed_in(f"echo {number}") for number in range(3)]
        runs, young = handed_in("while ! [ -e go ]; do sleep 0.05; done; echo on"), handed_in("echo young")
        for number in (*old, young):
            assert live.ended(number)["state"] == "completed"
        live.client.post("/stop")
        live.service.wait(20)
        with closing(sqlite3.connect(live.folder / FILE)) as db, db:
            long_ago = "json_set(value, '$.submitted_ms', 1000)"
            db.execute(f"UPDATE submissions SET value = {long_ago} WHERE first < ?", (young,))  # noqa: S608
            db.execute("UPDATE jobs SET value = json_set(value, '$[7]', 2000) WHERE id < ?", (young,))
            db.execute("UPDATE instants SET value = json_set(value, '$.at', 1)")
        scripts = {path: path.read_text() for path in live.folder.glob("scripts/*/*")}
        for path in [*scripts, *live.folder.glob("hosts/*")]:
            os.utime(path, (0, 0))
        live.start("--keep", "30")
        until = time.monotonic() + 20
        while len(left := live.client.history(state="all")) > 2 or len([*live.folder.glob("s*/*/*")]) > 1:
            assert time.monotonic() < until, (left, [*live.folder.glob("s*/*/*")], live.said())
            time.sleep(0.05)
        assert [job["id"] for job in left] == [young, runs]
        with pytest.raises(DardisError, match=f"there is no job {old[0]}"):
            live.job(old[0])
        assert [text for path, text in scripts.items() if path.exists()] == [scripts[path] for path in scripts
                                                                             if "go" in scripts[path]]  # fmt: skip
        (tmp_path / "go").touch()
        assert live.ended(runs)["state"] == "completed"
        again = handed_in("echo 0")
        assert again == young + 1
        assert live.ended(again)["state"] == "completed"
        live.client.post("/stop")
        live.service.wait(20)
        assert run(["journal", "replay", str(live.folder)]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_personal_service_answers_only_its_user(live):
    # Where somebody has opened the folder, too: who asks is who the kernel says.
    opened = [live.folder, *live.folder.parents[:-1]]
    modes = [path.stat().st_mode for path in opened]
    (live.folder / "gateway.sock").chmod(0o666)
    code = (
        "import os, sys; from pathlib import Path; from dardis.live.client import Client; "
        "client = Client(Path(sys.argv[1])); os.setgroups([]); os.setuid(65534); print(client.get('/status'))"
    )
    try:
        for path in opened:
            path.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", code, str(live.folder)], capture_output=True, text=True, check=False
        )
    finally:
        for path, mode in zip(opened, modes, strict=True):
            path.chmod(mode & 0o7777)
        (live.folder / "gateway.sock").chmod(0o600)
    assert done.returncode != 0
    assert "another user" in done.stderr
