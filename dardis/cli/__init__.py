"""The `dardis` command, one module per command group."""
