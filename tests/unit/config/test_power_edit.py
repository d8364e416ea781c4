"""Figures are put into a platform file as its user wrote it: all else stays, to the byte, or nothing is written."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.error_lines import line_of

from dardis.config import power_edit
from dardis.config.platform_file import load_platform
from dardis.config.power_edit import with_figures, write_figures
from dardis.model.errors import InputError

IDLE, CORE, GPU = ("idle_w",), ("core_w",), ("devices", "gpu", "busy_w")
SHIPPED = sorted((Path(__file__).resolve().parents[3] / "launch" / "platforms").glob("*.toml"))
HEAD = '# mine\nname = "x"  # a site\n'
NEW = "power = { idle_w = 180, core_w = 3.25, devices = { gpu = { busy_w = 300.5 } } }"
LEFT = "  # to be filled in: off_w, boot_s, boot_w, shutdown_s, shutdown_w"
FILES = {
    "an inline table keeps what is behind it": (
        "[[nodes]]\npower = { off_w = 2.5, devices = { gpu = { idle_w = 3, busy_w = 5 } } }  # } {\nb = 1\n",
        (
            "[[nodes]]\npower = { off_w = 2.5, devices = { gpu = { idle_w = 3, busy_w = 300.5 } }, idle_w = 180, "
            "core_w = 3.25 }  # } {\nb = 1\n"
        ),
    ),
    "what platform import leaves to fill in": (
        "[[nodes]]\nresources = { cores = 4 }\n# power = { idle_w = ?, core_w = ?, boot_s = ? }\n\n[partitions]\n",
        f"[[nodes]]\nresources = {{ cores = 4 }}\n{NEW}{LEFT}\n\n[partitions]\n",
    ),
    "no power at all": (
        "[[nodes]] # thin\n  resources = { cores = 4 }\ncount = 2",
        f"[[nodes]] # thin\n  resources = {{ cores = 4 }}\ncount = 2\n{NEW}\n",
    ),
    "a last line without an end": (
        "[[nodes]]\nresources = { cores = 4 }",
        f"[[nodes]]\nresources = {{ cores = 4 }}\n{NEW}\n",
    ),
    "a table of resources": (
        "[[nodes]]\ncount = 2\n[nodes.resources]\ncores = 4\n",
        f"[[nodes]]\ncount = 2\n{NEW}\n\n[nodes.resources]\ncores = 4\n",
    ),
    "a table of power": (
        "[[nodes]]\n[nodes.power]\noff_w = 5 # W\ncore_w = 1\n[nodes.power.devices.gpu]\nbusy_w = 7",
        (
            "[[nodes]]\n[nodes.power]\noff_w = 5 # W\ncore_w = 3.25\nidle_w = 180\n\n"
            "[nodes.power.devices.gpu]\nbusy_w = 300.5"
        ),
    ),
    "an inline table of nodes": ("nodes = [{ count = 2 }]\n", f"nodes = [{{ count = 2, {NEW}}}]\n"),
    "dotted keys": (
        "[[nodes]]\npower.idle_w = 4\ncount = 2\n",
        "[[nodes]]\npower.idle_w = 180\npower.core_w = 3.25\npower.devices = { gpu = { busy_w = 300.5 } }\ncount = 2\n",
    ),
    "quoted keys": (
        '[["nodes"]]\n"power" = {"idle_w"=4,core_w=1}#x\ncount = 2\n',
        f'[["nodes"]]\n"power"{NEW[5:]}#x\ncount = 2\n',
    ),
}


@pytest.mark.parametrize(("text", "wanted"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_other_lines_are_unchanged(mark, line_end, text, wanted):
    figures = {IDLE: 180.0, CORE: 3.25, GPU: 300.5}
    before, after = (mark + (HEAD + one).replace("\n", line_end) for one in (text, wanted))
    assert with_figures(before, {0: figures}) == after


def test_invalid_edit_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(power_edit, "_edit", lambda *_: None)
    path = written(tmp_path)
    assert "p.toml: the format of nodes prevents the insertion of power figures; " in line_of(
        write_figures, path, path, {0: {IDLE: 20.0}}
    )
    assert path.read_text() == SITE


@given(st.data())
@examples(0.5)
def test_shipped_platforms_say_the_same_but_for_the_figures(data):
    text = data.draw(st.sampled_from(SHIPPED)).read_text()
    said = tomllib.loads(text)
    watts = st.floats(0, 1e6).map(lambda x: round(x, 3))
    figures = st.dictionaries(st.sampled_from([IDLE, CORE, GPU]), watts, min_size=1)
    changes = data.draw(st.dictionaries(st.integers(0, len(said["nodes"]) - 1), figures, min_size=1))
    changed = with_figures(text, changes)
    for group, each in changes.items():
        for key, value in each.items():
            table = said["nodes"][group].setdefault("power", {})
            for part in key[:-1]:
                table = table.setdefault(part, {})
            table[key[-1]] = value
    assert tomllib.loads(changed) == said
    kept = [line for line in text.splitlines() if "power" not in line and "_w" not in line]
    assert [line for line in changed.splitlines() if line in kept] == kept


SITE = """name = "s"
prices = "prices.csv"
[[nodes]]
count = 2
prefix = "n"
resources = { cores = 4, gpu = 2 }
power = { idle_w = 10, devices = { gpu = { idle_w = 3, busy_w = 50 } } }
"""


def written(folder, text=SITE):
    (folder / "prices.csv").write_text("start_utc,price_eur_per_kwh\n")
    (folder / "p.toml").write_text(text)
    return folder / "p.toml"


def test_output_in_another_folder_breaks_relative_paths_and_is_refused(tmp_path):
    path, other = written(tmp_path), tmp_path / "other"
    other.mkdir()
    with pytest.raises(InputError, match=f"cannot find the files that .* expected a file in {tmp_path}"):
        write_figures(path, other / "p.toml", {0: {IDLE: 20.0}})
    (other / "prices.csv").write_text("")
    assert "cannot find the files" in line_of(write_figures, path, other / "p.toml", {0: {IDLE: 20.0}})
    assert [one.name for one in other.iterdir()] == ["prices.csv"]
    write_figures(written(tmp_path, SITE.replace('prices = "prices.csv"\n', "")), other / "p.toml", {0: {IDLE: 20.0}})
    assert load_platform(other / "p.toml").groups[0].power.idle_w == 26
