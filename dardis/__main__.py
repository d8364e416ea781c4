"""`python -m dardis` is the `dardis` command."""

from dardis.cli.main import main

main()
