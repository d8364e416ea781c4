"""A live service in an allocation of a real Slurm cluster, whose nodes on this machine are hosts of their own."""

import os
from pathlib import Path

from kit.keeper import keeper_of
from kit.live_ranks import ROOT, Ranks
from kit.slurm_cluster import Cluster

FREEZER = Path("/sys/fs/cgroup/freezer")


class Hosts(Cluster):
    """Each node is a host of its own."""

    def __init__(self, worlds, names, track):
        """`names`: of the nodes, whose worlds there are. `track`: by what Slurm follows a step's processes."""
        super().__init__(worlds.folder, names, track=track)
        self.worlds = worlds
        with (self.folder / "spares.conf").open("a") as more:
            more.write("KillWait=20\n")

    def __exit__(self, *raised):
        super().__exit__(*raised)
        for name in self.names:
            for group in sorted(FREEZER.glob(f"slurm_{name}/**/"), reverse=True):
                group.rmdir()

    def world(self, name):
        """As a cluster's."""
        return self.worlds.within(name)

    def steps(self, job):
        """The steps of a job that go on: their names, by number."""
        told = self.run("squeue", "--noheader", "--steps", "--format=%i %j", f"--jobs={job}", check=False).stdout
        return dict(line.split() for line in told.splitlines())


class Allocation:
    """A batch job, as a process that runs."""

    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number

    def poll(self):
        """None as long as it is there."""
        told = self.cluster.run("squeue", "--noheader", f"--jobs={self.number}", check=False)
        return None if told.stdout.strip() else 0


class InSlurm(Ranks):
    """The service of an allocation."""

    def __init__(self, cluster):
        super().__init__(cluster.folder)
        self.cluster, self.nodes = cluster, []
        self.place = cluster.worlds.place / "s"

    def start(self, *nodes):
        """Serve in an allocation of these nodes."""
        self.nodes, self.folder = nodes, self.cluster.worlds.disk(nodes[0]) / "s"
        words = [ROOT / "launch" / "serve", "--folder", self.place, "--platform", self.platform]
        script = self.cluster.folder / "batch"
        script.write_text(f"#!/bin/sh\nexport PYTHONPATH={ROOT}\nexec {' '.join(map(str, words))}\n")
        said = self.ran.parent / "service.err"
        told = self.cluster.run(
            "sbatch", "--parsable", f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}", "--open-mode=append",
            f"--output={said}", str(script),
        )  # fmt: skip
        self.service = Allocation(self.cluster, told.stdout.strip())
        self.ready()
        return self

    def keepers(self):
        """The processes of the keepers, by their hosts' ranks."""
        found = {
            rank: keeper_of(self.cluster.worlds.disk(name) / "s" / "keeper") for rank, name in enumerate(self.nodes)
        }
        return {rank: process for rank, process in found.items() if process is not None}

    def step(self, name):
        """The number of the step that is called so."""
        (number,) = (number for number, called in self.cluster.steps(self.service.number).items() if called == name)
        return number

    def end(self):
        """End the allocation; the cluster's end does the rest."""
        if self.service is None:
            return
        self.cluster.run("scancel", self.service.number, check=False)


def tracks_by_cgroup():
    """Whether Slurm can follow processes by cgroups here."""
    return os.access(FREEZER, os.W_OK)
