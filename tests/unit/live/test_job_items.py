"""Items of `dardis submit --each`: files, placeholders, and what does not fit together."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.live.job_items import ItemFormat, check_items, filled_words, parse_items, read_items
from dardis.live.job_option_texts import Array
from dardis.live.job_request import JobRequest

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1).filter(str.strip)


@given(st.lists(TEXTS, min_size=1))
def test_items_round_trip(items):
    assert parse_items("\n".join(items).encode(), ItemFormat.LINES, "f") == items
    assert parse_items("".join(f"{one}\0" for one in items).encode(), ItemFormat.NULL, "f") == items
    lines = [json.dumps({"a": one, "n": 3}) for one in items]
    assert parse_items("\r\n".join(lines).encode(), ItemFormat.JSON, "f") == lines
    assert filled_words(["x={}", "{a}"], items[0], is_json=False) == [f"x={items[0]}", "{a}"]
    assert filled_words(["{a}", "{n}{b}"], lines[0], is_json=True) == [items[0], "3{b}"]


@pytest.mark.parametrize(("data", "kind", "line"), [
    (b"\n" * 1_000_000, "lines", "f: has no items"), (b"", "null", "f: has no items"),
    (b"\xff", "lines", "f: is no UTF-8"),
    (b'{"a": 1}\n[1]\n', "json", "f:2: '[1]'; expected a JSON object"), (b"x", "json", "f:1: 'x'"),
])  # fmt: skip
def test_invalid_item_files_are_one_line(data, kind, line):
    assert line_of(parse_items, data, ItemFormat(kind), "f").startswith(line)


def test_items_match_the_command_and_the_array():
    assert line_of(check_items, ['{"a": 1}'], ["{b}"], ItemFormat.JSON, "f").startswith("f: item 1: has no field 'b'")
    assert line_of(check_items, ["x"] * 100_001, ["{}"], ItemFormat.LINES, "f").startswith(
        "f: 100001 items; expected at"
    )
    assert line_of(check_items, ["x"], ["echo"], ItemFormat.LINES, "f").startswith("f: the command has no {}")
    asked = JobRequest(argv=("x",), array=Array((range(2),)))
    assert read_items(["a", "b"], asked) == ("a", "b")
    assert line_of(read_items, ["a"], asked).startswith("items: 1 items; expected an array")
    assert line_of(read_items, [1, 2], asked).startswith("items: is no text")
