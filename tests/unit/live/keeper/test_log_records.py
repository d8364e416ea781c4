import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.live.keeper.log_records import DamagedLogError, LogState, line_of, read_log, waits_for_disk

RUN = st.sampled_from(["1.1", "2.1", "2.2"])
ENTRY = st.one_of(
    st.tuples(st.just("epoch"), st.integers(0, 9)),
    st.tuples(st.just("mark"), st.text(max_size=3)),
    st.tuples(st.just("intent"), RUN, st.fixed_dictionaries({"boot": st.text(max_size=3)})),
    st.tuples(st.just("ending"), RUN, st.fixed_dictionaries({"why": st.text(max_size=3)})),
    st.tuples(st.just("over"), RUN, st.fixed_dictionaries({"code": st.integers(0, 255)})),
    st.tuples(st.just("forget"), RUN),
).map(list)
COMMITS = st.lists(st.lists(ENTRY, min_size=1, max_size=3), max_size=6)


def written(commits):
    return [line_of(entries) for entries in [[["log", 1]], *commits]]


def known(commits):
    said = LogState()
    for entries in commits:
        for entry in entries:
            said.apply(entry)
    return said


@given(COMMITS)
def test_log_records_round_trip(commits):
    data = b"".join(written(commits))
    read = read_log(data)
    assert read.state == known(commits)
    assert read.intact_bytes == len(data)
    assert read.entries == 1 + sum(map(len, commits))


@given(COMMITS)
def test_compacted_entries_give_the_same_state(commits):
    assert known([list(known(commits).entries())]) == known(commits)


@given(COMMITS.filter(bool), st.data())
def test_torn_commit_is_dropped_and_earlier_commits_hold(commits, data):
    lines = written(commits)
    kept = data.draw(st.integers(0, len(lines[-1]) - 1))
    read = read_log(b"".join(lines[:-1]) + lines[-1][:kept])
    assert read.state == known(commits[:-1])
    assert read.intact_bytes == sum(map(len, lines[:-1]))


@given(COMMITS, COMMITS.map(lambda commits: [*commits, [["intent", "9.1", {}]]]), COMMITS, st.data())
def test_damage_of_synced_data_is_detected(before, waited, after, data):
    lines = written([*before, *waited])
    text = bytearray(b"".join(lines))
    text[data.draw(st.integers(0, len(text) - len(lines[-1]) - 2))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedLogError):
        read_log(bytes(text) + b"".join(written(after)[1:]))


@given(COMMITS, st.lists(st.lists(ENTRY.filter(lambda entry: not waits_for_disk([entry])), min_size=1)), st.data())
def test_unsynced_data_is_cut_at_the_first_torn_record_after_power_loss(commits, ends, data):
    commits = [*commits, [["epoch", 9]]]
    lines, behind = written(commits), [line_of(entries) for entries in ends if entries]
    torn = bytearray(b"".join(behind))
    for _ in range(data.draw(st.integers(0, 3)) if torn else 0):
        torn[data.draw(st.integers(0, len(torn) - 1))] = 0
    read = read_log(b"".join(lines) + bytes(torn))
    whole = 0
    while whole < len(behind) and torn.startswith(b"".join(behind[: whole + 1])):
        whole += 1
    assert read.state == known([*commits, *[json.loads(line[9:]) for line in behind[:whole]]])
    assert read.intact_bytes == sum(map(len, [*lines, *behind[:whole]]))


def test_another_version_is_refused():
    with pytest.raises(DamagedLogError, match="version 2"):
        read_log(line_of([["log", 2]]))


def test_unknown_record_is_refused():
    with pytest.raises(DamagedLogError, match="unknown entry"):
        read_log(line_of([["log", 1]]) + line_of([["more", "1.1"]]) + line_of([["epoch", 1]]))
