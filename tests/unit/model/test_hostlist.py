"""Host lists: against a plain oracle, and read back as the same names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.hostlist import MOST_NAMES, hostlist, hostlist_in_order, names_of

NAMES = st.from_regex(r"(n|x-|r1c)?[0-9]{1,3}|login|a0b", fullmatch=True)


def expanded(text):
    """What a host list means whose brackets end a name."""
    names = []
    for prefix, ranges, alone in re.findall(r"([^,\[\]]*)\[([^\]]*)\]|([^,\[\]]+)", text):
        if alone:
            names.append(alone)
        for part in filter(None, ranges.split(",")):
            low, _, high = part.partition("-")
            names += [f"{prefix}{n:0{len(low)}}" for n in range(int(low), int(high or low) + 1)]
    return names


@given(st.lists(NAMES, max_size=30))
def test_host_lists_mean_every_name_once(names):
    assert sorted(expanded(hostlist(names))) == sorted(set(names))


def test_host_lists_look_as_slurm_writes_them():
    assert hostlist(["n7", "n0", "n2", "n1", "n3"]) == "n[0-3,7]"
    assert hostlist(["n008", "n009", "n010"]) == "n[008-010]"
    assert hostlist(["n9", "n10"]) == "n[9-10]"
    assert hostlist(["n1", "login"]) == "n1,login"
    assert hostlist(["n12", "n08", "n1", "n2"]) == "n[1-2],n[08,12]"
    assert hostlist([]) == ""


@given(st.lists(NAMES, min_size=1, max_size=30))
def test_what_is_written_reads_back(names):
    assert names_of(hostlist_in_order(names)) == expanded(hostlist_in_order(names)) == names
    assert sorted(names_of(hostlist(names))) == sorted(set(names))


def test_a_list_in_order_keeps_it():
    assert hostlist_in_order(["n3", "n1", "n2", "n2", "login", "n08", "n09", "n10"]) == "n[3,1-2,2],login,n[08-10]"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("login1", ["login1"]),
        ("n[08-10,3]", ["n08", "n09", "n10", "n3"]),
        ("r[0-1]n[1,3]-ib,x", ["r0n1-ib", "r0n3-ib", "r1n1-ib", "r1n3-ib", "x"]),
        ("[1-2]", ["1", "2"]),
    ],
)
def test_brackets_stand_anywhere(text, names):
    assert names_of(text) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n[1-", "a bracket without"),
        ("n1]", "a bracket without"),
        ("n[1[2]]", "a bracket without"),
        ("", "a name of no letter"),
        ("n1,,n2", "a name of no letter"),
        ("n[]", r"\[\] is no range"),
        ("n[1-]", r"\[1-\] is no range"),
        ("n[a-b]", r"\[a-b\] is no range"),
        ("n[1-3:2]", "is no range"),
        ("n[٣]", "is no range"),
        ("n[3-1]", "runs backwards"),
        (f"n[1-{'9' * 19}]", "is no range"),
        ("n[1-999999999]", f"more than {MOST_NAMES} names"),
        ("r[0-255]n[0-256]", f"more than {MOST_NAMES} names"),
        ("n[0-65535],x", f"more than {MOST_NAMES} names"),
    ],
)
def test_what_is_no_host_list(text, message):
    with pytest.raises(ValueError, match=message):
        names_of(text)


def test_as_many_names_as_a_list_may_have():
    assert names_of("n[0-65535]")[-1] == "n65535"
