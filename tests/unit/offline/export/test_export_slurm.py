"""The Slurm script as text and in a dry run; against a real cluster it is tried in tests/export."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from importlib.resources import files

import pytest
from kit.plan_folder import PLATFORM, plan

from dardis.model.errors import InputError
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from offline.export.slurm_export import Mode, export_slurm, mode_of

NAMES = [PLATFORM.node_name(node) for node in range(PLATFORM.node_count)]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def script(tmp_path, actions=None, names=NAMES):
    path = tmp_path / "plan.sh"
    made = export_slurm(plan() if actions is None else plan(actions=actions), names, mode=Mode.WINDOWS)
    path.write_text(made.text)
    return path


def spares_of(steps, idle_s=337):
    """The example, with these spares of its first group, all before."""
    return replace(plan(), switching=Switching(spares={0: StepFunction.from_steps(8, steps)}, idle_s=idle_s))


def run(path, *options, **more):
    """Where there is no scontrol."""
    environment = {"PATH": "/usr/bin:/bin"} | more
    return subprocess.run(
        ["bash", str(path), *options], env=environment, text=True, capture_output=True, check=False, timeout=30
    )


def fake_scontrol(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "scontrol").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nexit 1\n')
    (tmp_path / "bin" / "scontrol").chmod(0o755)
    return {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Auckland"])
def test_dry_run_prints_utc_times_and_calls_nothing(tmp_path, zone):
    done = run(script(tmp_path), "--dry-run", TZ=zone, **fake_scontrol(tmp_path))
    assert done.returncode == 0
    assert not (tmp_path / "asked").exists()
    resv = "TZ=UTC0 scontrol create reservation ReservationName=dardis_20230703T000000Z_"
    tail = "Users=root Flags=IGNORE_JOBS"
    assert done.stdout.splitlines()[2:] == [
        f"  {resv}001 StartTime=2023-07-03T00:00:00 EndTime=2023-07-03T00:04:00 Nodes=n5 {tail}",
        f"  {resv}002 StartTime=2023-07-03T00:00:00 EndTime=2023-07-03T01:04:00 Nodes=n[0-1] {tail}",
        f"  {resv}003 StartTime=2023-07-03T00:30:00 EndTime=2023-07-03T04:00:00 Nodes=n7 {tail}",
        f"  {resv}004 StartTime=2023-07-03T02:00:00 EndTime=2023-07-03T04:00:00 Nodes=n0 {tail}",
        "2023-07-03T00:00:00Z step 1 of 4",
        "  TZ=UTC0 scontrol update NodeName=n[0-1] State=POWER_DOWN_ASAP (each once it is idle)",
        "  TZ=UTC0 scontrol update NodeName=n5 State=POWER_UP",
        "2023-07-03T00:30:00Z step 2 of 4",
        "  TZ=UTC0 scontrol update NodeName=n7 State=POWER_DOWN_ASAP (each once it is idle)",
        "2023-07-03T01:00:00Z step 3 of 4",
        "  TZ=UTC0 scontrol update NodeName=n[0-1] State=POWER_UP",
        "2023-07-03T02:00:00Z step 4 of 4",
        "  TZ=UTC0 scontrol update NodeName=n0 State=POWER_DOWN_ASAP (each once it is idle)",
    ]


def test_missing_tools_are_reported_before_any_change(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for tool in ("date", "cat"):
        (empty / tool).symlink_to(shutil.which(tool))
    done = subprocess.run([shutil.which("bash"), str(script(tmp_path)), "--now"], env={"PATH": str(empty)}, text=True,
                          capture_output=True, check=False, timeout=30)  # fmt: skip
    assert done.returncode == 1
    assert "stopped: no scontrol here" in done.stderr
    done = run(script(tmp_path), "--now", **fake_scontrol(tmp_path))
    assert done.returncode == 1
    assert "stopped: scontrol show config failed" in done.stderr
    assert set((tmp_path / "asked").read_text().splitlines()) == {"show config"}


def test_unsafe_node_names_are_refused():
    for name in ("n[0]", "n;reboot", "$(x)", "-n", "n 1"):
        with pytest.raises(InputError, match="node name"):
            export_slurm(plan(), [name, *NAMES[1:]], mode=Mode.WINDOWS)


def test_a_plan_has_the_modes_that_its_switching_allows():
    assert mode_of(spares_of([(5_000, 3)]), None) is Mode.SPARES
    assert mode_of(spares_of([(5_000, 3)]), "windows") is Mode.WINDOWS
    floors = replace(plan(), switching=Switching(floors={0: StepFunction.from_steps(8, [(5_000, 3)])}))
    for without in (plan(), floors):
        assert mode_of(without, None) is Mode.WINDOWS
        with pytest.raises(InputError, match="--mode spares: the plan has no spare nodes"):
            mode_of(without, "spares")
    with pytest.raises(InputError, match="--mode: 'sometimes'; expected one of spares, windows"):
        mode_of(plan(), "sometimes")


COMMON = files("offline.export").joinpath("slurm_common.sh").read_text()


@pytest.mark.parametrize(
    ("state", "powers_up"),
    [
        ("IDLE", 1), ("IDLE+DRAIN", 2), ("IDLE+NOT_RESPONDING", 2), ("IDLE+NOT_RESPONDING+POWERING_UP", 1),
        ("IDLE+POWERED_DOWN+POWER_UP", 1), ("ALLOCATED", 2), ("IDLE+POWERING_DOWN", 2),
    ],
)  # fmt: skip
def test_idle_reserve_counts_idle_and_booting_nodes(state: str, powers_up: int) -> None:
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
