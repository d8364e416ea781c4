"""Thesis tables 3.2 and 3.3: the machine, and the five jobs that wait on it."""

from dardis.model.platform import NodeGroup, Platform

EURORA = Platform("eurora", (
    NodeGroup("gpu", 32, {"cores": 16, "gpu": 2, "mic": 0, "memory": 16_000_000}),
    NodeGroup("mic", 32, {"cores": 16, "gpu": 0, "mic": 2, "memory": 16_000_000}),
))  # fmt: skip
TABLE = [  # units, cores, gpu, mic, memory (kB), duration
    (32, 4, 1, 0, 1_000_000, 14000),
    (1, 14, 1, 0, 400_000, 600),
    (2, 4, 1, 0, 200_000, 14400),
    (32, 16, 0, 0, 400_000, 800),
    (32, 3, 0, 2, 800_000, 400),
]
