"""What `dardis scale` writes of an experiment: a row of scale.csv, and scale.json."""

from __future__ import annotations

from typing import Any

RECORD: dict[str, Any] = {
    "dardis_version": "0", "command": ["dardis", "scale"], "arguments": {"jobs": 9, "dispatcher": "d", "hosts_of": 64},
    "networks": {}, "cores": 2, "load": 0.5, "ranks": 4,
    "launch_s": 1.5, "versions": {"python": "3", "mpi": None}, "started_utc": "now",
}  # fmt: skip
ONE: dict[str, Any] = {
    "nodes": 1000, "ranks": 1, "hosts": 16, "task_managers": 1, "overlap": 1, "arity": "flat", "sample": "all",
    "window_s": 100, "reservations": 4, "dispatcher": "d", "seed": 1, "jobs": 9, "repeat": 1, "completed": 9,
    "rounds": 9, "waves": "", "job_ns": "",
    "cpu_ns_per_node_job": 81.5, "bytes_per_node": 450.0, "message_bytes_per_node_job": 52.0,
    "root_message_bytes": 4000, "chain": 36, "wall_s_per_round": 0.001, "exchange_s_median": 0.001, "jobs_per_s": 900.0,
    "mpi_share": "", "collective_s_per_round": "", "predicted_s_per_round": "", "startup_s": 0.1, "node_ns": "",
    "message_ns": "", "select_ns": "", "ask_bytes": 174.0, "answer_bytes": 3000.0,
    "schedule_digest": "0123456789abcdef",
}  # fmt: skip
