"""What asks for parts of jobs: the shell that MPI takes for ssh, the client, and the files that are read for it."""

import os
import subprocess
from base64 import b64decode, b64encode

import pytest

from dardis.cli.main import run
from dardis.live import job_steps as steps
from dardis.live import remote_shell as remote
from dardis.live.job_files import put_files, remote_shell
from dardis.live.live_jobs import JobUser
from dardis.live.remote_shell import NotRunError, main, node_and_command, run_on
from dardis.model.errors import DardisError, InputError

ME = JobUser(os.geteuid(), os.getegid(), "me")
RUN = "1.1.7"
ENDED = {"state": "over", "code": 3, "signal": None, "why": "exit"}


class Service:
    """It says what it was given, a list for each time that it is asked; `None` in one: it is gone."""

    def __init__(self, *answers):
        self.answers, self.asked, self.deleted = list(answers), [], []

    def lines(self, path, body):
        self.asked.append((path, dict(body)))
        for told in self.answers.pop(0):
            if isinstance(told, BaseException):
                raise told
            yield told

    def delete(self, path):
        self.deleted.append(path)


@pytest.fixture
def within(monkeypatch):
    monkeypatch.setenv("DARDIS_RUN", "5.2.99@abc")
    monkeypatch.setattr(remote, "PAUSE_S", (0.0, 0.0))


def piece(text):
    return b64encode(text).decode()


@pytest.mark.usefixtures("within")
def test_repeated_request_states_the_received_output(capfdbinary):
    service = Service(
        [{"mark": "m"}, {"out": piece(b"a\xff"), "err": piece(b"e")}], [], [{}, {"out": piece(b"b")}, {"end": ENDED}]
    )
    assert run_on(service, "n1", ["ls", "-l"]) == 3
    assert capfdbinary.readouterr() == (b"a\xffb", b"e")
    (path, first), *_, (_, last) = service.asked
    assert path == "/jobs/5/parts"
    assert (first["attempt"], first["argv"], first["node"], first["out"]) == (2, ["ls", "-l"], "n1", 0)
    assert {body["number"] for _, body in service.asked} == {first["number"]}
    assert (last["mark"], last["out"], last["err"]) == ("m", 2, 1)
    assert service.deleted == [f"/jobs/5/parts/2.{first['number']}"]


@pytest.mark.usefixtures("within")
@pytest.mark.parametrize(
    ("end", "status"),
    [({"code": 0}, 0), ({"code": None, "signal": 9}, 137), ({"code": None, "why": "unknown: x"}, None)],
)
def test_exit_status_is_that_of_the_command(end, status):
    service = Service([{"end": ENDED | end}])
    if status is not None:
        assert run_on(service, "n1", ["ls"]) == status
        return
    with pytest.raises(NotRunError, match=r"^n1: unknown: x$") as told:
        run_on(service, "n1", ["ls"])
    assert told.value.exit_status == 255


@pytest.mark.usefixtures("within")
@pytest.mark.parametrize(("error", "status"), [(InputError("NODE", "'x'"), 2), (DardisError("over"), 255)])
def test_refused_request_is_not_repeated(error, status):
    service = Service([error])
    with pytest.raises(DardisError) as told:
        run_on(service, "n1", ["ls"])
    assert told.value.exit_status == status
    assert len(service.asked) == 1


def test_call_outside_of_a_job_is_an_error(monkeypatch, capsys):
    monkeypatch.delenv("DARDIS_RUN", raising=False)
    assert run(["exec", "n1", "--", "ls"]) == 2
    assert "DARDIS_RUN: is not set; expected a process of a job" in capsys.readouterr().err
    assert run(["exec", "n1"]) == 2
    assert "exec: no command" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "node", "command"), [
    (["n1", "ls", "-l"], "n1", "ls -l"),
    (["-x", "-n", "-q", "n1", '"/usr/bin/proxy"', "--x", "1"], "n1", '"/usr/bin/proxy" --x 1'),
    (["-oBatchMode=yes", "-o", "X=y", "-l", "me", "-T", "you@n1", "A=b;export A; x"], "n1", "A=b;export A; x"),
])  # fmt: skip
def test_shell_accepts_ssh_arguments(words, node, command):
    assert node_and_command(words) == (node, command)


@pytest.mark.parametrize("words", [[], ["-x"], ["n1"], ["-Z", "n1", "ls"], ["-l"]])
def test_unsupported_shell_argument_is_one_line(words, capsys):
    assert main(words) == 255
    assert capsys.readouterr().err.startswith("dardis: remote-shell: ")


def test_shell_is_executable_for_all_users_and_ignores_python_variables(tmp_path):
    assert put_files(tmp_path, [remote_shell()]) == {}
    shell = tmp_path / remote_shell().path
    assert shell.stat().st_mode & 0o777 == 0o755
    environment = {"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere", "PATH": os.environ["PATH"]}
    ended = subprocess.run([shell, "n1", "a b"], env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.startswith("dardis: DARDIS_RUN: is not set")) == (255, True)


def test_step_output_is_read_in_pieces_and_removed(tmp_path):
    assert put_files(tmp_path, steps.step_files(RUN, ME)) == {}
    out = tmp_path / steps.step_output_path(RUN, "out")
    assert out.stat().st_mode & 0o777 == 0o600
    assert out.parent.stat().st_mode & 0o777 == 0o711
    assert steps.read_pieces(tmp_path, RUN, {"out": 0, "err": 0}) == {}
    out.write_bytes(b"x" * (steps.MOST_PIECE + 3))
    read = steps.read_pieces(tmp_path, RUN, {"out": 2, "err": 0})
    assert {name: len(b64decode(data)) for name, data in read.items()} == {"out": steps.MOST_PIECE}
    assert b64decode(steps.read_pieces(tmp_path, RUN, {"out": steps.MOST_PIECE, "err": 0})["out"]) == b"xxx"
    put_files(tmp_path, steps.step_files("1.1.8", ME))
    steps.prune_step_output(tmp_path, {RUN, "1.1"})
    assert {path.stem for path in out.parent.iterdir()} == {RUN}
    steps.remove_step_output(tmp_path, ["1.1", RUN])
    assert list(out.parent.iterdir()) == []


def test_only_regular_files_are_read(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / steps.step_output_path(RUN, "out")).symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / steps.step_output_path(RUN, "err"))
    assert steps.read_pieces(tmp_path, RUN, {"out": 0, "err": 0}) == {}
