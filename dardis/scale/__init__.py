"""Experiments of `dardis scale`: measured and predicted costs of rounds."""
