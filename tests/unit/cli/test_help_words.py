"""Help names what an option takes; mistyped words are answered with those that they were meant to be."""

import re

import pytest

from dardis.cli.main import app, run

COMMANDS = [
    *(name for one in app.registered_commands if (name := one.name or one.callback.__name__)),
    *(
        f"{group.name} {one.name or one.callback.__name__}"
        for group in app.registered_groups
        for one in group.typer_instance.registered_commands
    ),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_number_is_called_by_its_type(command, capsys):
    assert run([*command.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert "Usage" in said
    assert re.findall(r"<(?:int|float|str)\w*(?: range)?>(?=  ).*--|--[a-z-]+ +<(?!bool)\S+|RANGE|INTEGER", said) == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["simulat"], ["'simulate'"]),
        (["simulate", "--platfrm", "p"], ["--platform"]),
        (["simulate", "t.swf", "--jobs", "0"], ["--jobs: '0'; expected a whole number from 1 on"]),
        (["simulate", "t.swf", "--seed", "x"], ["--seed: 'x'; expected a whole number from 0 to 4611686018427387904"]),
        (["plan", "--time-limit", "-1"], ["--time-limit: '-1'; expected a number from 0 on"]),
        (["hybrid", "--shift-hours", "nan"], ["--shift-hours: 'nan'; expected a number from 0 to 48"]),
    ],
)
def test_one_line_says_what_may_have_been_meant(arguments, parts, capsys):
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("dispatcher", "setting", "meant"),
    [
        ("esy", "order=fcfs", "unknown dispatcher 'esy' (did you mean easy?); expected one of"),
        ("easy", "ordr=fcfs", "unknown setting (did you mean order?); expected one of"),
        ("easy", "order=sjfb", "unknown value 'sjfb' (did you mean sjbf?); expected rule|fcfs"),
        ("easy", "colour=red", "unknown setting; expected one of"),
    ],
)
def test_a_dispatcher_or_setting_that_is_nearly_one(dispatcher, setting, meant, capsys, tmp_path):
    out, missing = str(tmp_path / "out"), str(tmp_path / "none")
    asked = ["--platform", missing, "--dispatcher", dispatcher, "--set", setting, "--out", out]
    assert run(["simulate", missing, *asked]) == 2
    assert meant in capsys.readouterr().err


def test_a_setting_that_not_all_know_is_given_to_those_who_do(capsys, tmp_path):
    asked = ["--platform", "p.toml", "--dispatchers", "easy,conservative,dardis-late", "--set", "order=sjbf"]
    assert run(["compare", "t.swf", *asked, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "--set order=sjbf: dardis-late has no such setting" in said
    assert "--dispatchers easy:order=sjbf,conservative:order=sjbf" in said
