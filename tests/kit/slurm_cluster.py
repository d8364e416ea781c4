"""A real Slurm cluster on this machine alone: slurmctld, several slurmd and munge, on ports of their own.

Its SuspendProgram kills the slurmd of a node and its ResumeProgram starts it again, and both write down what they did.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Self

from kit import waiting

PROGRAMS = ("slurmctld", "slurmd", "munged", "scontrol", "sbatch", "sinfo")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"

CONFIG = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/{track}
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters={select}
SchedulerParameters=bf_interval=1,sched_min_interval=0
ReturnToService=2
DebugFlags=Power
SlurmctldParameters=power_save_interval=1
SuspendProgram={folder}/suspend
ResumeProgram={folder}/resume
SuspendTime={idle_s}
SuspendTimeout=2
ResumeTimeout={resume_s}
Include {folder}/spares.conf
SuspendRate=0
ResumeRate=0
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
SUSPEND = """\
#!/bin/sh
echo "suspend $1" >> {folder}/power.log
for node in $(scontrol show hostnames "$1"); do kill "$(cat {folder}/$node.pid)"; done
"""
RESUME = """\
#!/bin/sh
echo "resume $1" >> {folder}/power.log
for node in $(scontrol show hostnames "$1"); do
  [ -e {folder}/$node.dead ] && continue
  slurmd -N "$node" -b -f {folder}/slurm.conf < /dev/null > /dev/null 2>&1  # it takes closed ones for its own sockets
done
"""


def missing_programs() -> list[str]:
    """What would have to be installed to run a cluster."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


until = partial(waiting.until, patience_s=60.0)


class Cluster:
    """Nodes of these names; a context that stops every process it started.

    Nodes that have idled for `idle_s` are suspended, and are down if a boot takes `resume_s`: that of a node with a
    file NAME.dead does. `spares.conf` in the folder is included. `track`: by what Slurm follows a step's processes.
    `words`: further words of nodes; `select`: what Slurm gives out; `more`: further lines.
    """

    def __init__(
        self, folder: Path, names: list[str], *, idle_s: int = 86_400, resume_s: int = 60, track: str = "pgid",
        words: dict[str, str] | None = None, select: str = "CR_Core", more: str = "",
    ) -> None:  # fmt: skip
        self.folder, self.names = folder, names
        self.environment = os.environ | {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": PATH}
        port, *node_ports = free_ports(1 + len(names))
        facts = {
            "folder": folder, "host": socket.gethostname().partition(".")[0], "user": getpass.getuser(),
            "select": select,
        }  # fmt: skip
        nodes = [
            f"NodeName={name} NodeHostname={facts['host']} NodeAddr=127.0.0.1 Port={p} CPUs=4 State=UNKNOWN "
            + (words or {}).get(name, "")
            for name, p in zip(names, node_ports, strict=True)
        ]
        config = CONFIG.format(port=port, idle_s=idle_s, resume_s=resume_s, track=track, **facts)
        config += "\n".join([more, *nodes]) + "\n"
        (folder / "slurm.conf").write_text(config)
        (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        for name, text in (("suspend", SUSPEND), ("resume", RESUME)):
            (folder / name).write_text(text.format(folder=folder))
            (folder / name).chmod(0o755)
        (folder / "power.log").touch()
        (folder / "spares.conf").write_text("# none\n")
        (folder / "state").mkdir()
        for name in names:
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o600)

    def __enter__(self) -> Self:
        try:
            paths = {"key-file": "munge.key", "log-file": "munged.log", "pid-file": "munged.pid", "seed-file": "seed"}
            options = [f"--{option}={self.folder / name}" for option, name in paths.items()]
            self.run("munged", "--force", f"--socket={self.folder}/munge.socket", *options)
            self.run("slurmctld", "-f", f"{self.folder}/slurm.conf")
            for name in self.names:
                self.run(*self.world(name), "slurmd", "-N", name, "-f", f"{self.folder}/slurm.conf")
            until(lambda: all(state.startswith("IDLE") for state in self.states().values()), "all nodes idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.run("scancel", "-u", getpass.getuser(), check=False)
        with contextlib.suppress(AssertionError):
            until(lambda: not self.run("squeue", "-h", check=False).stdout, "no job left", patience_s=10)
        stop([*self.folder.glob("*.pid")])

    def world(self, _name: str) -> list[str]:
        """Words of a command that becomes a process on a node; that is this machine."""
        return []

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command against this cluster."""
        done = subprocess.run(
            command, env=self.environment, text=True, capture_output=True, timeout=60, check=False, cwd=self.folder
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
        return done

    def states(self) -> dict[str, str]:
        """The state of every node as `scontrol` tells it."""
        told = self.run("scontrol", "show", "node", "-o", check=False).stdout.splitlines()
        fields = [dict(pair.partition("=")[::2] for pair in line.split()) for line in told]
        return {node["NodeName"]: node["State"] for node in fields if "State" in node}

    def reservations(self) -> dict[str, dict[str, str]]:
        """All reservations by name."""
        told = self.run("scontrol", "show", "reservation", "-o").stdout.splitlines()
        fields = [dict(pair.partition("=")[::2] for pair in line.split()) for line in told]
        return {field["ReservationName"]: field for field in fields if "ReservationName" in field}

    def config(self, key: str) -> str:
        """A value as Slurm has it now."""
        told = self.run("scontrol", "show", "config").stdout.splitlines()
        return next(line.partition("= ")[2].strip() for line in told if line.startswith(f"{key} "))

    def power_log(self) -> list[str]:
        """What the suspend and resume programs were asked to do."""
        return (self.folder / "power.log").read_text().splitlines()


def stop(pid_files: list[Path]) -> None:
    """End the daemons whose numbers the files hold, and wait until they have ended."""
    running = []
    for file in pid_files:
        with contextlib.suppress(ValueError, OSError):
            pid = int(file.read_text())
            os.kill(pid, signal.SIGTERM)
            running.append(pid)
    end = time.monotonic() + 20
    while running and time.monotonic() < end:
        time.sleep(0.05)
        running = [pid for pid in running if Path(f"/proc/{pid}").exists()]
    for pid in running:
        os.kill(pid, signal.SIGKILL)
