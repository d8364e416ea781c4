"""What plans of past days teach: nothing with few days, and the same twice."""

from __future__ import annotations

import numpy as np
from kit.small_site import DAY_S, START, write_site

from offline.day.hindsight import Hindsight
from offline.day.known import known_at
from offline.site.history import replayed
from offline.site.site import SiteRequest, load_site


def test_lessons_need_some_days_and_are_the_same_twice(tmp_path):
    files = (write_site(tmp_path) / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    site = load_site(SiteRequest(*files, calendar_start=START))
    past = replayed(site.jobs, site.platform)
    known, _ = known_at(site, past, 8, site.calendar.day(8)[0])
    hindsight = Hindsight(site, past)
    tree, cores = hindsight.target(known, 8, 1)
    assert tree is not None
    assert tree.rules
    aims = cores.at(site.calendar.day(8)[0] + 3600 * np.arange(24))
    assert ((aims >= 0) & (aims <= site.platform.cores)).all()
    again = hindsight.target(known, 8, 1)
    fresh = Hindsight(site, past).target(known, 8, 1)
    assert tree.rules == again[0].rules == fresh[0].rules
    assert (fresh[1].values == cores.values).all()
    few, _ = known_at(site, past, 4, site.calendar.day(4)[0])
    assert hindsight.target(few, 4, 1)[0] is None


def test_days_of_which_nothing_could_be_foretold_teach_nothing(tmp_path):
    """A job alone, two days before all others: nobody was there on the day before the third."""
    folder = write_site(tmp_path)
    rows = [line.split() for line in (folder / "trace.swf").read_text().splitlines()]
    jobs = [row for row in rows if not row[0].startswith(";")]
    later = [[row[0], str(int(row[1]) + 2 * DAY_S), *row[2:]] for row in jobs[1:]]
    (folder / "trace.swf").write_text("".join(" ".join(row) + "\n" for row in [jobs[0], *later]))
    files = (folder / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    site = load_site(SiteRequest(*files, calendar_start="2023-07-03T06:00Z"))
    past = replayed(site.jobs, site.platform)
    known, _ = known_at(site, past, 9, site.calendar.day(9)[0])
    tree, _ = Hindsight(site, past).target(known, 9, 1)
    assert tree is not None
