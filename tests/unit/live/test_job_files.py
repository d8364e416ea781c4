"""Files of jobs, and how starts are told."""

import json
import os
import subprocess
import sys

import pytest

from dardis.live.job_files import SmallFile, put_files, script_file
from dardis.live.job_request import JobRequest
from dardis.live.keeper_mailbox import MOST_STARTS, MOST_TEXT, split_starts
from dardis.live.live_jobs import JobUser, LiveJob, Submission

ME = JobUser(os.geteuid(), os.getegid(), "me")


def put(folder, *files):
    assert put_files(folder, files) == {}
    return [folder / file.path for file in files]


def test_script_bytes_are_kept_and_a_torn_script_is_rewritten(tmp_path):
    file = script_file("#!/bin/sh\r\necho \u00e9\n", ME)
    (path,) = put(tmp_path, file)
    assert path.read_bytes() == file.text.encode()
    path.chmod(0o700)
    path.write_bytes(b"")
    assert (
        put(tmp_path, SmallFile.from_list(json.loads(json.dumps(file.as_list()))))[0].read_bytes() == path.read_bytes()
    )
    assert path.read_bytes() == file.text.encode()


@pytest.mark.parametrize(("size", "most"), [(10, MOST_STARTS), (MOST_TEXT // 3, 3), (MOST_TEXT - 5, 1)])
def test_start_requests_are_split_to_the_message_limit(size, most):
    submission = Submission(1, ME, JobRequest(argv=("true",)), "", {"A": "x" * size}, "/", 0)
    jobs = [LiveJob(number, submission) for number in range(1, 600)]
    told = list(split_starts(jobs))
    assert [job for some in told for job in some] == jobs
    assert max(map(len, told)) <= most
    assert len(told[0]) >= most - 1


HOLDS = """
import fcntl, signal, sys
file = open(sys.argv[1], "r+")
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("holds", flush=True)
sys.stdin.read()
"""


def test_file_lease_of_a_user_does_not_block_the_service(tmp_path):
    file = SmallFile("scripts/1/x", "text", 0o700)
    assert put_files(tmp_path, [file]) == {}
    words = [sys.executable, "-c", HOLDS, str(tmp_path / file.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"holds\n"
        assert put_files(tmp_path, [file]) == {}  # it does not wait until the lease is given back
        assert (tmp_path / file.path).read_text() == "text"
        holder.stdin.close()
