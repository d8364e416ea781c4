"""Files of events: what is read, and mistakes with their places."""

import pytest
from kit.error_lines import line_of

from dardis.config.events_file import load_events
from dardis.model.events import JobChanged, NodesDown, NodesUp, QueueStarted, QueueStopped, ReservationMade
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.queues import Queue, Reservation

SITE = Platform(
    "four", (NodeGroup("n", 4, {"cores": 4}),), queues=(Queue("a"), Queue("r"), Queue("s")),
    reservations=(Reservation("x", "s", (3,), ((0, 100),)),), maintenance=(Maintenance((2,), 500, 600),),
)  # fmt: skip
MADE = 'at_s = 50\nreservation = { name = "c", queue = "r", nodes = "0-1", start_s = 60, end_s = 99 }'


def load(path, *events, site=SITE):
    file = path / "e.toml"
    file.write_text("".join(f"[[events]]\n{text}\n" for text in events))
    return load_events(file, site, {1, 7}, 10)


def test_every_kind_of_event_is_read(tmp_path):
    story = load(
        tmp_path, 'at_s = 400\nstart_queue = "a"', 'at_s = 20\nstop_queue = "a"', "at_s = 30\njob = 7\nwalltime_s = 60",
        'at_s = 30\njob = 7\nqueue = "a"', 'at_s = 40\nnodes_down = "0 2-3"', "at_s = 60\nnodes_up = [3]", MADE,
    )  # fmt: skip
    assert story.events == (
        QueueStopped(20, "a"), JobChanged(30, 7, 60), JobChanged(30, 7, None, "a"), NodesDown(40, (0, 2, 3)),
        ReservationMade(50, "c"), NodesUp(60, (3,)), QueueStarted(400, "a"),
    )  # fmt: skip
    assert story.platform.reservations == (*SITE.reservations, Reservation("c", "r", (0, 1), ((60, 99),), stands=False))


@pytest.mark.parametrize(("events", "said"), [
    (['at_s = 9\nstop_queue = "a"'], ["events[0].at_s", "before the trace begins", "10 s or later"]),
    (["at_s = 20"], ["events[0]", "no event", "stop_queue, start_queue, job"]),
    (['at_s = 20\nstop_queue = "a"\njob = 1\nwalltime_s = 5'], ["events[0]", "stop_queue and job"]),
    (["at_s = 20\njob = 1"], ["events[0]", "only job", "walltime_s or queue"]),
    (['at_s = 20\nnodes_down = "1"\nqueue = "a"'], ["events[0]", "only nodes_down, queue"]),
    (['at_s = 20\nstop_queue = "b"'], ["events[0].stop_queue", "'b' is not declared", "one of a, r, s"]),
    (['at_s = 20\njob = 1\nqueue = "b"'], ["events[0].queue", "'b' is not declared"]),
    (["at_s = 20\njob = 2\nwalltime_s = 5"], ["events[0].job", "unknown job 2"]),
    (["at_s = 20\njob = 1\nwalltime_s = 0"], ["events[0].walltime_s", "0"]),
    (["at_s = 20\nnodes_down = [4]"], ["events[0].nodes_down", "unknown node 4", "0 to 3"]),
    (["at_s = 20\nnodes_down = [1]", "at_s = 30\nnodes_down = [0, 1]"], ["events[1]", "node 1 is already down"]),
    (["at_s = 20\nnodes_up = [1]"], ["events[0].nodes_up", "node 1 is not down at this time"]),
    (["at_s = 20\nnodes_up = [1]", "at_s = 15\nnodes_down = [0]"], ["events[0].nodes_up", "node 1"]),
    (["at_s = 20\nnodes_down = [1]", "at_s = 20\nnodes_up = [1]"], ["events[1].nodes_up", "at the same time"]),
    (['at_s = 20\nstart_queue = "a"'], ["events[0].start_queue", "is not stopped"]),
    (['at_s = 20\nstop_queue = "a"'] * 2, ["events[1].stop_queue", "is already stopped"]),
    ([MADE.replace("at_s = 50", "at_s = 70")], ["events[0].reservation.start_s", "before the event"]),
    ([MADE.replace('"c"', '"x"')], ["events[0].reservation.name", "'x' again"]),
    ([MADE.replace('"r"', '"s"')], ["events[0].reservation.queue", "'s' again"]),
    ([MADE.replace('"r"', '"b"')], ["events[0].reservation.queue", "unknown queue 'b'"]),
    ([MADE.replace("0-1", "3")], ["events[0].reservation", "8 cores of node 3 at 60 s by x, c"]),
    ([MADE.replace("0-1", "2").replace("99", "501")], ["events[0].reservation.nodes", "in maintenance"]),
    ([MADE.replace("end_s = 99", "end_s = 60")], ["events[0].reservation", "not after"]),
    (["at_s = 20\nstop = 5"], ["events[0].stop", "unknown key"]),
])  # fmt: skip
def test_event_file_errors_are_reported_with_position(tmp_path, events, said):
    line = line_of(load, tmp_path, *events)
    assert all(part in line for part in ["e.toml", *said]), line
