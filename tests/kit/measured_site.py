"""A small site whose nodes' watts are known: what its jobs held, what its meters said, and its platform file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

DAY_S, SLOT_S = 86_400, 300
MAY = 1_682_899_200
"""2023-05-01T00:00Z."""
PLATFORM = """name = "site"
# the thin ones
[[nodes]]
count = 5
prefix = "n"
resources = { cores = 16 }
power = { idle_w = 10, core_w = 1, off_w = 4 }  # guessed
[[nodes]]
count = 3
prefix = "g"
resources = { cores = 8, gpu = 2 }
[partitions]
thin = ["n"]
fat = ["g"]
"""
GROUPS = (("n", 5, 16, 0, "thin"), ("g", 3, 8, 2, "fat"))


@dataclass
class MeasuredSite:
    """Jobs as (number, start, end, node, cores, gpus, partition) on slots' edges, and samples as (time, node, W)."""

    truth: dict[str, tuple[float, float, float]]
    """For each prefix W idle, a busy core, a busy GPU."""
    jobs: list[tuple[int, int, int, str, int, int, str]] = field(default_factory=list)
    samples: list[tuple[int, str, float]] = field(default_factory=list)

    def sacct(self, *, places: bool = True, partitions: bool = True) -> str:
        """What sacct says of the jobs."""
        head = "JobIDRaw|Submit|Start|End|State|NNodes|NCPUS|AllocTRES|Partition" + ("|NodeList" if places else "")
        rows = [
            f"{number}|{start}|{start}|{end}|COMPLETED|1|{cores}|cpu={cores},node=1"
            + (f",gres/gpu={gpus}" if gpus else "")
            + f"|{partition if partitions else ''}"
            + (f"|{node}" if places else "")
            for number, start, end, node, cores, gpus, partition in self.jobs
        ]
        return "\n".join([head, *rows, ""])

    def long(self) -> str:
        """A value a line."""
        return "time,node,watts\n" + "".join(f"{time},{node},{watts}\n" for time, node, watts in self.samples)

    def wide(self, prefix: str = "") -> str:
        """A column a node, as Grafana writes it."""
        nodes = [name for name in dict.fromkeys(node for _, node, _ in self.samples) if name.startswith(prefix)]
        found = {(time, node): watts for time, node, watts in self.samples}
        times = dict.fromkeys(time for time, _, _ in self.samples)
        head = ",".join(f'"{{instance=""{node}:9290""}}"' for node in nodes)
        rows = (f"{time}000," + ",".join(str(found.get((time, node), "")) for node in nodes) for time in times)
        return "\n".join([f"Time,{head}", *rows, ""])

    def of_jobs(self) -> str:
        """What each job drew in the mean, which has its node to itself."""
        rows = []
        for number, _, _, node, cores, gpus, _ in self.jobs:
            idle, core, gpu = self.truth[node[0]]
            rows.append(f"{number},{idle + core * cores + gpu * gpus}\n")
        return "job,watts_per_node\n" + "".join(rows)

    def write(self, folder: Path, power: str, history: str | None = None) -> list[str]:
        """Write the files, and say what to call `dardis platform calibrate` with."""
        files = {"p.toml": PLATFORM, "jobs.txt": self.sacct() if history is None else history, "w.csv": power}
        for name, text in files.items():
            (folder / name).write_text(text)
        return [str(folder / "p.toml"), "--history", str(folder / "jobs.txt"), "--power", str(folder / "w.csv")]


def measured_site(seed: int, *, days: int = 3, wrong: float = 0.02, most_gpus: int = 2) -> MeasuredSite:
    """Jobs of one node for some days, and a sample of each node a slot: with noise, and a share that is nonsense."""
    draw = Random(seed)  # noqa: S311 (a seed is to say it all)
    truth = {
        prefix: (draw.uniform(40, 300), draw.uniform(2, 12), draw.uniform(50, 300) if gpus else 0.0)
        for prefix, _, _, gpus, _ in GROUPS
    }
    site = MeasuredSite(truth)
    slots = days * DAY_S // SLOT_S
    for prefix, count, cores, gpus, partition in GROUPS:
        for node in range(count):
            _fill(site, draw, (f"{prefix}{node}", cores, min(gpus, most_gpus), partition), slots)
            idle, core, gpu = truth[prefix]
            held = {}
            for _, start, end, where, *asked, _ in site.jobs:
                if where == f"{prefix}{node}":
                    held |= dict.fromkeys(range(start, end, SLOT_S), asked)
            for slot in range(slots):
                time = MAY + slot * SLOT_S
                busy, devices = held.get(time, (0, 0))
                watts = idle + core * busy + gpu * devices + draw.gauss(0, 2.0)
                watts = draw.choice([0.0, 65535.0, 3 * watts]) if draw.random() < wrong else watts
                site.samples.append((time + draw.randrange(SLOT_S), f"{prefix}{node}", round(max(watts, 0.0), 2)))
    site.samples.sort()
    return site


def _fill(site: MeasuredSite, draw: Random, node: tuple[str, int, int, str], slots: int) -> None:
    """Jobs one after the other on a node, with pauses; each has it to itself."""
    name, cores, gpus, partition = node
    at = draw.randrange(5)
    while at < slots:
        until = min(at + draw.randint(1, 40), slots)
        asked = draw.randint(1, cores), draw.randint(0, gpus)
        site.jobs.append((len(site.jobs) + 1, MAY + at * SLOT_S, MAY + until * SLOT_S, name, *asked, partition))
        at = until + draw.randrange(20)
