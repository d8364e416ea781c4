"""The comparisons: which jobs, which machine, which programs, and what their ratio should be.

Each writes its jobs once as a plain SWF file, so that all programs of a comparison read the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from scripts.lab.bench.asks import asks
from scripts.lab.bench.auctions import auctions
from scripts.lab.bench.bare_easy import read_jobs
from scripts.lab.bench.comparisons import JOBS, comparisons
from scripts.lab.bench.environments import environments
from scripts.lab.bench.from_python import from_python
from scripts.lab.bench.live import live
from scripts.lab.bench.measure import Cost, Row, cpu_ratio, in_turns, output_of, row_of, run_once
from scripts.lab.bench.message_codecs import message_codecs
from scripts.lab.bench.over_ranks import over_ranks
from scripts.lab.bench.page import page
from scripts.lab.bench.planning import planning, plans
from scripts.lab.bench.queue_loop import queue_loop
from scripts.lab.bench.rounds import rounds
from scripts.lab.kit.command import EURORA, EURORA_PLATFORM, ROOT, equal_nodes
from scripts.lab.kit.spread import Spread
from scripts.lab.kit.thesis import TRACE

PEERS = Path(__file__).parent
ACCASIM = "accasim==1.1.3"
HPC2N, KTH, CURIE_2011 = "HPC2N-2002-2.2-cln.swf.gz", "KTH-SP2-1996.swf.gz", "CEA-Curie-2011-derived295k.swf.gz"


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the traces are, where to work, how often to repeat, and the prefixes of the stress case."""

    traces: Path
    folder: Path
    repeats: int
    stress_jobs: Sequence[int]


@dataclass(frozen=True, slots=True)
class Case:
    """A prepared workload on a machine of equal nodes: the SWF file, the platform file, and how many jobs there are."""

    name: str
    trace: Path
    platform: Path
    jobs: int
    nodes: int
    cores: int

    @property
    def out(self) -> Path:
        """Where DARDIS writes what came of it."""
        return self.trace.with_suffix("")

    def dardis(self, jobs: int | None = None, dispatcher: str = "dardis-throughput") -> list[str]:
        """Return the command that replays the first `jobs` under DARDIS."""
        command = [str(Path(sys.executable).with_name("dardis")), "simulate", str(self.trace)]
        command += ["--platform", str(self.platform), "--dispatcher", dispatcher]
        command += ["--out", str(self.out), "--force", "--no-report"]
        return command if jobs is None else [*command, "--jobs", str(jobs)]

    def bare(self, policy: str, pool: int) -> list[str]:
        """Return the command that replays all jobs in the bare loop, on `pool` cores."""
        script = str(PEERS / "bare_easy.py")
        return [sys.executable, script, str(self.trace), "--cores", str(pool), "--policy", policy]


def prepare(
    bench: Bench, name: str, source: str, machine: tuple[int, int], dispatcher: str = "dardis-throughput",
    **choice: int,
) -> Case:  # fmt: skip
    """Write jobs (`limit`, `partition` choose them) and machine (nodes, cores of each), and compile what they need."""
    nodes, cores = machine
    jobs = read_jobs(bench.traces / source, nodes * cores, **choice)
    platform = equal_nodes(bench.folder, nodes, cores)
    case = Case(name, bench.folder / f"{name}.swf", platform, len(jobs.submit), nodes, cores)
    with case.trace.open("w") as file:
        for number, (submit, runtime, estimate, width) in enumerate(zip(*jobs, strict=True), start=1):
            file.write(f"{number} {submit} -1 {runtime} {width} -1 -1 {width} {estimate} -1 1 {'-1 ' * 6}-1\n")
    run_once(case.dardis(100, dispatcher))
    return case


def row(case: Case, program: str, costs: Sequence[Cost], jobs: int | None = None) -> Row:
    """Sum up one program's runs on a case."""
    return row_of(case.name, program, case.jobs if jobs is None else jobs, costs)


def beside(
    bench: Bench, case: Case, commands: Mapping[str, Sequence[str]], ratio_of: str, goal: str, *, upside: bool = True
) -> list[Row]:
    """Rows of programs in turns; the last has its CPU time over that of the one before, or with not `upside` under."""
    costs = in_turns(commands, bench.repeats)
    rows = [row(case, program, runs) for program, runs in costs.items()]
    theirs, ours = list(costs.values())[-2:]
    times = cpu_ratio(ours, theirs) if upside else cpu_ratio(theirs, ours)
    return [*rows[:-1], replace(rows[-1], ratio=times, ratio_of=ratio_of, goal=goal)]


def search_ways(bench: Bench) -> list[Row]:
    """Runs with and without each of the ways to find the earliest start."""
    case = prepare(bench, "curie-partition-4", TRACE, (300, 32), partition=4)
    late = prepare(bench, "hpc2n-20k-120x2", HPC2N, (120, 2), "dardis-late", limit=20_000)
    out = ["--out", str(bench.folder / "ways"), "--force", "--no-report"]
    ranks = [str(ROOT / "launch" / "mpirun"), "-n", "8"]
    rows = []
    for name, way, launcher, arguments, jobs in (
        ("whole rounds by a call, partition 4", "calls", [], case.dardis()[1:], case.jobs),
        ("all turns by a call, HPC2N's first 20,000 jobs", "calls", [], late.dardis(dispatcher="dardis-late")[1:],
         late.jobs),
        ("free-capacity index, partition 4", "index", [], case.dardis()[1:], case.jobs),
        ("blocks that are not decoded, a tree of 8 ranks", "blocks", ranks,
         ["scale", "--nodes", "4096", "--jobs", "2000", "--arity", "2", *out], 2000),
        ("joint questions, 64 jobs in flight", "joint", [],
         ["scale", "--nodes", "20000", "--jobs", "20000", "--overlap", "64", "--sample", "4", *out], 20_000),
    ):  # fmt: skip
        program = [*launcher, sys.executable, "-m", "scripts.lab.bench.without"]
        costs = in_turns(
            {"with": [*program, "nothing", *arguments], "without": [*program, way, *arguments]}, bench.repeats
        )
        with_it, without = costs.values()
        rows.append(row_of(name, "with", jobs, with_it))
        lost = cpu_ratio(without, with_it)
        rows.append(replace(row_of(name, "without", jobs, without), ratio=lost, ratio_of="CPU time / with", goal="> 1"))
    return rows


def against_bare_loop(bench: Bench) -> list[Row]:
    """Partition 4 of the Curie slice on 300 nodes of 32 cores, beside a bare loop over a core count."""
    case = prepare(bench, "curie-partition-4", TRACE, (300, 32), partition=4)
    pool = case.nodes * case.cores
    commands = {
        "bare FCFS loop": case.bare("fcfs", pool),
        "bare EASY loop": case.bare("easy", pool),
        "dardis-throughput": case.dardis(),
    }
    return beside(bench, case, commands, "CPU time / bare EASY loop's", "<= 13")


def beside_accasim(bench: Bench, name: str, policy: str, dispatcher: str) -> list[Row]:
    """The first 5,000 Curie jobs on 5,832 nodes of 16 cores under a dispatcher, beside AccaSim under a policy."""
    case = prepare(bench, name, CURIE_2011, (5832, 16), dispatcher, limit=5000)
    script = str(PEERS / "accasim_peer.py")
    peer = [str(_accasim_python()), script, policy, str(case.trace), str(case.nodes), str(case.cores)]
    commands = {f"AccaSim {policy.upper()}": peer, dispatcher: case.dardis(dispatcher=dispatcher)}
    return beside(bench, case, commands, "AccaSim's CPU time / ours", ">= 6", upside=False)


def easy_on(bench: Bench, name: str, machine: tuple[int, int], goal: str) -> list[Row]:
    """50,000 jobs of HPC2N under EASY on 240 cores, beside a bare loop on a count of cores.

    Once as a prepared file of these jobs alone, and once as the trace is published: gzipped, 203,000 jobs to be read.
    The notes say what writing all outputs takes of the run.
    """
    prepared = prepare(bench, name, HPC2N, machine, "easy", limit=50_000)
    published = replace(prepared, name=f"{name}, published trace", trace=bench.traces / HPC2N)
    rows = []
    for case, cut in ((prepared, []), (published, ["--jobs", str(prepared.jobs)])):
        ours = [*case.dardis(dispatcher="easy"), *cut]
        ours[ours.index("--out") + 1] = str(prepared.out)
        commands = {"bare EASY loop": [*case.bare("easy", 240), *cut], "easy": ours}
        rows += beside(bench, case, commands, "CPU time / bare EASY loop's", goal)
        share = [sys.executable, "-m", "scripts.lab.bench.share_of_outputs", *ours[1:]]
        shares = [json.loads(output_of(share))["share"] for _ in range(bench.repeats)]
        rows[-1] = replace(rows[-1], notes={"outputs_share_of_cpu": round(Spread.of(shares).median, 3)})
    return rows


def queue_loops(bench: Bench) -> list[Row]:
    """All jobs of HPC2N in the compiled simulation, on 120 nodes of 2 cores and on one pool of cores."""
    rows = []
    for name, machine, goal in (("120x2", (120, 2), ">= 100,000 jobs/s"), ("1x240", (1, 240), ">= 300,000 jobs/s")):
        case = prepare(bench, f"hpc2n-{name}", HPC2N, machine, "easy")
        rows += queue_loop(case.name, case.trace, case.platform, bench.repeats, goal)
    return rows


def late_beside_easy(bench: Bench) -> list[Row]:
    """The first 50,000 jobs of HPC2N on 120 nodes of 2 cores: `dardis-late` beside `easy`."""
    case = prepare(bench, "hpc2n-50k-120x2", HPC2N, (120, 2), "dardis-late", limit=50_000)
    commands = {name: case.dardis(dispatcher=name) for name in ("easy", "dardis-late")}
    return beside(bench, case, commands, "CPU time / easy's", "<= 3")


def kinds(bench: Bench) -> list[Row]:
    """The first 20,000 jobs of the Curie slice on 4,096 nodes of 16 cores: of 4 kinds, and each a kind of its own."""
    source, rows = TRACE, []
    for name in ("easy", "dardis-throughput", "dardis-late"):
        few = prepare(bench, f"curie-20k-4096x16-{name}", source, (4096, 16), name, limit=20_000)
        many = replace(few, platform=few.platform.with_suffix(".kinds.toml"))
        for case, groups in ((few, 4), (many, 4096)):
            tables = (
                f'[[nodes]]\ncount = {4096 // groups}\nprefix = "n{group}-"\n'
                f"resources = {{ cores = 16, memory = {65536 + group} }}\n"
                for group in range(groups)
            )
            case.platform.write_text("\n".join(['name = "kinds"', *tables]))
        commands = {
            f"{name}, {told} kinds": case.dardis(dispatcher=name) for told, case in (("4", few), ("4,096", many))
        }
        rows += beside(bench, few, commands, "CPU time / that with 4 kinds", "<= 1.05")
    return rows


def ten_jobs(bench: Bench) -> list[Row]:
    """Ten jobs of HPC2N under three dispatchers, where start-up is all there is, beside Python that imports NumPy."""
    case = prepare(bench, "hpc2n-10", HPC2N, (120, 2), limit=10)
    numpy = "python -c 'import numpy'"
    commands = {numpy: [sys.executable, "-c", "import numpy"]}
    for name in ("easy", "dardis-throughput", "dardis-late"):
        commands[name] = case.dardis(dispatcher=name)
        run_once(commands[name])
    costs = in_turns(commands, bench.repeats)
    theirs, *ours = (row(case, name, runs) for name, runs in costs.items())
    times = [cpu_ratio(costs[one.program], costs[numpy]) for one in ours]
    name_of = "CPU time / that of importing NumPy"
    return [replace(theirs, jobs=0), *(replace(a, ratio=b, ratio_of=name_of) for a, b in zip(ours, times, strict=True))]


def compared(bench: Bench) -> list[Row]:
    """`dardis compare` on the first jobs of HPC2N and KTH."""
    machines = {"hpc2n-500": (HPC2N, (120, 2)), "kth-500": (KTH, (100, 1))}
    cases = [prepare(bench, name, source, machine, "easy", limit=JOBS) for name, (source, machine) in machines.items()]
    workloads = [(case.trace, case.platform) for case in cases]
    return [comparisons(bench.folder, workloads, cases[0].dardis(1, "easy"), bench.repeats)]


def reports(bench: Bench) -> list[Row]:
    """The first 200,000 jobs of HPC2N under EASY, and the report of that run, drawn from its files."""
    case = prepare(bench, "hpc2n-200k-120x2", HPC2N, (120, 2), "easy", limit=200_000)
    run = case.dardis(dispatcher="easy")
    commands = {"easy, no report": run, "its report": [run[0], "report", str(case.out)]}
    return beside(bench, case, commands, "CPU time / the run's", "<= 0.33")


def replan_beside_easy(bench: Bench) -> list[Row]:
    """The first 5,000 jobs of four traces under `replan`, beside the bare EASY loop; what one job takes is subtracted.

    So what is compared is reading, deciding and writing of the other jobs, without interpreters, imports and kernels.
    """
    machines: dict[str, tuple[str, tuple[int, int], dict[str, int]]] = {
        "hpc2n-5k": (HPC2N, (120, 2), {}),
        "kth-5k": (KTH, (100, 1), {}),
        "blue-5k": ("SDSC-BLUE-2000-4.2-cln.swf.gz", (144, 8), {}),
        "curie-partition-4-5k": (TRACE, (300, 32), {"partition": 4}),
    }
    rows = []
    for name, (source, machine, choice) in machines.items():
        case = prepare(bench, name, source, machine, "replan", limit=5000, **choice)
        bare = case.bare("easy", case.nodes * case.cores)
        commands = {
            "bare EASY loop": bare,
            "bare EASY loop, one job": [*bare, "--jobs", "1"],
            "replan": case.dardis(dispatcher="replan"),
            "replan, one job": case.dardis(1, "replan"),
        }
        costs = in_turns(commands, bench.repeats)
        rows += [row(case, program, runs, 1 if "one job" in program else None) for program, runs in costs.items()]
        ours, theirs = (
            Spread.of([cost.cpu_s for cost in costs[program]]).median
            - Spread.of([cost.cpu_s for cost in costs[f"{program}, one job"]]).median
            for program in ("replan", "bare EASY loop")
        )
        notes = {"cpu_over_bare_easy_without_start_up": round(ours / theirs, 1)}
        rows[-2] = replace(rows[-2], goal="<= 20 without start-up", notes=notes)
    return rows


def constraint_solvers(bench: Bench) -> list[Row]:
    """Dispatchers that ask a constraint solver: jobs a CPU second, where what one job takes is subtracted.

    And the first 200 jobs of HPC2N without our own answers, over the same with them.
    """
    trace = Path(shutil.copy(bench.traces / EURORA, bench.folder))
    eurora = Case("eurora", trace, EURORA_PLATFORM, 3000, 64, 16)
    cases = [
        (prepare(bench, "hpc2n-1k", HPC2N, (120, 2), "hcp19", limit=1000), "hcp19", 50),
        (prepare(bench, "kth-1k", KTH, (100, 1), "hcp19", limit=1000), "hcp19", 50),
        (eurora, "pcp19", 20),
        (eurora, "pcp20", 20),
    ]
    rows = []
    for case, dispatcher, goal in cases:
        one = f"{dispatcher}, one job"
        costs = in_turns(
            {dispatcher: case.dardis(case.jobs, dispatcher), one: case.dardis(1, dispatcher)}, bench.repeats
        )
        measured = [row(case, dispatcher, costs[dispatcher]), row(case, one, costs[one], 1)]
        rate = case.jobs / (measured[0].cpu_s.median - measured[1].cpu_s.median)
        notes = {"jobs_per_cpu_s_without_start_up": round(rate, 1)}
        rows += [replace(measured[0], goal=f">= {goal} without start-up", notes=notes), measured[1]]
    case = prepare(bench, "hpc2n-200", HPC2N, (120, 2), "hcp19", limit=200)
    ours = case.dardis(dispatcher="hcp19")
    commands = {"hcp19": ours, "hcp19 shortcuts=off": [*ours, "--set", "shortcuts=off"]}
    return rows + beside(bench, case, commands, "CPU time / that with shortcuts", ">= 6")


def full_traces(bench: Bench) -> list[Row]:
    """Whole traces as they are published under EASY, for their time and memory."""
    machines = {"SDSC-BLUE-2000-4.2-cln": (144, 8), HPC2N.removesuffix(".swf.gz"): (120, 2),
                "CEA-Curie-2011-derived295k": (5832, 16)}  # fmt: skip
    rows = []
    for source, machine in machines.items():
        small = prepare(bench, f"{source}-all", f"{source}.swf.gz", machine, "easy", limit=1000)
        command = small.dardis(dispatcher="easy")
        command[command.index(str(small.trace))] = str(bench.traces / f"{source}.swf.gz")
        costs = in_turns({"easy": command}, bench.repeats)["easy"]
        jobs = json.loads((small.out / "metrics.json").read_text())["jobs"]
        rows.append(replace(row(small, "easy", costs, jobs), goal="peak < 1024 MiB"))
    return rows


def stress(bench: Bench) -> list[Row]:
    """The whole Curie slice, five times what 300 nodes can do: what a job costs as reservations pile up."""
    case = prepare(bench, "curie-stress", TRACE, (300, 32))
    rows = []
    for jobs in bench.stress_jobs:
        name = f"dardis-throughput, first {jobs}"
        costs = in_turns({name: case.dardis(jobs)}, bench.repeats)[name]
        measured = row(case, name, costs, jobs)
        decision_s = json.loads((case.out / "metrics.json").read_text())["decision_cpu_s"]
        notes = {
            "reservations_per_node": round(reservations_per_node(case.out / "jobs.csv", case.nodes), 2),
            "cpu_ms_per_job": round(measured.cpu_s.median / jobs * 1e3, 4),
            "decision_ms_per_job": round(decision_s / jobs * 1e3, 4),
        }
        rows.append(replace(measured, notes=notes))
    return rows


def reservations_per_node(jobs_csv: Path, nodes: int) -> float:
    """Reservations, running or to come, that a node holds on average when a job arrives."""
    table = pd.read_csv(jobs_csv, usecols=["submission_time", "finish_time", "units_by_node"]).dropna()
    width = table["units_by_node"].str.count(":").to_numpy()
    arrivals = np.sort(table["submission_time"].to_numpy())
    finish = table["finish_time"].to_numpy()
    by_arrival, by_finish = np.argsort(table["submission_time"].to_numpy()), np.argsort(finish)
    made = np.cumsum(width[by_arrival])[np.searchsorted(arrivals, arrivals, side="right") - 1]
    over = np.concatenate([[0], np.cumsum(width[by_finish])])[np.searchsorted(finish[by_finish], arrivals, "right")]
    return float(np.mean(made - over) / nodes)


def _accasim_python() -> Path:
    """Return the interpreter of AccaSim's own environment, made in the user's cache at the first call."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "dardis-bench" / ACCASIM.replace("==", "-")
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        sys.stderr.write(f"installing {ACCASIM} in {folder}\n")
        run_once([sys.executable, "-m", "venv", "--clear", str(folder)])
        run_once([str(python), "-m", "pip", "install", "--no-input", ACCASIM])
        ready.touch()
    return python


PARTS: dict[str, Callable[[Bench], list[Row]]] = {
    "easy": against_bare_loop,
    "easy-pool": lambda bench: easy_on(bench, "hpc2n-50k-1x240", (1, 240), "<= 5"),
    "easy-nodes": lambda bench: easy_on(bench, "hpc2n-50k-120x2", (120, 2), "<= 10"),
    "queue-loop": queue_loops,
    "late-easy": late_beside_easy,
    "kinds": kinds,
    "ways": search_ways,
    "ten-jobs": ten_jobs,
    "compare": compared,
    "reports": reports,
    "replan": replan_beside_easy,
    "solvers": constraint_solvers,
    "easy-accasim": lambda bench: beside_accasim(bench, "curie-5k-easy", "easy", "easy"),
    "accasim": lambda bench: beside_accasim(bench, "curie-5k", "fcfs", "dardis-throughput"),
    "stress": stress,
    "python": lambda bench: from_python(bench.repeats),
    "environments": lambda bench: environments(bench.traces / KTH, bench.repeats),
    "asks": lambda bench: asks(bench.repeats),
    "rounds": lambda bench: rounds(bench.repeats),
    "messages": lambda bench: message_codecs(bench.repeats),
    "ranks": lambda bench: over_ranks(bench.repeats),
    "live": lambda bench: live(bench.folder, bench.repeats),
    "page": lambda bench: page(bench.folder, bench.repeats),
    "plans": lambda bench: plans(bench.repeats),
    "planning": lambda bench: planning(bench.traces, bench.folder, bench.repeats),
    "full-traces": full_traces,
    "auction": lambda _: auctions(),
}
SLOW = {"full-traces", "ways", "ranks", "live", "page", "plans", "planning", "auction"}
"""Parts that run only when they are named."""
