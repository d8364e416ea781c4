"""The bench's rows of trees over ranks: what is divided by what, turn by turn."""

import json

import pytest

from scripts.bench_peers import over_ranks

TAKEN = {
    "question": [0.012, 0.02], "tree": [0.002, 0.004], "collective": [0.001, 0.001], "leaf": [0.0002, 0.0004],
    "relay": [0.001, 0.001], "peak_mib": [90, 91],
}  # fmt: skip


def test_a_question_is_compared_turn_by_turn(monkeypatch):
    launched = []
    monkeypatch.setattr(over_ranks, "RANKS", (2, 5))
    monkeypatch.setattr(over_ranks, "output_of", lambda command: launched.append(command) or json.dumps(TAKEN))
    rows = over_ranks.over_ranks(2)
    assert [command[command.index("-n") + 1] for command in launched] == ["2", "5"]
    assert [command[-1] for command in launched] == ["2", "2"]
    tree, collective = rows[-2:]
    assert (tree.ratio.least, tree.ratio.most) == pytest.approx((5, 6))
    assert (collective.ratio.least, collective.ratio.most) == pytest.approx((12, 20))
    assert [row.goal for row in rows] == ["", "", "<= 3", "<= 8"]
    assert tree.cpu_s.median == pytest.approx(0.0003)
    assert tree.notes == {
        "question_ms": 16, "question_ms_least": 12, "question_ms_most": 20, "bare_ms": 3, "bare_ms_least": 2,
        "bare_ms_most": 4, "relay_cpu_ms": 1,
    }  # fmt: skip
