"""The real traces give the numbers of lines and jobs that their own description states."""

import pytest

from dardis.config.platform import load_platform
from dardis.workload.jobs import to_jobs
from dardis.workload.read import read_trace


@pytest.mark.parametrize(
    ("name", "lines", "jobs"),
    [
        ("CEA-Curie-2012-slice36k.swf.gz", 36352, 33469),
        ("KTH-SP2-1996.swf.gz", 28489, 28481),
        ("MetaCentrum-Wagap-2013.swf.gz", 17900, 17898),
        ("Eurora-2014.swf.gz", 5930, 5930),
        ("Eurora-2014.csv.gz", 5930, 5930),
        pytest.param("CEA-Curie-2011-derived295k.swf.gz", 295540, 295540, marks=pytest.mark.slow),
        pytest.param("SDSC-BLUE-2000-4.2-cln.swf.gz", 243306, 232536, marks=pytest.mark.slow),
        pytest.param("HPC2N-2002-2.2-cln.swf.gz", 202871, 202871, marks=pytest.mark.slow),
        pytest.param("NREL-RADDIT-2024.swf.gz", 161266, 159513, marks=pytest.mark.slow),
        pytest.param("Philly-GPU-2017.swf.gz", 82247, 82247, marks=pytest.mark.slow),
    ],
)
def test_line_and_job_counts(shared, name, lines, jobs):
    trace = read_trace(shared / "traces" / name)
    assert (len(trace) + len(trace.skipped), len(trace)) == (lines, jobs)


def test_the_two_forms_of_eurora_agree(shared):
    swf = read_trace(shared / "traces" / "Eurora-2014.swf.gz")
    table = read_trace(shared / "traces" / "Eurora-2014.csv.gz")
    assert table.number.tolist() == swf.number.tolist()
    assert (table.submit - 1396255870).tolist() == swf.submit.tolist()
    assert table.runtime.tolist() == swf.runtime.tolist()
    assert table.procs.tolist() == swf.procs.tolist()
    assert table.wait.tolist() == swf.wait.tolist()
    assert int((table.request["gpu"] > 0).sum()) == 886
    assert int((table.request["mic"] > 0).sum()) == 32
    assert int((table.units > 1).sum()) == 277, "278 used more than one node; one of them had asked for one"


def test_nearly_every_wagap_job_fits_a_node_of_its_machine(shared, tmp_path):
    path = tmp_path / "wagap.toml"
    path.write_text(
        'name = "wagap"\n'
        '[[nodes]]\ncount = 20\nprefix = "zewura"\nresources = { cores = 80, memory = 517018 }\n'
        '[[nodes]]\ncount = 48\nprefix = "zegox"\nresources = { cores = 12, memory = 91832 }\n'
    )
    platform = load_platform(path)
    jobs = to_jobs(read_trace(shared / "traces" / "MetaCentrum-Wagap-2013.swf.gz"), platform).jobs
    fits = sum(
        any(all(r <= c for r, c in zip(job.request, node, strict=True)) for node in platform.group_capacity)
        for job in jobs
    )
    assert fits >= 0.999 * len(jobs)
