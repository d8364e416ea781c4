"""Completion by shells: the scripts, commands, and the names of dispatchers."""

import pytest

from dardis.cli.main import run
from dardis.cli.options import dispatchers_beginning


@pytest.fixture
def told(monkeypatch, capsys):
    """Run `dardis` as a shell does that asks for completion; return what it prints."""

    def call(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            run([])
        assert not ended.value.code
        return capsys.readouterr().out

    return call


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(told, shell):
    assert "_DARDIS_COMPLETE=complete_" + shell in told(_DARDIS_COMPLETE=f"source_{shell}")


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("dardis sim", ["simulate"]),
        ("dardis trace con", ["convert"]),
        ("dardis simulate t.swf --platf", ["--platform"]),
        ("dardis simulate t.swf --dispatcher dardis-l", ["dardis-late"]),
    ],
)
def test_a_tab_completes_commands_options_and_dispatchers(told, line, completed):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert told(_DARDIS_COMPLETE="complete_bash", **words).split() == completed


def test_the_last_of_several_dispatchers_is_completed():
    assert dispatchers_beginning("easy,hcp") == ["easy,hcp19"]
    assert dispatchers_beginning("easy,nobody") == []
