"""Measures whole runs of DARDIS beside other programs on the same jobs, as ratios of CPU seconds; asserts no time."""
