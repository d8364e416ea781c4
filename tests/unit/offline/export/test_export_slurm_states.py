"""The exported script reads the states of nodes as slurmctld prints them, whatever text people wrote beside them."""

from __future__ import annotations

import random
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from dardis.config.slurm.show import parse_show
from dardis.config.slurm.state_table import BASE_STATES, FLAGS, state_of

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

COMMON = files("offline.export").joinpath("slurm_common.sh").read_text()
TEXTS = (
    "State=IDLE",
    "State=DOWN",
    "fan",
    "NodeName=n7 State=IDLE",
    "CPUTot=1",
    "[root@2026-01-01T00:00:00]",
    "'",
    "$x",
)


def record(name: str, draw: random.Random) -> tuple[str, str]:
    """A node as `scontrol show node -o` prints it, and its state."""
    state = "+".join([draw.choice([*BASE_STATES]), *draw.sample([*FLAGS], draw.randrange(4))])
    words = [f"NodeName={name}", "Arch=x86_64", "CPUAlloc=0", "CPUTot=8", "CPULoad=N/A", "Gres=(null)"]
    words += ["OS=Linux 5.14.0 #1 SMP Fri", "RealMemory=1", f"State={state}", "ThreadsPerCore=1"]
    words += draw.choice([[], ["Partitions=a "]])
    for key in ("Reason", "Comment", "Extra"):
        if draw.random() < 0.5:
            words.append(f"{key}={' '.join(draw.choices(TEXTS, k=draw.randrange(5)))}")
    return " ".join(words), state


def test_500_records_with_any_free_text(tmp_path: Path) -> None:
    draw = random.Random(5)  # noqa: S311
    told = [record(f"n{number}", draw) for number in range(500)]
    (tmp_path / "shown").write_text("".join(f"{line}\n" for line, _ in told))
    script = f'{COMMON}\nask() {{ cat "{tmp_path}/shown"; }}\nstates all\n'
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [f"n{number} {state}" for number, (_, state) in enumerate(told)]
    read = parse_show(tmp_path / "shown", (tmp_path / "shown").read_text())
    assert [node.state for node in read.nodes] == [state_of(state) for _, state in told]


@pytest.mark.parametrize(
    ("state", "powers_up"),
    [
        ("IDLE", 1), ("IDLE+DRAIN", 2), ("IDLE+NOT_RESPONDING", 2), ("IDLE+NOT_RESPONDING+POWERING_UP", 1),
        ("IDLE+POWERED_DOWN+POWER_UP", 1), ("ALLOCATED", 2), ("IDLE+POWERING_DOWN", 2),
    ],
)  # fmt: skip
def test_spares_count_what_is_idle_and_on_or_comes(state: str, powers_up: int) -> None:
    spares = files("offline.export").joinpath("slurm_spares.sh").read_text()
    start = spares.index("replace() {")
    function = spares[start : spares.index("\n}\n", start) + 3]
    shown = f"n0 {state}\nn1 IDLE+POWERED_DOWN\nn2 IDLE+POWERED_DOWN"
    script = (
        f"{COMMON}\n{function}\nSPARE_NODES=(n[0-2]) WANTED=(2)\n"
        f"states() {{ echo '{shown}'; }}\npower_up() {{ shift 0; echo $#; }}\nreplace\n"
    )
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == [str(powers_up)], done.stderr
