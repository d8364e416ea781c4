"""The `dardis` command: one file a command; builds objects, runs, writes."""
