"""evalys reads our `jobs.csv`.

evalys 4.0.7 installs beside pandas 3.1 and reads the file, rejected jobs included; where it is not installed the
columns and their types are still checked by `test_table.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dardis.metrics.table import write_jobs
from dardis.model.job import Status

jobset = pytest.importorskip("evalys.jobset", reason="evalys is not installed")


@pytest.mark.filterwarnings("ignore")  # its calls that pandas deprecates are its own
def test_evalys_sees_the_same_jobs(tmp_path: Path, schedule_of: Any) -> None:
    rows = [
        {"placed": {0: 1, 1: 1}, "finish": 10},
        {"placed": {2: 2, 3: 2}, "submit": 4, "start": 10, "finish": 15},
        {"status": Status.REJECTED, "submit": 5, "units": 99},
    ]
    write_jobs(schedule_of(("cores",), rows), tmp_path / "jobs.csv", "trace")
    jobs = jobset.JobSet.from_csv(str(tmp_path / "jobs.csv"))
    assert jobs.MaxProcs == 4
    assert jobs.df["proc_alloc"].tolist() == [2, 2, 0]
    assert jobs.df["waiting_time"].tolist()[:2] == [0, 6]
    assert jobs.utilisation["load"].to_dict() == {0: 2, 10: 2, 15: 0}
