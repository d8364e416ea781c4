"""`KEY=VALUE` settings: what any frozen dataclass of choices, numbers and words takes, and how mistakes are told."""

from dataclasses import dataclass
from enum import StrEnum

import pytest
from kit.error_lines import line_of

from dardis.config.settings import MOST, plain_settings, setting, with_settings
from dardis.registry import BUILT_IN_DISPATCHERS, find_dispatcher


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def even(text):
    if len(text) % 2:
        raise ValueError(text)
    return text.upper()


@dataclass(frozen=True)
class Paint:
    colour: Colour = Colour.RED
    coats: int = 2
    drops: int = setting(0, least=0)
    width: int = setting(5, zero="full")
    word: str = setting("AB", values="words of even length", parse=even)
    maker: str = setting("us", key=False)


def test_values_of_every_sort():
    paint = with_settings(Paint(), ["colour=blue", "coats=3", "drops=0", "width=full", "word=abcd"])
    assert paint == Paint(Colour.BLUE, 3, 0, 0, "ABCD")
    assert with_settings(Paint(), ["coats=4", f"coats={MOST}", "word="]) == Paint(coats=MOST, word="")
    assert with_settings(Paint(), []) == Paint()


@pytest.mark.parametrize(("text", "says"), [
    ("colour=green", "unknown value 'green'; expected red|blue"),
    ("word=abc", "unknown value 'abc'; expected words of even length"),
    ("coats=0", "'0' is out of range; expected a whole number from 1 to"), ("coats=²", "out of range"),
    ("coats=", "out of range"), (f"coats={MOST + 1}", f"from 1 to {MOST}"), ("drops=none", "a whole number from 0 to"),
    ("width=0", "a whole number from 1 to"),
    ("maker=them", "unknown setting; expected one of colour=red|blue, coats=N"),
    ("colour", "no KEY=VALUE; expected one of colour=red|blue"),
])  # fmt: skip
def test_mistakes_name_the_setting_and_what_is_known(text, says):
    line = line_of(with_settings, Paint(), ["colour=blue", text])
    assert line.startswith(f"--set {text}: ")
    assert says in line


@pytest.mark.parametrize("name", BUILT_IN_DISPATCHERS)
def test_the_record_of_every_dispatcher_can_be_set_again(name):
    setup = find_dispatcher(name).setup
    recorded = tuple(f"{key}={value}" for key, value in plain_settings(setup).items())
    assert find_dispatcher(name, recorded).setup == setup
