"""The door to the clocks."""

import time

from dardis.engine.clock import cpu_timed


def test_what_work_takes_of_the_processor_is_told_with_its_answer():
    def work():
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        return "done"

    answer, cpu_s = cpu_timed(work)
    assert answer == "done"
    assert 0.02 <= cpu_s < 1
    assert cpu_timed(lambda: time.sleep(0.1))[1] < 0.05
