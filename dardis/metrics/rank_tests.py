"""Ranks and paired tests over cases (Demsar, JMLR 7, 2006)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from dardis.metrics.catalogue import Better, metric_of
from dardis.metrics.comparison_rows import ResultRow, by_trace, can_rank, is_seeded
from dardis.model.arrays import Floats
from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable, FilledTable

LEVEL: Final = 0.05
LEAST_CASES: Final = 6
"""Fewest with a p of Wilcoxon's test below LEVEL."""


@dataclass(frozen=True)
class Ranking:
    """Mean ranks (1: best), Friedman's test, Nemenyi's critical difference."""

    labels: tuple[str, ...]
    cases: int
    ranks: tuple[float, ...]
    chi2: float
    p: float
    critical: float

    @property
    def groups(self) -> list[tuple[float, float]]:
        """Extreme ranks of groups without shown differences."""
        if self.p >= LEVEL:
            return [(min(self.ranks), max(self.ranks))]
        found: list[tuple[float, float]] = []
        for rank in sorted(self.ranks):
            near = [other for other in self.ranks if 0 <= other - rank < self.critical]
            if len(near) > 1 and (not found or max(near) > found[-1][1]):
                found.append((rank, max(near)))
        return found


@dataclass(frozen=True)
class PairTest:
    """Wilcoxon's signed-rank test. `effect`: 1 if `first` is always better."""

    first: str
    other: str
    wins: int
    losses: int
    effect: float
    p: float
    p_holm: float

    @property
    def differs(self) -> bool:
        """Whether a difference is shown."""
        return self.p_holm < LEVEL


@dataclass(frozen=True)
class MetricTests:
    """Tests of a metric."""

    key: str
    cases: int
    ranking: Ranking | None
    pairs: tuple[PairTest, ...]
    notes: tuple[str, ...]


def metric_tests(lines: Sequence[ResultRow], key: str) -> MetricTests:
    """Test all dispatchers over traces and draws, and over seeds if all schedules depend on them."""
    ours = [line for line in lines if not line.is_recorded]
    labels = [*dict.fromkeys(line.label for line in ours)]
    fixed = [*dict.fromkeys(line.label for line in ours if not is_seeded(line))]
    values, notes = [], []
    for trace, group in by_trace(ours).items():
        if not can_rank(group, key):
            notes.append(f"{trace} gives no case: its figures are not comparable or cover different jobs.")
            continue
        found = [line.by_case(key, by_seed=not fixed) for line in group]
        values += [[of[case] for of in found] for case in found[0] if all(case in of for of in found)]
    if fixed and len({run.seed for line in ours for run in line.done}) > 1:
        notes.append(f"Seeds are averaged, not cases: without effect on {', '.join(fixed)}.")
    table = np.array(values, dtype=np.float64).reshape(len(values), len(labels))
    if metric_of(key).better is Better.MORE:
        table = -table
    reason = _missing(table)
    if reason:
        return MetricTests(key, len(values), None, (), (*notes, f"No tests: {reason}."))
    pairs = pair_tests(labels, table)
    if len(labels) < 3:
        notes.append("No ranks: two dispatchers; Friedman's test needs three.")
        return MetricTests(key, len(values), None, pairs, tuple(notes))
    return MetricTests(key, len(values), rank(labels, table), pairs, tuple(notes))


def _missing(table: Floats) -> str:
    cases, labels = table.shape
    if labels < 2:
        return "one dispatcher; tests need two"
    if cases < LEAST_CASES:
        return f"{cases} {'case' if cases == 1 else 'cases'}; tests need {LEAST_CASES}"
    return "" if (table != table[:, :1]).any() else "all figures are equal"


def rank(labels: Sequence[str], table: Floats) -> Ranking:
    """Rank three or more; `table` (cases, dispatchers), less is better."""
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    cases, count = table.shape
    found = friedmanchisquare(*table.T)
    # Rounded, since the quantile is a numerical integral.
    quantile = round(float(studentized_range.ppf(1 - LEVEL, count, np.inf)), 6) / 2**0.5
    critical = quantile * (count * (count + 1) / (6 * cases)) ** 0.5
    ranks = rankdata(table, axis=1).mean(axis=0).tolist()
    return Ranking(tuple(labels), cases, tuple(ranks), float(found.statistic), float(found.pvalue), critical)


def pair_tests(labels: Sequence[str], table: Floats) -> tuple[PairTest, ...]:
    """Test all pairs."""
    from scipy.stats import rankdata, wilcoxon

    places = [*combinations(range(len(labels)), 2)]
    gains = [table[:, other] - table[:, first] for first, other in places]
    p = [float(wilcoxon(gain, zero_method="zsplit").pvalue) if gain.any() else 1.0 for gain in gains]
    ranks = [rankdata(np.abs(gain)) for gain in gains]
    return tuple(
        PairTest(
            labels[first], labels[other], int((gain > 0).sum()), int((gain < 0).sum()),
            float((np.sign(gain) * of).sum() / of.sum()), raw, corrected,
        )
        for (first, other), gain, of, raw, corrected in zip(places, gains, ranks, p, holm(p), strict=True)
    )  # fmt: skip


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction."""
    order = np.argsort(p, kind="stable")
    steps = np.array(p)[order] * np.arange(len(p), 0, -1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found.tolist()


_METRIC: Final = Column("figure", WORD, "key of the metric")
_CASES: Final = Column("cases", WHOLE, "cases: traces, draws and seeds")
RANKS: Final = CsvTable(
    "ranks.csv",
    _METRIC,
    Column("dispatcher", TEXT, "label of the dispatcher"),
    _CASES,
    Column("mean_rank", REAL, "mean rank over the cases, 1 is best"),
    Column("friedman_chi2", REAL, "statistic of Friedman's test of all dispatchers"),
    Column("friedman_p", REAL, "its p value"),
    Column("critical_difference", REAL, "Nemenyi's critical difference of mean ranks at 5 %"),
)
PAIRS: Final = CsvTable(
    "pairs.csv",
    _METRIC,
    Column("dispatcher", TEXT, "label of the dispatcher"),
    Column("other", TEXT, "label of the other dispatcher"),
    _CASES,
    Column("wins", WHOLE, "cases in which the dispatcher is better"),
    Column("losses", WHOLE, "cases in which the other is better"),
    Column("effect", REAL, "matched-pairs rank-biserial correlation: 1 if always better, −1 if the other always is"),
    Column("p", REAL, "p value of Wilcoxon's signed-rank test (two-sided, zeros split)"),
    Column("p_holm", REAL, "p value with Holm's correction for all pairs of the metric"),
    Column("differs", WORD, "`yes` if `p_holm` is below 0.05"),
)


def rank_tables(tests: Sequence[MetricTests]) -> list[FilledTable]:
    """`ranks.csv` and `pairs.csv`."""
    return [FilledTable(RANKS, _rank_rows(tests)), FilledTable(PAIRS, _pair_rows(tests))]


def _rank_rows(tests: Sequence[MetricTests]) -> Iterator[list[object]]:
    for test in tests:
        if (found := test.ranking) is not None:
            for label, mean in zip(found.labels, found.ranks, strict=True):
                yield [test.key, label, found.cases, mean, found.chi2, found.p, found.critical]


def _pair_rows(tests: Sequence[MetricTests]) -> Iterator[list[object]]:
    for test in tests:
        for one in test.pairs:
            figures = [one.wins, one.losses, one.effect, one.p, one.p_holm, "yes" if one.differs else "no"]
            yield [test.key, one.first, one.other, test.cases, *figures]
