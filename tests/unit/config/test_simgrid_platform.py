"""Hosts of a SimGrid platform as a machine: in Batsim's order, a core each, and one line for every mistake."""

import pytest
from fuzz.sample_files import SIMGRID
from kit.error_lines import line_of

from dardis.cli.main import run as command
from dardis.config.platform_file import load_platform
from dardis.config.simgrid import simgrid_platform


def platform(*elements):
    return f"<platform version='4.1'><zone id='z'>{''.join(elements)}</zone></platform>"


@pytest.fixture
def made(tmp_path):
    def made(text):
        found = simgrid_platform(tmp_path / "p.xml", text)
        (tmp_path / "p.toml").write_text(found.text)
        assert load_platform(tmp_path / "p.toml") == found.platform
        return found

    return made


def test_many_kinds_are_one_group_and_a_cluster_keeps_its_names(made, monkeypatch):
    monkeypatch.setattr("dardis.config.simgrid.MAX_GROUPS", 62)
    found = made(platform(*(f"<host id='h{n}' speed='{n}Mf'/>" for n in range(80))))
    assert [(group.prefix, group.count) for group in found.platform.groups] == [("h", 80)]
    found = made("\n" + platform("<cluster id='c' prefix='a' suffix='' radical='0-511'/><host id='master_host'/>"))
    assert [(group.prefix, group.count) for group in found.platform.groups] == [("a", 512)]
    storage = "<host id='pfs'><prop id='role' value='storage'/></host>"
    assert made(platform("<host id='Jupiter' power='76.296Mf'/>", storage)).platform.node_count == 1


@pytest.mark.parametrize(("text", "said"), [
    ("<platform>", "is not XML"),
    ("<?xml version='1.0'?><project/>", "is <project>"),
    (platform("<host id='master_host'/>"), "no host runs jobs (1 are the master"),
    (platform("<host id='a'/><host id='a'/>"), "host 'a' occurs twice"),
    (platform("<host id='a b'/>"), "host 'a b'"),
    (platform("<host id='a' core='many'/>"), "<host id='a'>: 'many' is not a whole number"),
    (platform("<cluster id='c' prefix='a' radical='0-99999999'/>"), "more than 65,536 hosts"),
    (platform("<cluster id='c' prefix='a'/>"), "<cluster id='c'>"),
    (platform(*(f"<cluster id='c' prefix='{p}' radical='0-49999'/>" for p in "ab")), "more than 65,536 hosts"),
    (platform(f"<cluster id='c' prefix='a' radical='{','.join(['0-65000'] * 2000)}'/>"), "more than 65,536 hosts"),
    ("<!DOCTYPE platform [<!ENTITY a 'b'>]>" + platform("<host id='&a;'/>"), "declares entities"),
])  # fmt: skip
def test_a_mistake_is_one_line(made, text, said):
    assert said in line_of(made, text)


def test_a_workload_runs_on_its_hosts(tmp_path, capsys):
    (tmp_path / "p.xml").write_text(SIMGRID)
    jobs = '{"id": "w!5", "subtime": 0, "res": 6, "walltime": 9, "profile": "d"}'
    (tmp_path / "w.json").write_text(f'{{"jobs": [{jobs}], "profiles": {{"d": {{"type": "delay", "delay": 5}}}}}}')
    assert command(["platform", "import", str(tmp_path / "p.xml"), str(tmp_path / "p.toml")]) == 0
    more = ["--dispatcher", "easy", "--out", str(tmp_path / "out"), "--no-report"]
    assert command(["simulate", str(tmp_path / "w.json"), "--platform", str(tmp_path / "p.toml"), *more]) == 0
    assert "1 (0 killed, 0 rejected)" in capsys.readouterr().out


@pytest.mark.parametrize(("speeds", "slowest"), [
    (["1Gf"], 1e9), (["100.0Mf,50.0Mf"], 1e8), (["76.296Mf", "1Gf"], 76.296e6), (["2e9f"], 2e9), (["5"], 5.0),
    (["1.5Tflops"], 1.5e12), (["1Gf", "fast"], None), (["0f"], None), (["1e999f"], None), (["-1Gf"], None),
])  # fmt: skip
def test_slowest_host_sets_the_node_speed(made, speeds, slowest, tmp_path):
    found = made(platform(*(f"<host id='h{n}' speed='{speed}'/>" for n, speed in enumerate(speeds))))
    assert found.platform.flop_per_s == (None if slowest is None else pytest.approx(slowest))
    (tmp_path / "p.toml").write_text(found.text)
    assert load_platform(tmp_path / "p.toml").flop_per_s == found.platform.flop_per_s
    told = any("computing jobs" in note for note in found.notes)
    assert told == (slowest is None or len(speeds) > 1)
