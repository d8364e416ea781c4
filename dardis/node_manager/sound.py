"""Whether what a node manager is told makes sense: kernels look at whatever numbers say, however far away it is."""

from __future__ import annotations

from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.wire import messages as say

Question = say.Ask | say.Seek | say.Improve | say.Bind


def see_sound(question: Question, first: int, last: int, kinds: int) -> None:
    """Raise ProtocolError for a question that makes no sense to nodes `[first, last)` of so many kinds."""
    match question:
        case say.Ask():
            sound = _ask(question, first, last, kinds)
        case say.Seek(request=request):
            sound = question.units > 0 and question.walltime > 0 and question.span > 0 and len(request) == kinds
            sound = sound and min(request.tolist()) >= 0
        case say.Improve():
            columns = question.job, question.attempt, question.first, question.last, question.units, question.groups
            sound = _as_many(len(question.job), columns, question.request, kinds) and question.units.min() > 0
        case say.Bind(jobs=jobs):
            sound = jobs.ndim == 2 and jobs.shape[1] == say.BIND_COLUMNS + kinds
            sound = sound and jobs[:, [say.BIND_WALLTIME, say.BIND_UNITS]].min(initial=1) > 0
            sound = sound and jobs[:, say.BIND_COLUMNS :].min(initial=0) >= 0
    if not sound:
        raise ProtocolError(f"a {type(question).__name__} that makes no sense")


def _as_many(jobs: int, columns: tuple[Ints, ...], request: Ints, kinds: int) -> bool:
    """Whether each column is of so many jobs, and none asks for less than nothing."""
    whole = jobs > 0 and all(len(column) == jobs for column in columns) and request.shape == (jobs, kinds)
    return whole and bool(request.min() >= 0)


def _ask(ask: say.Ask, first: int, last: int, kinds: int) -> bool:
    jobs, offset, sample = len(ask.job), ask.sample_offset, ask.sample
    *columns, request = ask.columns
    starts = (ask.start,) if ask.want == say.CANDIDATES else ()
    sound = _as_many(jobs, (*columns, *starts), request, kinds) and ask.grain > 0
    sound = sound and bool(ask.units.min() > 0 and ask.walltime.min() > 0)
    if sound and len(offset):
        sound = len(offset) == jobs + 1 and offset[0] == 0 and offset[-1] == len(sample)
        sound = sound and bool((offset[1:] >= offset[:-1]).all())
        sound = sound and (len(sample) == 0 or (sample.min() >= first and sample.max() < last))
    # Whoever asks on for some of the jobs says it of all.
    return sound and (len(ask.needed) == 0 or len(ask.needed) >= jobs)
