"""`python -m dardis` runs the `dardis` command."""

from dardis.cli.main import main

main()
