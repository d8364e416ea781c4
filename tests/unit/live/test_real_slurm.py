"""Scripts on a real Slurm of this machine and on the live service: the same variables, output and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.live import Live
from kit.slurm_cluster import Cluster, missing_programs, until

from dardis.live.client import Client
from dardis.model.errors import DardisError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_programs()), reason=f"needs Slurm: no {', '.join(missing_programs())}"),
]
ROOT = Path(__file__).parents[3]
PLATFORM = 'name = "loopback"\n[[nodes]]\ncount = 1\nprefix = "n"\nresources = { cores = 4, memory = "4GiB" }\n'
PRINT = """
for name in SLURM_JOB_NAME SLURM_NTASKS SLURM_NPROCS SLURM_CPUS_PER_TASK SLURM_NTASKS_PER_NODE SLURM_NNODES \\
  SLURM_JOB_NUM_NODES SLURM_JOB_CPUS_PER_NODE SLURM_CPUS_ON_NODE SLURM_NODEID SLURM_PROCID SLURM_LOCALID \\
  SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_MIN SLURM_ARRAY_TASK_MAX SLURM_ARRAY_TASK_STEP \\
  SLURM_TASKS_PER_NODE MINE; do
  eval "echo $name=\\${$name-unset}"
done
echo "arguments: $# $*"; pwd
"""
HEADS = {
    "plain": "#!/bin/sh\n",
    "long": "#!/bin/bash\n#SBATCH --job-name=long\n#SBATCH --ntasks=2\n#SBATCH --cpus-per-task=2\n",
    "short": "#!/bin/bash\n#SBATCH -J short -n 3\n#SBATCH -c1\n",
    "quotes": "#!/bin/bash\n#SBATCH --job-name='a b'   # behind\n#SBATCH\t--ntasks\t2\n",
    "late": "#!/bin/bash\n# comment\n\n#SBATCH -n2\necho begins\n#SBATCH -n4\n",
    "hashes": "#!/bin/bash\n##SBATCH -n4\n# SBATCH -n4\n #SBATCH -n4\n#SBATCH -n 2\n",
    "array": "#!/bin/bash\n#SBATCH --array=3-7:2%1\n",
    "nodes": "#!/bin/bash\n#SBATCH -N1 --ntasks-per-node=2\n",
    "range": "#!/bin/bash\n#SBATCH --nodes=1-2 --time=0\n",
    "none": "#!/bin/bash\n#SBATCH --export=NONE\n",
    "some": "#!/bin/bash\n#SBATCH --export=MINE=7,HOME\n",
    "fails": "#!/bin/bash\n#SBATCH -n 1\nfalse\nexit 3\n",
    "glued": "#!/bin/bash\n#SBATCH -n2 -c2 -Jglued -t0:10\n",
    "nil": "#!/bin/bash\n#SBATCH --export=NIL\n",
    "spread": "#!/bin/bash\n#SBATCH --ntasks=4 --ntasks-per-node=4 --nodes=1\n",
    "shell": "#!/bin/bash -l\n#SBATCH --no-requeue --mail-type=NONE --nice=5\n",
    "zero": "#!/bin/bash\n#SBATCH -n 0\n",
    "moved": "#!/bin/bash\n#SBATCH -D sub --open-mode=append\n",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:  # a socket's path must be short
        Path(folder).chmod(0o755)
        with Cluster(Path(folder), ["n0"]) as running:
            yield running


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live"), PLATFORM) as live:
        yield live.start()


def results(folder: Path, environment: dict[str, str], program: str, head: str) -> dict[str, str]:
    """Output files by name, and the exit status of `sbatch --wait`."""
    (folder / "sub").mkdir(parents=True)
    (folder / "job.sh").write_text(head + PRINT)
    output = "%a.out" if "--array" in head else "job.out"
    done = subprocess.run(
        [program, "--wait", "-o", output, "job.sh", "one", "two words"], cwd=folder, timeout=120, check=False,
        env=environment | {"MINE": "outside"}, capture_output=True, text=True,
    )  # fmt: skip
    texts = {file.name: file.read_text().replace(str(folder), "FOLDER") for file in folder.rglob("*.out")}
    return texts | {"status": str(done.returncode)}


@pytest.mark.parametrize("name", HEADS)
def test_scripts_do_the_same_on_a_real_slurm(name: str, cluster: Cluster, live: Live, tmp_path: Path) -> None:
    theirs = results(tmp_path / "theirs", cluster.environment, "sbatch", HEADS[name])
    own = os.environ | {
        "DARDIS_FOLDER": str(live.folder),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    ours = results(tmp_path / "ours", own, str(ROOT / "launch/slurm/sbatch"), HEADS[name])
    assert ours == theirs


def test_service_starts_in_an_allocation(cluster: Cluster) -> None:
    folder = cluster.folder / "service"
    variables = f"DARDIS_HOME={ROOT},DARDIS_FOLDER={folder},PATH,HOME"
    told = cluster.run("sbatch", "--parsable", f"--export={variables}", str(ROOT / "launch/serve.slurm"))
    number = told.stdout.strip()

    def serves() -> bool:
        try:
            return not Client(folder).get("/status")["trouble"]
        except DardisError:
            return False

    until(serves, f"service: {[file.read_text() for file in cluster.folder.glob('dardis-*.log')]}")
    words = [
        sys.executable, "-m", "dardis", "submit", "--folder", str(folder), "--wait", "-o", f"{folder}.out", "--",
        "echo", "hi",
    ]  # fmt: skip
    subprocess.run(words, check=True, timeout=60)
    assert Path(f"{folder}.out").read_text() == "hi\n"
    cluster.run("scancel", "--signal=TERM", "--batch", number)
    begun = time.monotonic()
    until(lambda: not cluster.run("squeue", "-h").stdout, "allocation is free")
    assert time.monotonic() - begun < 60
