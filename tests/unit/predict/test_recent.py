import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dardis.predict.recent import LastTwo

TIMES = st.integers(1, 1000)


def predictor(rows):
    finish, duration, user, walltime = zip(*rows, strict=True)
    return LastTwo(np.array(finish), np.array(duration), list(user), np.array(walltime))


def test_the_mean_of_the_last_two_that_had_ended():
    known = predictor([(100, 10, "a", 99), (200, 30, "a", 99), (300, 50, "a", 99), (400, 1, "b", 99)])
    assert known.runtime("a", 1000, now=300) == 40
    assert known.runtime("a", 1000, now=299) == 20
    assert known.runtime("a", 1000, now=100) == 10
    assert known.runtime("a", 25, now=300) == 25  # never longer than its walltime


def test_a_new_user_runs_as_everybody_does():
    known = predictor([(100, 10, "a", 100), (200, 30, "a", 100)])
    assert known.runtime("new", 1000, now=200) == 200
    assert known.runtime("new", 1000, now=100) == 100
    assert known.runtime("new", 1000, now=99) == 1000


def test_who_has_run_longer_than_expected_is_expected_to_run_as_long_again():
    known = predictor([(100, 10, "a", 100)])
    assert known.runtime("a", 1000, now=100, elapsed=9) == 10
    assert known.runtime("a", 1000, now=100, elapsed=10) == 20
    assert known.runtime("a", 1000, now=100, elapsed=600) == 1000


@given(
    st.lists(st.tuples(TIMES, TIMES, st.sampled_from("ab"), TIMES), min_size=1, max_size=12),
    st.sampled_from("abc"), TIMES, TIMES, st.integers(0, 999),
)  # fmt: skip
def test_nothing_of_the_future_counts_and_the_answer_is_possible(rows, user, walltime, now, elapsed):
    elapsed = min(elapsed, walltime - 1)
    answer = predictor(rows).runtime(user, walltime, now, elapsed)
    assert max(1, elapsed + 1) <= answer <= walltime
    changed = [row if row[0] <= now else (row[0], 7 * row[1], row[2], 3 * row[3]) for row in rows]
    assert predictor(changed).runtime(user, walltime, now, elapsed) == answer


def test_jobs_of_unknown_users_share_no_history():
    known = predictor([(100, 10, "", 100), (200, 30, "", 100)])
    assert known.runtime("", 1000, now=200) == 200  # what all jobs use of their walltimes
    assert known.runtime("a", 1000, now=200) == 200
