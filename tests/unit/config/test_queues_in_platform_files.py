"""Queues and prime time in platform files: what is read, and mistakes with their places."""

import pytest

from dardis.config.platform import load_platform
from dardis.model.errors import InputError
from dardis.model.queues import Hours, PrimeTime, Queue

NODES = (
    'name = "p"\n[[nodes]]\ncount = 2\nprefix = "a"\nresources = { cores = 8 }\n'
    '[[nodes]]\ncount = 2\nprefix = "b"\nresources = { cores = 8, gpu = 2 }\n'
)
PRIME = '[prime]\nstart = "08:00"\nend = "18:30"\n'
QUEUE = '[[queues]]\nname = "q"\n'


def load(path, text):
    file = path / "p.toml"
    file.write_text(NODES + text)
    return load_platform(file)


def test_all_keys(tmp_path):
    platform = load(
        tmp_path,
        PRIME + 'days = ["sun", "mon"]\ntimezone = "Europe/Rome"\n' + QUEUE
        + 'expected_wait_s = 60\nlongest_wait_s = 3600\npriority = -3\ngroups = ["b"]\nmax_units = 32\n'
        'max_walltime_s = 21600\nmax_job = { cores = 512, gpu = 64 }\nhours = "non-prime"\n'
        "stopped = [{ start_s = 0, end_s = 9 }, { start_s = 20, end_s = 30 }]\n"
        '[[queues]]\nname = "r"\n',
    )  # fmt: skip
    most = {"cores": 512, "gpu": 64}
    first = Queue("q", 60, 3600, -3, (1,), 32, 21_600, most, Hours.NON_PRIME, ((0, 9), (20, 30)))
    assert platform.queues == (first, Queue("r"))
    assert platform.prime == PrimeTime(8 * 3600, 18 * 3600 + 1800, (0, 6), "Europe/Rome")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (QUEUE + QUEUE, ["queues[1].name", "queue 'q' again"]),
        (QUEUE + 'groups = ["c"]\n', ["queues[0].groups", "no node group 'c'", "one of a, b"]),
        (QUEUE + 'hours = "prime"\n', ["queues[0].hours", "no prime time", "[prime]"]),
        (QUEUE + 'hours = "night"\n', ["queues[0].hours", "'night'", "any, prime, non-prime"]),
        (QUEUE + "max_units = 0\n", ["queues[0].max_units", "0"]),
        (QUEUE + "max_job = { Cores = 5 }\n", ["queues[0].max_job", "'Cores'"]),
        (QUEUE + "max_job = { mic = 5 }\n", ["queues[0].max_job", "no node has 'mic'", "cores, gpu"]),
        (QUEUE + "longest_wait = 5\n", ["queues[0].longest_wait", "unknown key", "longest_wait_s"]),
        (QUEUE + "stopped = [{ start_s = 5, end_s = 5 }]\n", ["queues[0].stopped[0]", "not after"]),
        (QUEUE + "priority = 1.5\n", ["queues[0].priority", "1.5"]),
        ('[prime]\nstart = "8:00"\nend = "18:00"\n', ["prime.start", "'8:00'", "08:00"]),
        ('[prime]\nstart = "08:60"\nend = "18:00"\n', ["prime.start", "'08:60'"]),
        ('[prime]\nstart = "08:00"\nend = "08:00"\n', ["prime", "the same"]),
        ('[prime]\nstart = "08:00"\n', ["prime.end", "missing"]),
        (PRIME + 'days = ["monday"]\n', ["prime.days[0]", "'monday'", "mon, tue"]),
        (PRIME + 'timezone = "Rome"\n', ["prime.timezone", "'Rome'", "Europe/Rome"]),
        (PRIME + 'timezone = "../x"\n', ["prime.timezone", "'../x'"]),
    ],
)
def test_mistakes(tmp_path, text, said):
    with pytest.raises(InputError) as mistake:
        load(tmp_path, text)
    assert str(tmp_path / "p.toml") in str(mistake.value)
    assert "\n" not in str(mistake.value)
    for part in said:
        assert part in str(mistake.value)
