"""What thesis chapter 3 prints: queue times (table 3.4), use (3.5) and what its batches are made of (3.6)."""

from __future__ import annotations

from typing import Final

MODELS: Final = ("MKS", "MKS WT/NL", "NL", "NL MKS/WT", "WT", "WT MKS/NL")
"""Pure models and composites, by what they minimise: makespan, number of late jobs, weighted tardiness."""
BEST: Final = "MKS WT/NL"
"""The model that the thesis sets against PBS on all three batches."""
PBS: Final = "PBS"
QUEUES: Final = {"Debug": ("debug",), "Parallel": ("parallel",), "Longpar": ("longpar", "np_longpar")}
"""The thesis's queues, and what the trace calls them."""

TABLE_3_4: Final = {
    "MKS": (187.14, 4.77, 161.81, 0.01),
    "MKS WT/NL": (165.98, 0.10, 160.04, 0.01),
    "NL": (722.04, 2.30, 316.92, 369.14),
    "NL MKS/WT": (201.32, 0.31, 145.59, 18.99),
    "WT": (662.18, 2.16, 203.50, 446.34),
    "WT MKS/NL": (861.81, 0.76, 278.60, 572.29),
    PBS: (6840.81, 17.34, 2825.05, 3600.40),
}
"""Average queue time of all jobs, and by queue, s.

That of all is above that of every queue: by queue it is the part of the mean, the queue's waits over all jobs.
"""
TABLE_3_5: Final = {
    "MKS": (678.81, 45.21, 3.99, 66.0, 121.68),
    "MKS WT/NL": (701.92, 45.61, 3.99, 68.0, 121.92),
    "NL": (614.75, 45.89, 3.99, 60.0, 116.58),
    "NL MKS/WT": (670.75, 45.00, 3.99, 65.0, 121.21),
    "WT": (671.41, 47.67, 3.98, 66.0, 120.50),
    "WT MKS/NL": (620.45, 41.72, 3.99, 61.0, 119.07),
    PBS: (447.98, 29.16, 0.33, 46.0, 63.04),
}
"""Mean cores, GPUs and MICs in use, cores in %, and jobs that run."""

MADE_OF: Final = (
    "jobs", "debug", "parallel", "longpar", "with GPUs", "with MICs",
    "1 core", "2 cores", "4 cores", "5 cores", "6 cores", "8 cores", "above 8",
)  # fmt: skip
CORES: Final = (1, 2, 4, 5, 6, 8)
TABLE_3_6: Final = {
    "BATCH1": (437, 237, 130, 62, 85, 3, 298, 2, 1, 1, 6, 59, 70),
    "BATCH2": (434, 133, 240, 25, 203, 1, 197, 73, 4, 1, 2, 56, 101),
    "BATCH3": (619, 127, 415, 12, 224, 1, 258, 38, 7, 0, 3, 187, 126),
}
"""Jobs of each batch, by queue, accelerator and cores of the whole job."""
