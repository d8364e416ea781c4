"""A comparison takes no run for done whose metrics make no sense."""

import json

import pytest

from dardis.comparison.state import _NEEDED, _read_back


@pytest.mark.parametrize("figure", ['"a"', "NaN", "true", "[" * 9999, "9" * 5000])
def test_figures_that_are_none_are_as_good_as_none(tmp_path, figure):
    for name in _NEEDED:
        (tmp_path / name).write_text("")
    (tmp_path / "run.json").write_text(json.dumps({"deadlines": "none"}))
    (tmp_path / "metrics.json").write_text('{"jobs": 7, "mean_wait_s": 1.5}')
    assert _read_back(tmp_path) is not None
    (tmp_path / "metrics.json").write_text('{"jobs": 7, "mean_wait_s": ' + figure + "}")
    assert _read_back(tmp_path) is None
