"""Judging the claims of scripts/lab/run thesis_5."""

import pytest

from scripts.lab.kit.claims import DECISION, Finding, Judge
from scripts.lab.thesis_5 import page


def test_the_thesis_tables_agree_with_its_text_where_they_do():
    found = list(page.judged(page.printed(), page.RULES).values())
    assert {finding.verdict for finding in found} == {"holds"}
    assert [found[place].shown for place in (0, -2, -1)] == ["41 % less", "all of it", "223 times"]


def figures(**changed):
    """Figures in which each of a few dispatchers has 100 of everything, unless told otherwise."""
    names = (*page.SET_UPS, *page.RULES)
    found = {name: dict.fromkeys((*page.COLUMNS, DECISION), 100.0) for name in names}
    for name, some in changed.items():
        found[name.replace("_", "-")] |= some
    return found


@pytest.mark.parametrize(
    ("own", "shown", "verdict"),
    [(59.0, "41 % less", "holds"), (90.0, "10 % less", "holds in direction"), (110.0, "10 % more", "does not hold")],
)
def test_a_saving_is_judged_by_the_least(own, shown, verdict):
    judge = Judge(figures(dardis_throughput={"makespan": own}), page.SET_UPS, page.RULES)
    assert judge(["saves", "dardis-throughput", "makespan", 0.41]) == Finding(shown, verdict)
