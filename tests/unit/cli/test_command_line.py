"""Help, completion by shells, and mistyped words, which are answered with those that they were meant to be."""

import re

import pytest

from dardis.cli.derived_options import complete_dispatcher
from dardis.cli.main import app_of, run

COMMANDS = [
    *(name for one in app_of().registered_commands if (name := one.name or one.callback.__name__)),
    *(
        f"{group.name} {one.name or one.callback.__name__}"
        for group in app_of().registered_groups
        for one in group.typer_instance.registered_commands
    ),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_no_type_names_and_has_a_short_option(command, capsys):
    assert run([*command.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert "Usage" in said
    assert re.findall(r"<(?:int|float|str)\w*(?: range)?>(?=  ).*--|--[a-z-]+ +<(?!bool)\S+|RANGE|INTEGER", said) == []
    assert run([*command.split(), "-h"]) == 0
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulat"], "'simulate'"),
        (["simulate", "--platfrm", "p"], "--platform"),
        (["simulate", "t.swf", "--jobs", "0"], "--jobs: '0'; expected a whole number from 1 on"),
        (["simulate", "t.swf", "--seed", "x"], "--seed: 'x'; expected a whole number from 0 to 4611686018427387904"),
        (["plan", "--time-limit", "-1"], "--time-limit: '-1'; expected a number from 0 on"),
        (["hybrid", "--shift-hours", "nan"], "--shift-hours: 'nan'; expected a number from 0 to 48"),
        *(
            (["simulate", "none", "--platform", "none", "--out", "none", "--dispatcher", name, "--set", setting], meant)
            for name, setting, meant in (
                ("esy", "order=fcfs", "unknown dispatcher 'esy' (did you mean easy?); expected one of"),
                ("easy", "ordr=fcfs", "unknown setting (did you mean order?); expected one of"),
                ("easy", "order=sjfb", "unknown value 'sjfb' (did you mean sjbf?); expected rule|fcfs"),
                ("easy", "colour=red", "unknown setting; expected one of"),
            )
        ),
    ],
)
def test_misspelled_word_gets_a_suggestion_in_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert said in line


def test_setting_unknown_to_some_dispatchers_gets_a_suggestion(capsys, tmp_path):
    asked = ["--platform", "p.toml", "--dispatchers", "easy,conservative,dardis-late", "--set", "order=sjbf"]
    assert run(["compare", "t.swf", *asked, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "--set order=sjbf: dardis-late has no such setting" in said
    assert "--dispatchers easy:order=sjbf,conservative:order=sjbf" in said


@pytest.fixture
def completions(monkeypatch, capsys):
    """Run `dardis` as a shell does that asks for completion; return what it prints."""

    def call(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            run([])
        assert not ended.value.code
        return capsys.readouterr().out

    return call


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("dardis sim", ["simulate"]),
        ("dardis trace con", ["convert"]),
        ("dardis simulate t.swf --platf", ["--platform"]),
        ("dardis simulate t.swf --dispatcher dardis-l", ["dardis-late"]),
    ],
)
def test_a_tab_completes_commands_options_and_dispatchers(completions, line, completed):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert completions(_DARDIS_COMPLETE="complete_bash", **words).split() == completed
    assert complete_dispatcher("easy,hcp") == ["easy,hcp19"], "the last of several"
    assert complete_dispatcher("easy,nobody") == []
