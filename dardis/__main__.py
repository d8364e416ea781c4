"""`python -m dardis` is the `dardis` command, and ends with the process that started it where that wants it so."""

from dardis.comparison.end_with_parent import end_with_parent

end_with_parent()

from dardis.cli.main import main  # noqa: E402 (all that it imports takes a while)

main()
