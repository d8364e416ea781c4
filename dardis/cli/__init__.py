"""The `dardis` command: one file for each group of commands; builds objects, runs, writes."""
