from hypothesis import given
from hypothesis import strategies as st

from dardis.engine.queue import EventQueue

few = st.integers(0, 3)
events = st.lists(st.tuples(few, few, few, few), max_size=12)


@given(events, events)
def test_events_come_by_time_then_priority_then_order(first, second):
    queue = EventQueue()
    for event in first[:2]:
        queue.put(*event)
    queue.fill(first[2:])
    for event in second:
        queue.put(*event)
    expected = sorted(first + second)
    for place, event in enumerate(expected):
        time, priority = event[:2]
        assert queue.next_time() == time
        assert queue.pop_before((time,)) is None
        assert queue.pop_before((time, priority)) is None
        assert (queue.pop() if place % 2 else queue.pop_before((time, priority + 1))) == event
    assert queue.next_time() is None
    assert queue.pop_before((99,)) is None
