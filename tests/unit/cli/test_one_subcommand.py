"""A subcommand that is called says of itself what it says among all others."""

import pytest
from typer.testing import CliRunner

from dardis.cli.main import _COMMANDS, app, run


@pytest.mark.parametrize("name", _COMMANDS)
@pytest.mark.parametrize("more", ["--help", "--no-such-option"])
def test_alone_and_among_all_it_says_the_same(capsys, name, more):
    among_all = CliRunner().invoke(app, [name, more], prog_name="dardis")
    status = run([name, more])
    alone = capsys.readouterr()
    if more == "--help":
        assert (status, alone.out) == (0, among_all.output)
    else:
        assert status == among_all.exit_code == 2
        assert alone.err == f"dardis: No such option: --no-such-option Try 'dardis {name} --help'.\n"
