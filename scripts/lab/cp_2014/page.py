"""Writes the thesis's tables 3.4 to 3.6 with ours beside them, all batches against PBS, and the solver's work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import FRAME_S, GPU, Batch, distance, made_of
from scripts.lab.cp_2014.figures import DELTAS, POOLS, RULES, BatchResult, QueueTimes, Use, label_of, queue_times, use
from scripts.lab.kit.page import NOTHING, FigureTable, markdown, paired_head

Row = tuple[object, ...]


@dataclass(frozen=True)
class Outcome:
    """A batch and what everybody made of it, by label; who has not been run is absent."""

    batch: Batch
    done: Mapping[str, BatchResult]

    def queue_times(self, label: str) -> QueueTimes:
        """Of one."""
        return queue_times(self.batch, self.done[label])

    def use(self, label: str) -> Use:
        """Of one."""
        return use(self.batch, self.done[label])

    def too_large(self, label: str) -> str:
        """Share of decisions whose model exceeds the largest size, %: our own search answers them."""
        metrics = self.done[label].metrics if label in self.done else {}
        return f"{100 * metrics[TOO_LARGE] / metrics[SOLVER[0]]:.0f}" if metrics.get(SOLVER[0]) else NOTHING


def tables_of(outcomes: Sequence[Outcome]) -> dict[str, FigureTable]:
    """All tables, named as in docs/reproduction."""
    tables = (
        _batches(outcomes), _queue_times(outcomes[0]), _use(outcomes[0]), _all(outcomes), _bounds(outcomes),
        _work(outcomes),
    )  # fmt: skip
    return {one.name: one for one in tables}


def page(outcomes: Sequence[Outcome], most_places: int) -> str:
    """The whole page as Markdown."""
    first = outcomes[0]
    of = {name: one.lines() for name, one in tables_of(outcomes).items()}
    title = f"{len(outcomes)} batches of {FRAME_S // 3600} hours of Eurora-2014; models of up to {most_places:,} places"
    parts = [
        ["# Thesis chapter 3: PCP'14 on Eurora", "", title],
        ["## Table 3.6: the batches", "", *of["cp_2014_batches"], "", *_frames(outcomes)],
        [f"## Table 3.4: queue times, s ({first.batch.name})", "", *of["cp_2014_waits"], "", _PARTS],
        [f"## Table 3.5: use ({first.batch.name})", "", *of["cp_2014_use"], "", _USE],
        ["## All batches", "", *of["cp_2014_all"], "", _IN_FRAME],
        ["## How tight the bounds are", "", *of["cp_2014_bounds"]],
        ["## The solver's work", "", *of["cp_2014_solver"], "", _WORK],
    ]
    return markdown(parts)


_PARTS = (
    "Left the thesis, right ours. By queue: that queue's waits over all jobs, since only so can the thesis's mean of "
    "all lie above that of each queue. Until the frame ends: what is waited after it is left out. Too large: decisions "
    "whose model exceeds the largest size, so that our own search answers and not the solver."
)
_USE = "Left the thesis, right ours: means over the two hours, with those who ran when they began."
_IN_FRAME = (
    "Nobody comes after the frame here, as others did under PBS: so waits are compared up to its end as well. Late: "
    "waited for longer than expected."
)
_WORK = (
    "Decisions that were put as a problem; of these the solver was asked for some, and some models were too large: "
    "there our own answer stands. Proven: of the last model of a decision. CPU of the solver, s."
)


_SHARE_HEAD = "decisions with too large a model (%)"


def _pairs(theirs: Sequence[float], ours: Sequence[float], forms: Sequence[str]) -> list[str]:
    """Theirs and ours of each figure; those of whom nothing is known are empty."""
    nothing: Sequence[float | None] = [None] * len(forms)
    known = [of or nothing for of in (theirs, ours)]
    return [
        NOTHING if value is None else form.format(value)
        for *pair, form in zip(*known, forms, strict=True)
        for value in pair
    ]


def _batches(outcomes: Sequence[Outcome]) -> FigureTable:
    found = [(paper.TABLE_3_6[one.batch.name], made_of(one.batch.counted)) for one in outcomes]
    rows = []
    for place, name in enumerate(paper.MADE_OF):
        rows.append([name, *(str(counts[place]) for pair in found for counts in pair)])
    for what, rule in (("ran at the beginning", _ran), ("waited at the beginning", _waited)):
        rows.append([what, *(cell for one in outcomes for cell in (NOTHING, str(rule(one.batch))))])
    for label in (paper.BEST, POOLS):
        shares = [cell for one in outcomes for cell in (NOTHING, one.too_large(label))]
        rows.append([f"{_SHARE_HEAD}: {label}", *shares])
    return FigureTable("cp_2014_batches", ["jobs", *paired_head([one.batch.name for one in outcomes])], rows)


def _ran(batch: Batch) -> int:
    return int(batch.running.sum())


def _waited(batch: Batch) -> int:
    return int((batch.counted.submit == batch.begin).sum())


def _frames(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        batch = one.batch
        begin = datetime.fromtimestamp(batch.begin, UTC)
        unlike = distance(made_of(batch.counted), paper.TABLE_3_6[batch.name])
        yield (
            f"- {batch.name}: from {begin:%Y-%m-%d %H:%M}; {_ran(batch)} jobs ran then and "
            f"{_waited(batch)} waited; rows differ by {unlike:.2f} jobs a job in all."
        )


def _queue_times(of: Outcome) -> FigureTable:
    rows = []
    for label in (*paper.MODELS, paper.PBS, *RULES):
        ours = of.queue_times(label) if label in of.done else None
        values = () if ours is None else (ours.mean, *ours.parts)
        cells = _pairs(paper.TABLE_3_4.get(label, ()), values, ["{:.2f}"] * 4)
        rows.append([label, *cells, NOTHING if ours is None else f"{ours.in_frame:.0f}", of.too_large(label)])
    head = paired_head(["mean wait (s)", *(f"part of {name.lower()} (s)" for name in paper.QUEUES)])
    inside = "mean wait within the two hours (s): ours"
    return FigureTable("cp_2014_waits", ["model or rule", *head, inside, _SHARE_HEAD], rows)


def _use(of: Outcome) -> FigureTable:
    rows = []
    for label in (*paper.MODELS, paper.PBS, *RULES):
        ours = of.use(label) if label in of.done else None
        values = () if ours is None else (ours.cores, ours.gpus, ours.mics, ours.share, ours.jobs)
        forms = ("{:.1f}", "{:.1f}", "{:.2f}", "{:.0f}", "{:.1f}")
        rows.append([label, *_pairs(paper.TABLE_3_5.get(label, ()), values, forms), of.too_large(label)])
    head = paired_head(["cores", "GPUs", "MICs", "cores (%)", "running jobs"])
    return FigureTable("cp_2014_use", ["model or rule", *head, _SHARE_HEAD], rows)


def _all(outcomes: Sequence[Outcome]) -> FigureTable:
    rows = []
    for of in outcomes:
        for label in (paper.BEST, POOLS, paper.PBS, *RULES):
            if label in of.done:
                waits, used = of.queue_times(label), of.use(label)
                rows.append([
                    of.batch.name, label, f"{waits.mean:.0f}", f"{waits.in_frame:.0f}", str(waits.late),
                    f"{used.cores:.0f}", f"{used.gpus:.1f}", f"{used.jobs:.1f}", of.too_large(label),
                ])  # fmt: skip
    head = [
        "batch", "model or rule", "mean wait (s)", "mean wait within the two hours (s)", "late jobs", "cores", "GPUs",
        "running jobs", _SHARE_HEAD,
    ]  # fmt: skip
    return FigureTable("cp_2014_all", head, rows, left=2)


def _bounds(outcomes: Sequence[Outcome]) -> FigureTable:
    labels = {delta: label_of(paper.BEST, delta) for delta in (1.0, *DELTAS)}
    rows = []
    for of in outcomes:
        for delta, label in labels.items():
            if label in of.done:
                waits, used = of.queue_times(label), of.use(label)
                rows.append([
                    of.batch.name, f"{delta:g}", f"{waits.mean:.0f}", f"{waits.in_frame:.0f}", str(waits.late),
                    f"{used.cores:.0f}",
                ])  # fmt: skip
    head = ["batch", "δ0 = δ1", "mean wait (s)", "mean wait within the two hours (s)", "late jobs", "cores"]
    return FigureTable("cp_2014_bounds", head, rows)


def table_of_thinned(outcomes: Sequence[Outcome]) -> FigureTable:
    """Mean waits of batches with fewer jobs with GPUs, by batch."""
    rows = []
    for of in outcomes:
        if paper.BEST in of.done:
            jobs = of.batch.counted
            asks = jobs.request[GPU] > 0
            wait = of.done[paper.BEST].start[~of.batch.running] - jobs.submit
            waits = of.queue_times(paper.BEST)
            rows.append([
                of.batch.name, str(len(jobs)), str(int(asks.sum())), f"{waits.mean:.0f}", f"{wait[asks].mean():.0f}",
                f"{wait[~asks].mean():.0f}", f"{waits.in_frame:.0f}", f"{of.queue_times(paper.PBS).mean:.0f}",
            ])  # fmt: skip
    head = [
        "batch", "jobs", "jobs with GPUs", "mean wait of MKS WT/NL (s)", "of jobs with GPUs (s)", "of other jobs (s)",
        "mean wait within the two hours (s)", "mean wait of PBS (s)",
    ]  # fmt: skip
    return FigureTable("cp_2014_thinned", head, rows)


TOO_LARGE = "solver_too_large"
SOLVER = ("solver_decisions", "solver_asked", "solver_proven", TOO_LARGE, "solver_gap_mean", "solver_cpu_s")
"""What metrics.json says of the solver."""


def _work(outcomes: Sequence[Outcome]) -> FigureTable:
    rows = []
    for of in outcomes:
        for label, done in of.done.items():
            if SOLVER[0] in done.metrics:
                *counts, gap, cpu_s = (done.metrics[key] for key in SOLVER)
                shown = NOTHING if gap is None else f"{100 * gap:.1f}"
                rows.append([of.batch.name, label, *map(str, counts), of.too_large(label), shown, f"{cpu_s:.1f}"])
    head = [
        "batch", "model", "decisions", "solver calls", "proven optimal", "models too large", _SHARE_HEAD, "gap (%)",
        "CPU of the solver (s)",
    ]  # fmt: skip
    return FigureTable("cp_2014_solver", head, rows, left=2)


HEAD = (
    "batch", "label", "mean_wait_s", *(f"{name.lower()}_part_s" for name in paper.QUEUES), "wait_in_frame_s",
    "late_jobs", "cores", "gpus", "mics", "jobs_running", *SOLVER,
)  # fmt: skip


def rows(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """All figures, a row a run, under `HEAD`."""
    for of in outcomes:
        for label, done in of.done.items():
            waits, used = of.queue_times(label), of.use(label)
            yield (
                of.batch.name, label, waits.mean, *waits.parts, waits.in_frame, waits.late, used.cores, used.gpus,
                used.mics, used.jobs, *(done.metrics.get(key, "") for key in SOLVER),
            )  # fmt: skip
