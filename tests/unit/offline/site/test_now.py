"""What is known of jobs that had not ended."""

from dataclasses import replace

import numpy as np
from kit.past_jobs import trace_of

from dardis.workload.trace import UNKNOWN
from offline.site.calendar import HOUR_S
from offline.site.now import as_known


def test_a_walltime_that_nobody_states_is_not_what_later_jobs_took():
    trace = trace_of([0, 10, 5_000], [100, UNKNOWN, 90_000], [1, 1, 1], wait=[0, 0, 0])
    trace = replace(trace, no_walltime=np.ones(3, dtype=bool))
    assert as_known(trace, 200).walltime.tolist() == [100, 382, 90_000]
    assert as_known(trace, 110).walltime.tolist()[1] == 202
    assert as_known(trace, 100).walltime.tolist()[1] == 182
    assert as_known(trace, 20).walltime.tolist()[1] == HOUR_S, "nothing had ended"
