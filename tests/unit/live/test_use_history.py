"""Use over a day: kept through restarts, thinned, and summed by hour."""

import random

import pytest

from dardis.live.use_history import BIN_S, FILE, FINE_S, KEPT_S, LONGEST_GAP_S, REPEAT_S, UseHistory, UseSample

NOW = 1_800_000_000


def sample(at, watts=100.0, cores=4, cap=None):
    return UseSample(at, watts, cores, cap, None, 3, 7)


def test_only_changes_and_repetitions_are_kept(tmp_path):
    history = UseHistory(tmp_path)
    assert history.add(sample(NOW))
    assert not history.add(sample(NOW, 200.0)), "one in a second"
    assert not history.add(sample(NOW + 1))
    assert history.add(sample(NOW + 2, 200.0))
    assert history.add(sample(NOW + 2 + REPEAT_S, 200.0))
    assert [one.unix_s - NOW for one in history.samples] == [0, 2, 2 + REPEAT_S]


def test_a_restart_finds_all_samples_and_leaves_damaged_lines_out(tmp_path):
    history = UseHistory(tmp_path)
    for at in range(5):
        history.add(sample(NOW + at, 100.5 + at, cap=None if at % 2 else 500))
    with (tmp_path / FILE).open("a") as file:
        file.write("damaged\n1,2\n,,,,,,\n180000")
    again = UseHistory(tmp_path)
    assert again.samples == history.samples
    assert UseHistory(tmp_path).samples == history.samples, "the file is whole again"


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path):
    history = UseHistory(tmp_path / "missing")
    assert history.add(sample(NOW))
    assert len(history.samples) == 1


def test_samples_are_bounded_in_number_and_age(tmp_path):
    """A change in each second of a day."""
    history = UseHistory(tmp_path)
    for at in range(KEPT_S + 5000):
        history._append(sample(NOW + at, 1000.0 + at % 2, cores=at % 5))
    assert len(history.samples) <= (FINE_S + 700) + (KEPT_S + 3600) // BIN_S
    hours = history.hours(NOW + KEPT_S + 5000)
    assert [hour.hours for hour in hours[1:-1]] == [1.0] * (len(hours) - 2)
    assert all(abs(hour.mean_w - 1000.5) < 0.01 for hour in hours)
    history._append(sample(NOW + 3 * KEPT_S))
    assert len(history.samples) == 1


@pytest.mark.parametrize("seed", range(20))
def test_means_keep_the_energy_of_each_hour(tmp_path, seed):
    """Samples at random times against the same without means."""
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    history, plain, at = UseHistory(tmp_path), UseHistory(tmp_path / "missing"), NOW + rng.randrange(3600)
    plain._coarsen = lambda _: None
    for _ in range(3000):
        one = sample(at, rng.choice([50.0, 75.0, 300.0]), cap=rng.choice([None, 400, 500]))
        history._append(one)
        plain._append(one)
        at += rng.choice([1, 1, 5, 30, 80])
    for mine, exact in zip(history.hours(at), plain.hours(at), strict=True):
        assert mine.unix_s == exact.unix_s
        assert mine.peak_w <= exact.peak_w
        assert mine.hours == pytest.approx(exact.hours, abs=0.01)
        assert mine.mean_w == pytest.approx(exact.mean_w, rel=0.02), "but for the first bin of the first hour"
    known = [one for one in history.samples if one.watts is not None and one.cap_watts is not None]
    assert known
    assert all(one.watts <= one.cap_watts for one in known), "use never exceeds a cap that it kept"


def test_samples_of_a_clock_that_ran_ahead_are_left_out(tmp_path):
    history = UseHistory(tmp_path)
    history.add(sample(NOW))
    history.add(sample(NOW + 500))
    assert not history.add(sample(NOW))
    assert history.add(sample(NOW + 1, 50.0))
    assert [one.unix_s for one in history.samples] == [NOW, NOW + 1]


@pytest.mark.parametrize("seed", range(10))
def test_hours_have_the_energy_of_each_second(tmp_path, seed):
    """Against a sum over single seconds."""
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    history, at = UseHistory(tmp_path), NOW
    for _ in range(40):
        history.add(sample(at, rng.choice([None, 50.0, 75.0, 300.0])))
        at += rng.choice([1, 30, 60, 500, 2000])
    until = at + rng.choice([0, 10, 1000])
    seconds: dict[int, list[float]] = {}
    for place, one in enumerate(history.samples):
        end = history.samples[place + 1].unix_s if place + 1 < len(history.samples) else until
        for second in range(one.unix_s, min(end, one.unix_s + LONGEST_GAP_S)):
            if one.watts is not None:
                seconds.setdefault(second // 3600 * 3600, []).append(one.watts)
    hours = history.hours(until)
    assert [hour.unix_s for hour in hours] == sorted(seconds)
    for hour in hours:
        watts = seconds[hour.unix_s]
        assert hour.mean_w == pytest.approx(sum(watts) / len(watts))
        assert hour.peak_w == max(watts)
        assert hour.hours == pytest.approx(len(watts) / 3600)
