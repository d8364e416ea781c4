"""PUE tables of cooling plants."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dardis.config.series_file import read_lines
from dardis.model.errors import InputError
from dardis.model.files import Read
from dardis.model.numbers import decimal_number
from dardis.model.pue_table import PueTable, RowChoice

_EXPECTED = "columns temp_c,500,1000,… (IT power in W) and a row for each temperature (°C) with the PUE of each column"
HIGHEST_PUE = 10.0


def load_pue_table(path: Path, rows: RowChoice = RowChoice.NEAREST, read: Read = Path.read_bytes) -> PueTable:
    """Read and check a PUE table. Raises InputError."""
    lines = read_lines(path, read)
    if len(lines) < 2 or lines[0][1][0].lower() != "temp_c":
        raise InputError(path, "not a PUE table", _EXPECTED)
    width = len(lines[0][1])
    it_w = _numbers(path, (lines[0][0], lines[0][1][1:]), width - 1)
    table = np.array([_numbers(path, line, width) for line in lines[1:]])
    for (line, _), pue in zip(lines[1:], table[:, 1:], strict=True):
        if (pue < 1).any() or (pue > HIGHEST_PUE).any():
            odd = pue[(pue < 1) | (pue > HIGHEST_PUE)][0]
            raise InputError(f"{path}:{line}", f"a PUE of {odd:g}", f"1 to {HIGHEST_PUE:g}, (IT + cooling) / IT")
    try:
        return PueTable(table[:, 0], np.array(it_w), table[:, 1:], rows, str(path))
    except ValueError as error:
        raise InputError(path, str(error), _EXPECTED) from None


def _numbers(path: Path, line: tuple[int, list[str]], width: int) -> list[float]:
    where, fields = line
    try:
        numbers = [decimal_number(field) for field in fields]
    except ValueError:
        raise InputError(f"{path}:{where}", f"{','.join(fields)[:60]!r}", "only numbers") from None
    if len(numbers) != width or width == 0:
        raise InputError(f"{path}:{where}", f"{len(numbers)} numbers", f"{width} as in the head")
    return numbers
