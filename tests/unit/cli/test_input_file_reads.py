"""A command opens each of its input files once, whatever it makes of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from kit.small_site import PLATFORM, POWER, START, hourly, made_up_rows, table, write_site

AROUND = f'weather = "weather.csv"\nprices = "prices.csv"\ncarbon = "carbon.csv"\ncalendar_start = "{START}"\n'
FILES = {
    "p.toml": AROUND + PLATFORM.replace("air", "pue.csv") + POWER + '[[queues]]\nname = "1"\n',
    "carbon.csv": table("gco2_per_kwh", hourly([380] * 24 * 16)),
    "pue.csv": "temp_c,500,4000\n0,1.5,1.2\n40,1.6,1.3\n",
    "p.csv": "time_s,node,kind,value\n0,*,cores,64\n",
    "e.toml": '[[events]]\nat_s = 5000\nstop_queue = "1"\n',
    "lst.csv": "job_id,lst_s\n" + "".join(f"{row.number},9000000\n" for row in made_up_rows()),
    "both.toml": '[[dispatchers]]\nname = "easy"\n'
    + "".join(f'[[traces]]\nname = "{name}"\ntrace = "trace.swf"\nplatform = "p.toml"\n' for name in "ab"),
}
COUNTING = """
import json, os, sys
from collections import Counter
from pytest import MonkeyPatch
from kit.small_site import search_less
from dardis.cli.main import run
opened = Counter()
def count(event, about):
    is_path = event == "open" and not isinstance(about[0], int)
    folder, name = os.path.split(os.path.abspath(str(about[0]))) if is_path else ("", "")
    if folder == os.getcwd():
        opened[name] += 1
search_less(MonkeyPatch())
sys.addaudithook(count)
assert run(sys.argv[1:]) == 0
print(json.dumps(opened))
"""


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("plan --history trace.swf --platform p.toml --day 8", ()),
        ("hybrid --history trace.swf --platform p.toml --days 8-9 --deadlines lst.csv", ("lst.csv",)),
        ("simulate trace.swf --platform p.toml --dispatcher easy --profile p.csv --events e.toml --deadlines lst.csv",
         ("p.csv", "e.toml", "lst.csv")),
        ("compare both.toml --clairvoyant", ("both.toml",)),
    ],
)  # fmt: skip
def test_each_file_is_opened_once(tmp_path, command, more):
    write_site(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-c", COUNTING, *command.split(), "--out", "out"]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    for _ in range(2 if command.startswith("compare") else 1):  # the second finds all runs done
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        names = ("trace.swf", "p.toml", "weather.csv", "prices.csv", "carbon.csv", "pue.csv", *more)
        assert json.loads(done.stdout.splitlines()[-1]) == dict.fromkeys(names, 1)
