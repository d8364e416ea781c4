"""Platform files that come with DARDIS: all load, each says where its figures are from, and public traces fit them."""

from pathlib import Path

import pytest

from dardis.config.platform import load_platform
from dardis.workload.read import read_trace

FOLDER = Path(__file__).resolve().parents[3] / "launch/platforms"
FILES = sorted(FOLDER.glob("*.toml"))
MACHINES = {
    "KTH-SP2-1996.swf.gz": ("kth-sp2", 100),
    "SDSC-BLUE-2000-4.2-cln.swf.gz": ("sdsc-blue", 1152),
    "HPC2N-2002-2.2-cln.swf.gz": ("hpc2n", 240),
    "MetaCentrum-Wagap-2013.swf.gz": ("wagap", 2176),
    "Philly-GPU-2017.csv.gz": ("philly", 2490),
    "NREL-RADDIT-2024.swf.gz": ("raddit", 2304),
    "Eurora-2014.csv.gz": ("eurora-2014", 1024),
    "CEA-Curie-2012-slice36k.swf.gz": ("curie-whole", 93312),
    "Alibaba-GPU-2023-openb_pod_list_default.csv.gz": ("alibaba-gpu-2023", 125_514),
}
"""Of each public trace its machine, and how many cores that has."""


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_it_loads_and_says_where_it_is_from(path):
    assert load_platform(path).name == path.stem
    assert path.read_text().startswith("# ")


@pytest.mark.parametrize("trace", MACHINES)
def test_a_trace_fits_its_machine(shared, trace):
    name, cores = MACHINES[trace]
    machine = load_platform(FOLDER / f"{name}.toml")
    assert machine.cores == cores
    jobs = read_trace(shared / "traces" / trace)
    assert jobs.procs.max() <= cores
    assert jobs.most_processors in {None, cores}
