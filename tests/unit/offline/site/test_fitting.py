"""What planning leaves out: jobs that the machine can never run, and it says so."""

import pytest
from kit.past_jobs import trace_of

from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from offline.site.fitting import trace_that_fits


def test_jobs_wider_than_the_machine_are_left_out_and_told():
    machine = Platform("m", (NodeGroup("n", 2, {"cores": 8}),))
    trace = trace_of([0, 1, 2], [60] * 3, [16, 17, 1])
    kept, note = trace_that_fits(trace, machine)
    assert kept.procs.tolist() == [16, 1]
    assert "1 jobs of more cores than the 16" in note
    assert trace_that_fits(kept, machine) == (kept, None)
    with pytest.raises(InputError, match="no job fits"):
        trace_that_fits(trace.take(trace.procs > 16), machine)
