"""What is guarded: every dispatcher at every site, plain and with all that it can be asked for; and a plan's files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.lab.schedule_digests.sites import GENERATED, RECORDED, Site, platform_file

DISTRIBUTED = ("dardis-throughput", "dardis-profile", "dardis-balance", "dardis-conservative", "dardis-late")
CENTRAL = ("easy", "easy order=sjbf", "conservative", "rules-fcfs", "pbs-fifo", "pbs-walltime")
PLANNING = (
    "replan", "replan solver=on", "pcp14", "pcp19", "hcp19", "pcp20", "cp-eurora", "portfolio light=0", "aucsched",
)  # fmt: skip
FEW_PLANNED = 100
"""They run at the generated site alone: a solver takes its time, and another version of it may answer otherwise."""
RANKS = (1, 2, 4)
PLAN_FILES = ("profile.csv", "target.json", "onoff.csv", "schedule.csv")
"""Of a plan's folder, those that depend on nothing else than what is planned."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command at a site; its arguments may name `{folder}` and `{traces}`, and `--out` is added.

    With `ranks` it runs under `mpiexec`, and its digest is that of the case of the same name, without ranks.
    """

    name: str
    site: Site
    arguments: tuple[str, ...]
    ranks: int = 0

    @property
    def title(self) -> str:
        """The name, and on how many ranks."""
        return f"{self.name} on {self.ranks} ranks" if self.ranks else self.name

    @property
    def plans(self) -> bool:
        """Whether it is a plan."""
        return self.arguments[0] == "plan"

    @property
    def target(self) -> str | None:
        """The name of the plan whose target it plays."""
        return plan_name(self.site) if _target(self.site) in self.arguments else None


def plan_name(site: Site) -> str:
    """The name of a site's plan."""
    return f"{site.name}/plan"


def _target(site: Site) -> str:
    return "{folder}/" + f"{site.name}-plan/target.json"


def all_cases(sites: Sequence[Site] = (GENERATED, *RECORDED)) -> list[Case]:
    """Every case at these sites; a plan comes before those that play it."""
    return [case for site in sites for case in _cases(site)]


def _cases(site: Site) -> Iterator[Case]:
    platform = ("--platform", "{folder}/" + platform_file(site))
    trace = site.trace if "/" in site.trace else "{folder}/" + site.trace
    yield Case(
        plan_name(site), site, ("plan", "--history", trace, *platform, "--day", str(site.day), "--time-limit", "0")
    )
    few = _jobs(site.few)
    from_day = ("--from", str(site.first + site.day * 86_400), *_jobs(site.few))
    maintained = ("--platform", "{folder}/" + platform_file(site, maintained=True))
    cap = ("--profile", "{folder}/" + f"{site.name}-cap.csv")
    if site is GENERATED:
        yield from _planning(site, trace, platform, maintained, cap)
    for dispatcher in (*DISTRIBUTED, *CENTRAL):
        name, *settings = dispatcher.split()
        plain = ("simulate", trace, "--dispatcher", name, *_set(*settings))
        title = f"{site.name}/{dispatcher}"
        yield Case(title, site, (*plain, *platform, *_jobs(site.jobs)))
        for rule in ("soft", "hard"):
            yield Case(f"{title}/{rule}", site, (*plain, *platform, *few, *cap, *_set(f"profile={rule}")))
        yield Case(f"{title}/maintenance", site, (*plain, *maintained, *few))
        if dispatcher in DISTRIBUTED:
            yield Case(f"{title}/arity", site, (*plain, *platform, *few, "--arity", "8"))
            if name != "dardis-late":  # who binds late knows what all nodes have published
                yield Case(f"{title}/sample", site, (*plain, *platform, *few, "--sample", "default"))
            yield Case(f"{title}/switching", site, (*plain, *platform, *from_day, "--profile", _target(site)))
        if site.name == "eurora" and dispatcher in DISTRIBUTED:
            for ranks in RANKS:
                yield Case(title, site, (*plain, *platform, *_jobs(site.jobs)), ranks)


def _planning(
    site: Site, trace: str, platform: tuple[str, ...], maintained: tuple[str, ...], cap: tuple[str, ...]
) -> Iterator[Case]:
    """Those who plan, or ask a solver, on few jobs."""
    few = _jobs(FEW_PLANNED)
    for dispatcher in PLANNING:
        name, *settings = dispatcher.split()
        # PCP'14 goes by expected waits.
        deadlines = ("--deadlines", "factor:2") if name == "pcp14" else ()
        plain = ("simulate", trace, "--dispatcher", name, *few, *deadlines, *_set(*settings))
        title = f"{site.name}/{dispatcher}"
        yield Case(title, site, (*plain, *platform))
        yield Case(f"{title}/hard", site, (*plain, *platform, *cap, *_set("profile=hard")))
        yield Case(f"{title}/maintenance", site, (*plain, *maintained))


def _jobs(count: int | None) -> tuple[str, ...]:
    return () if count is None else ("--jobs", str(count))


def _set(*settings: str) -> tuple[str, ...]:
    return tuple(f"--set={setting}" for setting in settings)
