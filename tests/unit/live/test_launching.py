"""Files of jobs, and how starts are told."""

import os

import pytest

from dardis.live.asked import JobAsked
from dardis.live.jobs import Asker, LiveJob, Submission
from dardis.live.launching import put_script
from dardis.live.service import MOST_STARTS, MOST_TEXT, _messages

ME = Asker(os.geteuid(), os.getegid(), "me")


@pytest.fixture
def strict():
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("strict")
def test_a_script_is_within_reach_of_its_asker_whatever_the_umask(tmp_path):
    path = put_script(tmp_path, "#!/bin/sh\n", ME)
    assert [place.stat().st_mode & 0o777 for place in (path, path.parent, path.parent.parent)] == [0o500, 0o711, 0o711]


def test_a_script_is_its_bytes_and_one_that_was_torn_is_put_anew(tmp_path):
    text = "#!/bin/sh\r\necho \u00e9\n"
    path = put_script(tmp_path, text, ME)
    assert path.read_bytes() == text.encode()
    path.chmod(0o700)
    path.write_bytes(b"")
    assert put_script(tmp_path, text, ME).read_bytes() == text.encode()


@pytest.mark.parametrize(("size", "most"), [(10, MOST_STARTS), (MOST_TEXT // 3, 3), (MOST_TEXT - 5, 1)])
def test_starts_are_told_in_messages_that_a_keeper_reads(size, most):
    submission = Submission(1, ME, JobAsked(argv=("true",)), "", {"A": "x" * size}, "/", 0)
    jobs = [LiveJob(number, submission) for number in range(1, 600)]
    told = list(_messages(jobs))
    assert [job for some in told for job in some] == jobs
    assert max(map(len, told)) <= most
    assert len(told[0]) >= most - 1
