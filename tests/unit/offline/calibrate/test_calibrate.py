"""What a site's nodes draw is found in what its meters and accounting say; what these can't tell is left, and said."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.measured_site import DAY_S, MAY, SLOT_S, measured_site

from dardis.config.platform_file import load_platform
from dardis.model.errors import InputError
from offline.calibrate.calibrate import calibrate, report_lines


def calibrated(folder, site, power=None, history=None, start=None, platform=None):
    site.write(folder, site.long() if power is None else power, history)
    path = folder / "p.toml"
    if platform is not None:
        path.write_text(platform(path.read_text()))
    machine = load_platform(path)
    names = [machine.node_name(node) for node in range(machine.node_count)]
    return calibrate(path, folder / "jobs.txt", folder / "w.csv", names, start)


def close_to(found, truth, rel=0.05):
    core, *gpu, idle = found.fit.figures.tolist()
    return (idle, core, *gpu) == pytest.approx(truth[: 2 + len(gpu)], rel=rel)


@pytest.mark.parametrize(
    ("power", "places", "days", "rel"),
    [("long", True, 3, 0.05), ("wide", False, 4, 0.12), ("of_jobs", True, 2, 1e-3), ("of_jobs", False, 2, 1e-3)],
)
@given(seed=st.integers(0, 10**6))
@examples(0.06)
def test_node_meters_and_job_means_give_the_figures(tmp_path_factory, power, places, days, rel, seed):
    site = measured_site(seed, days=days)
    found = calibrated(tmp_path_factory.mktemp("s"), site, getattr(site, power)(), site.sacct(places=places))
    for group in found.groups:
        assert close_to(group, site.truth[group.group.prefix], rel)
        assert power != "long" or not group.fit.unfitted
        assert power != "long" or group.fit.held_out_errors.median_w < 3 < group.fit.original_errors.median_w
    assert bool(found.of_jobs) is (power == "of_jobs")
    assert any("the fit uses complete groups" in note for note in found.notes) is (power == "wide")
    assert power != "long" or not any("NodeList" in note for note in found.notes)


def test_jobs_without_placement_or_partition_do_not_calibrate_groups(tmp_path):
    site = measured_site(1, most_gpus=0)
    anywhere = site.sacct(places=False, partitions=False)
    found = calibrated(tmp_path, site, history=anywhere)
    assert found.changed == {}
    thin, fat = found.groups
    assert re.match(r"only \d+ usable samples", thin.missing_reason), "those before the first such job"
    assert thin.missing_reason == fat.missing_reason
    found = calibrated(tmp_path, site, site.of_jobs(), anywhere)
    assert close_to(found.groups[0], site.truth["n"], 1e-3), "who asks for more cores than others have is certain"
    assert found.groups[1].missing_reason == "no measured job ran there for certain"
    assert any("measured jobs are left out" in note for note in found.notes)


def test_jobs_without_nodes_exclude_only_their_own_time(tmp_path):
    site = measured_site(2)
    lines = site.sacct().splitlines()
    at = next(row for row, line in enumerate(lines) if line.endswith("|n2") and row > 20)
    lines[at] = lines[at].removesuffix("n2")
    _, start, end, *_ = site.jobs[int(lines[at].split("|")[0]) - 1]
    whole, less = calibrated(tmp_path, site), calibrated(tmp_path, site, history="\n".join(lines))
    assert close_to(less.groups[0], site.truth["n"])
    lost = whole.groups[0].samples - less.groups[0].samples
    assert 0.9 * 5 * (end - start) / SLOT_S <= lost <= 5 * (end - start) / SLOT_S
    assert less.groups[1].samples == whole.groups[1].samples


def test_jobs_on_unknown_nodes_are_ignored(tmp_path):
    site = measured_site(2)
    other = site.sacct() + f"999|{MAY}|{MAY}|{MAY + 2 * DAY_S}|COMPLETED|2|8|cpu=8,node=2||x[1-2]\n"
    whole, more = calibrated(tmp_path, site), calibrated(tmp_path, site, history=other)
    assert [group.changed for group in more.groups] == [group.changed for group in whole.groups]
    assert "2 nodes of jobs are not in the platform, such as x1" in more.notes
    renamed = re.sub(r"\|([ng]\d)$", r"|x\1", site.sacct(), flags=re.MULTILINE)
    told = r"jobs.txt: the nodes of its jobs are not in the platform, such as 'xg0'; expected --na"
    with pytest.raises(InputError, match=told):
        calibrated(tmp_path, site, history=renamed)


def test_gpus_that_never_work_keep_their_figure(tmp_path):
    site = measured_site(3, most_gpus=0)
    power = "power = { devices = { gpu = { idle_w = 4, busy_w = 70 } } }\n"
    found = calibrated(tmp_path, site, platform=lambda text: text.replace("gpu = 2 }\n", "gpu = 2 }\n" + power))
    fat = found.groups[1]
    assert list(fat.fit.unfitted.values()) == ["no device was ever busy"]
    assert fat.stated_before == {"core_w": 9.455, "gpu": 70.0, "idle_w": 0.0}
    assert fat.changed["idle_w"] == pytest.approx(site.truth["g"][0] - 2 * 4, rel=0.02)
    assert found.changed[1].keys() == {("core_w",), ("idle_w",)}
    assert "gpu (busy)     70 W, unchanged: no device was ever busy" in "\n".join(report_lines(found))


def test_powered_down_nodes_do_not_count_as_idle(tmp_path):
    site = measured_site(4)
    for row, (time, node, _) in enumerate(site.samples):
        if node == "n0" and time < MAY + DAY_S:
            site.samples[row] = (time, node, 4.5)
    found = calibrated(tmp_path, site)
    assert found.groups[0].fit.figures[-1] == pytest.approx(site.truth["n"][0], rel=0.02)
    (note,) = (note for note in found.notes if "off" in note)
    assert 250 < int(note.split()[0]) <= 288


def test_group_with_few_samples_is_not_calibrated(tmp_path):
    site = measured_site(5)
    site.samples = [one for one in site.samples if one[1] not in {"n0", "g0", "g1", "g2"}]
    found = calibrated(tmp_path, site, history=site.sacct(places=False))
    assert found.groups[0].missing_reason.startswith("of 5 nodes at most 4 were measured together")
    assert found.groups[1].missing_reason.startswith("of 3 nodes at most 0 were measured together")
    found = calibrated(tmp_path, site)
    assert close_to(found.groups[0], site.truth["n"])
    assert found.groups[1].missing_reason == "none of its nodes was measured"


def test_a_history_on_a_clock_of_its_own_needs_the_calendar(tmp_path):
    site = measured_site(6)
    first = min(start for _, start, *_ in site.jobs)
    rows = (
        f"{number},{start - first},{end - start},0,1,{cores},{gpus},{partition}"
        for number, start, end, _, cores, gpus, partition in site.jobs
    )
    table = "\n".join(["job_id,submit_s,runtime_s,wait_s,units,req_cores,req_gpu,partition", *rows, ""])
    with pytest.raises(InputError, match=r"jobs.txt: states no start date; expected --calendar-start"):
        calibrated(tmp_path, site, history=table)
    found = calibrated(tmp_path, site, history=table, start=first)
    assert close_to(found.groups[0], site.truth["n"], 0.12)


def test_jobs_of_other_numbers_are_counted(tmp_path):
    site = measured_site(7, days=2)
    found = calibrated(tmp_path, site, site.of_jobs() + "99999,250\n")
    assert found.notes == (f"1 of {len(site.jobs) + 1} measured jobs are not in the history, or did not run there",)
    with pytest.raises(InputError, match=r"w.csv: has none of the \d+ jobs of the history; expected the same job"):
        calibrated(tmp_path, site, "job,watts_per_node\n99999,250\n")


def test_a_history_of_other_times_or_without_starts_is_refused(tmp_path):
    site = measured_site(8, days=1)
    power = "time,node,watts\n" + "".join(f"{MAY + 9 * DAY_S + 300 * at},n0,50\n" for at in range(9))
    told = r"w.csv: covers 2023-05-10T00:00Z to 2023-05-10T00:40Z, but the history covers 2023-05-01"
    with pytest.raises(InputError, match=told):
        calibrated(tmp_path, site, power)
    with pytest.raises(InputError, match=r"jobs.txt: has no recorded starts; expected a history with recorded"):
        calibrated(tmp_path, site, history="job_id,submit_s,runtime_s,units,req_cores\n1,0,5,1,1\n")
