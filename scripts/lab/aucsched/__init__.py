"""Reproduces the experiments of AUCSCHED (001): jobs that bid for nodes against backfilling, on machines S, M and L."""
