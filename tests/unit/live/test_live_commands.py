"""The commands that ask a live service, as their users meet them, against a service of canned jobs."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime

import pytest
from kit.live_service import job, served

from dardis.cli.main import run
from dardis.live.job_option_texts import Array, Dependency, LimitSignal
from dardis.live.job_request import JobRequest
from dardis.live.journal import Batch
from dardis.live.live_decisions import Instant, InstantEvents, JobStart
from dardis.live.machine import HostFacts, machine_of
from dardis.model.addresses import JobId

NOW_MS = 1_700_000_090_000


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A service in the folder that the environment names."""
    folder = tmp_path / "service"
    folder.mkdir()
    monkeypatch.setenv("DARDIS_FOLDER", str(folder))
    with served(folder) as one:
        yield one


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Write a script into the folder where commands are given."""
    monkeypatch.chdir(tmp_path)

    def write(*lines):
        (tmp_path / "s.sh").write_text("\n".join(("#!/bin/sh", *lines, "")))

    return write


def asked(fake):
    """What was asked for, of the last submission."""
    method, path, body = fake.asked[-1]
    assert (method, path) == ("POST", "/jobs")
    return body


class Terminal(io.StringIO):
    """Keeps what is written to it."""

    def isatty(self):
        return True


def test_wait_shows_progress_on_a_terminal(fake, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    fake.add(*(job(number, "completed", code=0) for number in (1, 2, 3, 5)))
    for numbers, is_shown in (("1-3", True), ("1", False)):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        assert run(["wait", numbers]) == 0
        assert ("1 running, 1 failed" in terminal.getvalue()) == is_shown
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert run(["wait", "1", "3", "5"]) == 0
    assert "running" not in terminal.getvalue()


def test_command_is_submitted(fake, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLOUR", "red")
    assert run(["submit", "--", "/bin/echo", "a b", "--time", "5"]) == 0
    assert capsys.readouterr() == ("12\n", "")
    body = asked(fake)
    expected = JobRequest(argv=("/bin/echo", "a b", "--time", "5"), name="echo", chdir=str(tmp_path))
    assert JobRequest.from_dict(body["jobs"]) == expected
    assert (body["script"], body["cwd"]) == ("", str(tmp_path))
    assert body["environment"]["COLOUR"] == "red"
    assert len(body["key"]) == 32


def test_every_submit_option_is_sent(fake, tmp_path):
    options = (
        "--array 0-99%8 --time 2h --cpus 4 --gpus 2 --mem 4G --nodes 3 --after ok:1,any:2 --export none "
        f"--chdir {tmp_path} --output o%a --error e%a --name n --requeue --hold --grace 30 --key mine --exclusive "
        "--begin 2026-12-24T16:00 --deadline 2026-12-25 --open-mode append --signal B:USR1@300 --comment c -p long"
    )
    assert run(["submit", *options.split(), "--", "true"]) == 0
    assert asked(fake)["key"] == "mine"
    assert asked(fake)["environment"] == {"SLURM_SUBMIT_HOST": socket.gethostname()}
    assert JobRequest.from_dict(asked(fake)["jobs"]) == JobRequest(
        argv=("true",), name="n", array=Array((range(100),), 8), walltime_s=7200, nodes=3, cpus=4, memory_mib=4096,
        gpus=2, after=(Dependency("ok", 1), Dependency("any", 2)), export="none", chdir=str(tmp_path), output="o%a",
        error="e%a", requeue=True, hold=True, grace_s=30, exclusive=True, append=True, comment="c", partition="long",
        begin_ms=round(datetime.fromisoformat("2026-12-24T16:00").timestamp() * 1000),
        deadline_ms=round(datetime.fromisoformat("2026-12-25").timestamp() * 1000),
        signal=LimitSignal(10, 300, batch=True),
    )  # fmt: skip


def test_items_make_an_array(fake, tmp_path, capsys):
    (tmp_path / "items.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    (tmp_path / "env").write_text("# text\nexport A='x y'\nB=\n")
    words = "--retries 2 --retry-delay 1m --retry-codes 75,124 --at-once 1 --export none"
    each = ["--each", str(tmp_path / "items.jsonl"), "--env-file", str(tmp_path / "env")]
    assert run(["submit", *words.split(), *each, "--", "echo", "{n}"]) == 0
    body = asked(fake)
    assert (body["items"], body["json_items"], body["jobs"]["array"]) == (['{"n": 1}', '{"n": 2}'], True, "0-1%1")
    assert [body["jobs"][key] for key in ("retries", "retry_delay_s", "retry_codes")] == [2, 60, [75, 124]]
    assert (body["environment"]["A"], body["environment"]["B"]) == ("x y", "")
    assert capsys.readouterr().out == "12 (12-13)\n"


def test_submissions_have_distinct_keys_and_equal_keys_are_one_job(fake, capsys):
    for key in ([], [], ["--key", "k"], ["--key", "k"]):
        assert run(["submit", *key, "--", "true"]) == 0
    assert capsys.readouterr().out.split() == ["12", "13", "14", "14"]


def test_script_arguments_and_directives_are_submitted(fake, script, capsys):
    script("#SBATCH -t 5 -c 2 --qos high", "#DARDIS --time 10 --name mine", "echo")
    assert run(["submit", "--name", "given", "s.sh", "--time", "x", "--", "y"]) == 0
    body = asked(fake)
    assert body["script"] == "#!/bin/sh\n#SBATCH -t 5 -c 2 --qos high\n#DARDIS --time 10 --name mine\necho\n"
    assert body["jobs"]["argv"] == ["--time", "x", "--", "y"]
    assert [body["jobs"][key] for key in ("name", "walltime_s", "cpus")] == ["given", 600, 2]
    assert capsys.readouterr() == ("12\n", "dardis: warning: s.sh:2: --qos high is ignored\n")


def test_a_script_on_standard_input(fake, monkeypatch):
    text = b"#!/bin/sh\n#DARDIS --cpus 3\necho $1\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run(["submit", "-", "a"]) == 0
    body = asked(fake)
    assert (body["script"].encode(), body["jobs"]["argv"], body["jobs"]["name"]) == (text, ["a"], "job")
    assert body["jobs"]["cpus"] == 3


def test_warnings_of_the_service_are_printed(fake, capsys):
    fake.answer = lambda *_: (200, {"ids": [5], "warnings": ["mind the gap"]})
    assert run(["submit", "--", "true"]) == 0
    assert capsys.readouterr() == ("5\n", "dardis: warning: mind the gap\n")


@pytest.mark.parametrize(("arguments", "line"), [
    ("", "SCRIPT: none; expected a script, or a command after --"),
    ("--", "SCRIPT: none; expected a script, or a command after --"),
    ("nowhere.sh", "nowhere.sh: cannot be read (No such file or directory); expected a script; a command comes"),
    ("s.sh", "s.sh:2: unknown option --colour; expected --array, "),
    ("--time soon -- x", "--time: 'soon'; expected a time from 1s"),
    ("--cpus 0 -- x", "--cpus: '0'; expected a whole number from 1 to"),
    ("--gpus -1 -- x", "--gpus: '-1'; expected a whole number from 0 to"),
    ("--nodes two -- x", "--nodes: 'two'; expected a whole number"),
    ("--mem much -- x", "--mem: 'much'; expected MiB"),
    ("--array 9-1 -- x", "--array: '9-1'; expected a first index"),
    ("--after 12 -- x", "--after: '12'; expected ok:ID"),
    ("--export A,,B -- x", "--export: 'A,,B'; expected all, none"),
    ("--chdir /no/such -- x", "--chdir: '/no/such' is no folder; expected an existing folder"),
    ("--output %q -- x", "--output: '%q'; expected a path with %j"),
    ("--error % -- x", "--error: '%'; expected a path"),
    ("--name a/b -- x", "--name: 'a/b'; expected at most 200 printable characters"),
    ("--colour -- x", "No such option: --colour"),
    ("--each items -- echo", "items: the command has no {}"), ("--each nowhere -- x {}", "nowhere: cannot be read"),
    ("--each items --items xml -- x {}", "--items: 'xml'; expected lines, null, json"),
    ("--each items --array 1-2 -- x {}", "--each, --array: both"),
    ("--items json -- x", "--items: given without --each; expected --each as well"),
    ("--each items --at-once 0 -- x {}", "--at-once: '0'"), ("--each empty -- x {}", "empty: has no items"),
    ("--each items --items json -- x {a}", "items:1: 'a'; expected a JSON object"),
    ("--retries -1 -- x", "--retries: '-1'"),
    ("--retry-codes 3 -- x", "--retry-codes: given without --retries"),
    ("--retries 1 --retry-codes x -- x", "--retry-codes: 'x'"),
    ("--retries 1 --retry-delay soon -- x", "--retry-delay: 'soon'"),
    ("--env-file items -- x", "items:1: 'a'; expected NAME="),
    ("--begin soon -- x", "--begin: 'soon'"),
    ("--stdin nowhere -- x", "--stdin: 'nowhere'; expected an existing file"),
    ("--nice x -- x", "--nice: 'x'"), ("--signal 99 -- x", "--signal: '99'"), ("--tmp x -- x", "--tmp: 'x'"),
    ("-n x -- x", "-n: 'x'"), ("--constraint a -- x", "--constraint: 'a' is not supported (nodes have no features"),
])  # fmt: skip
def test_submit_error_is_one_line_and_sends_nothing(fake, script, capsys, tmp_path, arguments, line):
    script("#DARDIS --colour red")
    (tmp_path / "items").write_text("a\nb\n")
    (tmp_path / "empty").write_text("\n" * 1_000_000)
    assert run(["submit", *arguments.split()]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"dardis: {line}")
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert fake.asked == []


@pytest.mark.parametrize(("end", "status", "said"), [
    ({"state": "completed", "code": 0}, 0, ""),
    ({"state": "failed", "code": 3, "why": "exit code 3"}, 3, "dardis: job 12 failed: exit code 3\n"),
    ({"state": "failed", "code": 130}, 130, "dardis: job 12 failed: exit code 130\n"),
    ({"state": "failed", "signal": 9}, 137, "dardis: job 12 failed: signal 9\n"),
    ({"state": "failed", "signal": 2}, 130, "dardis: job 12 failed: signal 2\n"),
    ({"state": "failed", "why": "failed to start"}, 126, "dardis: job 12 failed: failed to start\n"),
    ({"state": "timeout", "signal": 15}, 124, "dardis: job 12 timeout\n"),
    ({"state": "cancelled", "why": "cancelled"}, 143, "dardis: job 12 cancelled\n"),
    ({"state": "unknown", "why": "its host went down"}, 125, "dardis: job 12 unknown: its host went down\n"),
])  # fmt: skip
def test_wait_exits_with_the_status_of_the_job(fake, capsys, end, status, said):
    fake.add(job(12, "running"))
    fake.ends[12] = end
    assert run(["wait", "12"]) == status
    assert capsys.readouterr() == ("", said)
    fake.jobs.clear()
    assert run(["submit", "--wait", "--", "true"]) == status
    assert capsys.readouterr() == ("12\n", said)


def test_wait_for_several_jobs_exits_with_the_highest_code(fake, capsys):
    fake.add(job(1, "failed", code=3), job(2, "failed", code=7), job(3, "completed"), job(4, "timeout"))
    assert run(["wait", "1-3"]) == 7
    assert run(["wait", "3", "1-2"]) == 7
    assert run(["wait", "1", "3"]) == 3
    capsys.readouterr()
    assert run(["wait", "1", "9"]) == 2
    assert capsys.readouterr().err == "dardis: there is no job 9\n", "before any wait"
    assert run(["wait", "--json", "1", "3"]) == 3
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [1, 3]


@pytest.mark.parametrize("word", ["x", "0", "-1", "3-1", "1-x", "1.5", ""])
@pytest.mark.parametrize("command", ["wait", "cancel"])
def test_invalid_job_id_is_refused(fake, capsys, command, word):
    assert run([command, "--", word]) == 2
    assert capsys.readouterr().err == f"dardis: ID: {word!r}; expected the number of a job, or A-B\n"
    assert fake.asked == []


def test_the_queue_in_plain_columns(fake, capsys, monkeypatch):
    monkeypatch.setattr("dardis.engine.clock.unix_now", lambda: NOW_MS / 1000)
    waiting = [job(number, array=4, index=number - 2, why="for 4 cores", array_size=5) for number in (4, 5, 6)]
    mixed = [
        job(7, "running", array=7, index=0, array_size=2),
        job(8, "held", array=7, index=1, array_size=2, why="held"),
    ]
    fake.add(job(1, "completed"), job(2, "running"), job(3, "held", why="held"), *waiting, *mixed)
    assert run(["queue"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ID   INDEX  NAME  USER  STATE    NODES  CPUS  TIME     LIMIT    ON OR REASON",
        "2    -      true  me    running  1      1     0:00:30  1:00:00  n1",
        "3    -      true  me    held     1      1     -        1:00:00  held",
        "4-6  2-4    true  me    waiting  1      1     -        1:00:00  3 waiting, 2 ended: for 4 cores",
        "7-8  0-1    true  me    running  1      1     -        1:00:00  1 running, 1 held: held",
    ]


def test_top_shows_nodes_running_jobs_and_reasons(fake, capsys):
    fake.add(job(2, "running"), *(job(number, why="waits for nodes") for number in (3, 4)), job(5, "held", why="held"))
    assert run(["top"]) == 0
    head, _, nodes, node, _, columns, running, _, reasons, *rows = capsys.readouterr().out.splitlines()
    assert head.endswith("1 nodes, 1 of 4 cores in use; jobs: 1 running, 2 waiting, 1 held")
    assert nodes.split()[:3] == ["NODE", "STATE", "CORES"]
    assert node.split()[:2] == ["n1", "up"]
    assert (columns.split()[0], running.split()[0]) == ("ID", "2")
    assert [reasons, *rows] == ["JOBS  REASON", "2     waits for nodes", "1     held"]


def test_range_is_changed_by_one_request(fake, capsys):
    fake.add(job(1, "completed"), job(2, "running"), *(job(number) for number in range(3, 9)))
    assert run(["cancel", "1-5", "8"]) == 0
    assert [path for method, path, _ in fake.asked if method == "POST"] == ["/jobs/cancel", "/jobs/8/cancel"]
    assert {number for number, one in fake.jobs.items() if one["state"] == "cancelled"} == {2, 3, 4, 5, 8}
    assert run(["cancel", "1-5", "8"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "dardis: no job from 1 to 5 can be cancelled", "dardis: job 8 is cancelled: it can't be changed any more",
    ]  # fmt: skip


def test_retry_means_all_jobs_of_an_array(fake, capsys):
    fake.add(job(1, "failed", code=3), job(2, "failed", array=2, index=0), job(3, "completed", array=2, index=1))
    assert run(["retry", "1", "2"]) == 0
    assert [path for method, path, _ in fake.asked if method == "POST"] == ["/jobs/1/retry", "/jobs/2/retry?array=1"]
    assert run(["retry", "3"]) == 1
    assert "it can't be changed" in capsys.readouterr().err


def test_a_table_on_a_terminal(fake, capsys, monkeypatch):
    fake.add(job(2, "running", name="[bold]x"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["queue"]) == 0
    assert "[bold]x" in capsys.readouterr().out


@pytest.mark.parametrize(("command", "path"), [
    ("queue", "/jobs?state=open"), ("queue --user me --limit 5", "/jobs?state=open&user=me&limit=5"),
    ("history", "/jobs?state=over&limit=100"),
    ("history --limit 7 --user a&b", "/jobs?state=over&user=a%26b&limit=7"),
    ("history --since 2023-11-14T23:00Z", "/jobs?state=over&since_ms=1700002800000"),
    ("show 1", "/jobs/1"), ("nodes", "/nodes"),
])  # fmt: skip
def test_json_option_prints_the_response(fake, capsys, command, path):
    fake.add(job(1))
    assert run([*command.split(), "--json"]) == 0
    assert [(method, at) for method, at, _ in fake.asked] == [("GET", path)]
    answer = json.loads(capsys.readouterr().out)
    assert answer in (fake.jobs[1], {"jobs": [fake.jobs[1]]}, {"jobs": []}, {"nodes": list(fake.nodes.values())})


def test_history_and_since(fake, capsys):
    ended = {1: 1_700_000_000_000, 2: 1_700_003_600_000, 3: None}
    fake.add(*(job(number, "cancelled", ended_ms=at) for number, at in ended.items()), job(4, "failed", signal=9))
    assert run(["history", "--since", "2023-11-14T23:00Z"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["ID", "2"]
    assert run(["history", "--limit", "4"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[4].split()[:7] == ["4", "true", "me", "failed", "signal", "9", "0:01:40"]


@pytest.mark.parametrize("text", ["soon", "2023-13-01", "0s", "", "19:20"])
def test_invalid_moment_is_refused(fake, capsys, text):
    assert run(["history", "--since", text]) == 2
    assert capsys.readouterr().err.startswith(f"dardis: --since: {text!r}; expected a UTC time")


@pytest.mark.parametrize(("command", "state"), [("cancel", "cancelled"), ("hold", "held"), ("release", "waiting")])
def test_change_commands_are_sent(fake, capsys, command, state):
    fake.add(job(1, "held" if command == "release" else "waiting"), job(2))
    assert run([command, "1"]) == 0
    assert capsys.readouterr() == ("", "")
    assert fake.jobs[1]["state"] == state
    assert run([command, "2", "--array", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == fake.jobs[2]
    assert [path for _, path, _ in fake.asked] == [f"/jobs/1/{command}", f"/jobs/2/{command}?array=1"]


def test_failed_change_of_one_job_does_not_stop_others(fake, capsys):
    fake.add(job(1, "completed"), job(2), job(3))
    assert run(["cancel", "1", "9", "2-3"]) == 2
    assert [fake.jobs[number]["state"] for number in (2, 3)] == ["cancelled", "cancelled"]
    assert capsys.readouterr().err == (
        "dardis: job 1 is completed: it can't be changed any more\ndardis: there is no job 9\n"
    )
    assert run(["cancel", "1"]) == 1


def test_drain_and_undo(fake, capsys):
    assert run(["drain", "n1", "--why", "a disk"]) == 0
    assert run(["nodes"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NODE  STATE     CORES  USED  GPUS  MEMORY    JOBS  WHY",
        "n1    draining  4      1     1     8192 MiB  7     a disk",
    ]
    fake.nodes["n1"]["silent"] = True
    assert run(["nodes"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["n1", "unreachable"]
    assert run(["drain", "n1", "--undo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][0]["state"] == "up"
    assert run(["drain", "no/de"]) == 2
    assert capsys.readouterr().err == "dardis: there is no node no%2Fde\n"
    assert run(["drain", "n1", "--undo", "--why", "x"]) == 2
    assert capsys.readouterr().err == "dardis: --why, --undo: both; expected one of them\n"


@pytest.mark.parametrize(
    ("more", "kill", "said"),
    [([], False, "1 job still running; the next dardis serve finds them again\n"), (["--kill"], True, "1 job ended\n")],
)
def test_stop(fake, capsys, more, kill, said):
    assert run(["stop", *more, "--json"]) == 0
    assert fake.asked == [("POST", "/stop", {"kill": kill})]
    assert json.loads(capsys.readouterr().out) == {"running": 1}
    assert run(["stop", *more]) == 0
    assert capsys.readouterr().out == said


def test_logs(fake, capfdbinary, tmp_path):
    (tmp_path / "o1").write_bytes(b"out \xff\n")
    (tmp_path / "e").write_bytes(b"err\n")
    fake.add(job(1, "completed", cwd=str(tmp_path), output="o%j", error="e"), job(2))
    assert run(["logs", "1"]) == 0
    assert capfdbinary.readouterr().out == b"out \xff\n"
    assert run(["logs", "1", "--error"]) == 0
    assert capfdbinary.readouterr().out == b"err\n"
    assert run(["logs", "1", "--json"]) == 0
    places = {"output": f"{tmp_path}/o1", "error": f"{tmp_path}/e"}
    assert json.loads(capfdbinary.readouterr().out) == {"id": 1, **places}
    assert run(["logs", "2"]) == 1
    assert capfdbinary.readouterr().err == b"dardis: /dardis-2.out: does not exist; job 2 is waiting\n"


ALL = ["submit -- true", "queue", "show 1", "wait 1", "cancel 1", "hold 1", "release 1", "nodes", "drain n1", "history"]
ALL += ["logs 1", "stop"]


@pytest.mark.parametrize("command", ALL)
def test_commands_without_a_service_say_how_to_start_one(tmp_path, capsys, command):
    name, *rest = command.split()
    assert run([name, "--folder", str(tmp_path), *rest]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"dardis: {tmp_path}: no service answers here (")
    assert said.err.endswith(f"; expected a running service: dardis serve --folder {tmp_path}\n")
    assert (said.out, said.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("command", ALL)
def test_a_folder_too_long_for_a_socket(capsys, command):
    name, *rest = command.split()
    assert run([name, "--folder", "/" + "x" * 120, *rest]) == 2
    assert "too long for a socket by 27 bytes; expected at most 94 bytes" in capsys.readouterr().err


LIGHT = """
import sys
from dardis.cli.main import run
told = [run(command.split()) for command in sys.argv[2:]]
heavy = {"numpy", "numba", "aiohttp", "pandas", "scipy", "msgpack", "sqlite3", "asyncio", "rich"} & {*sys.modules}
sys.exit(f"{told} {sorted(heavy)}" if heavy or {*told} != {int(sys.argv[1])} else 0)
"""


@pytest.mark.parametrize("status", [0, 2])
def test_live_commands_load_no_heavy_modules(fake, tmp_path, status):
    fake.add(job(1, "completed", cwd=str(tmp_path)), *(job(number) for number in (2, 3, 4)))
    (tmp_path / "dardis-1.out").touch()
    if status == 2:
        fake.refuses = 400, "no"
    words = [sys.executable, "-c", LIGHT, str(status), *ALL[:4], "cancel 2", "hold 3", "release 4", *ALL[7:]]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_ctrl_c_ends_wait_and_not_the_job(fake):
    fake.add(job(1, "running"))
    words = [sys.executable, "-m", "dardis", "wait", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        limit = threading.Timer(60, process.kill)
        limit.start()
        while not fake.asked and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
        limit.cancel()
    assert (process.returncode, said) == (130, "dardis: interrupted\n")
    assert fake.jobs[1]["state"] == "running"


def test_journal_replay_prints_json(tmp_path, capsys, journal):
    machine = machine_of([HostFacts("n", (0, 1), 100, 0)])
    first = Instant(InstantEvents(5), (), machine.platform, machine.bounds)
    journal.write(Batch(instants=[first.text()]))
    assert run(["journal", "replay", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"instants": 1, "starts": 0, "services": 1, "differs": ""}
    journal.write(Batch(instants=[Instant(InstantEvents(6), (JobStart(JobId(1), (0,)),)).text()]))
    assert run(["journal", "replay", str(tmp_path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["instants"], told["differs"][:22]) == (2, "instant 2 (second 6): ")
