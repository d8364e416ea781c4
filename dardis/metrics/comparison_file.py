"""What a comparison found, in a file of its folder, so that its tables and report can be made again without a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from dardis.config.comparison_record import FOUND_FILE, FoundRecord
from dardis.config.toml_file import read_json
from dardis.metrics.comparison import Compared, Known, RunResult
from dardis.model.files import write_json


def write_found(folder: Path, compared: Compared, out: Path) -> None:
    """Write `found.json` into `folder`; the runs are named from `out`, the comparison's folder."""
    results = [asdict(result) | {"folder": result.folder.relative_to(out).as_posix()} for result in compared.results]
    write_json(folder / FOUND_FILE, asdict(compared) | {"results": results})


def read_found(out: Path) -> Compared:
    """What the comparison in `out` found. Raises InputError."""
    record = read_json(out / FOUND_FILE, FoundRecord)
    results = tuple(
        RunResult(
            **one.model_dump(exclude={"folder", "settings", "grid"}),
            folder=out / one.folder,
            settings=tuple(one.settings),
            grid=tuple(one.grid),
        )
        for one in record.results
    )
    known = tuple(Known(**one.model_dump()) for one in record.known)
    return Compared(results, record.pair, known, tuple(record.notes))
