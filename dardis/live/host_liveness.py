"""Reachable hosts, and hosts of MPI ranks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dardis.live.live_jobs import LiveJob, LiveJobState
from dardis.live.machine import HostFacts
from dardis.model.addresses import FIRST_HOST, HostId
from dardis.model.errors import InputError


class HostLiveness:
    """Liveness, refusals and incarnations of hosts."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = hosts
        self.unreachable = set(hosts)
        self._refusing: set[str] = set()
        self._excused: set[str] = set()
        """Hosts given up despite their refusal."""
        self._marks: dict[str, Sequence[str]] = {}

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def incarnations(self) -> Mapping[str, Sequence[str]]:
        """Incarnations of supervisors, old and new."""
        return self._marks

    @property
    def refusing(self) -> frozenset[str]:
        """Hosts with a higher epoch; they block all starts."""
        return frozenset(self._refusing)

    @property
    def are_all_unreachable(self) -> bool:
        """Whether no host is reachable."""
        return len(self.unreachable) == len(self._hosts)

    @property
    def unreachable_ids(self) -> set[HostId]:
        """Numbers of unreachable hosts."""
        return {HostId(number) for number, host in enumerate(self._hosts) if host in self.unreachable}

    def is_reachable(self, host: str) -> bool:
        """Whether a host is part of the machine and reachable."""
        return host in self._hosts and host not in self.unreachable

    def find_copied_host(self, marks: Sequence[str]) -> str | None:
        """Reachable host with an incarnation of this one: a copied folder."""
        heard = (host for host in self._marks if self.is_reachable(host))
        return next((host for host in heard if not set(marks).isdisjoint(self._marks[host])), None)

    def unresponsive_hosts(self, down: Sequence[HostId]) -> set[str]:
        """Hosts without an answer; if `down` names only unreachable hosts: all but the first."""
        hosts = self._hosts
        return {hosts[host] for host in down} - self.unreachable or set(hosts[FIRST_HOST + 1 :]) - self.unreachable

    def lost_reason(self, job: LiveJob) -> str:
        """Why a running job is lost; empty if reachable."""
        if job.state is not LiveJobState.RUNNING or self.is_reachable(job.host):
            return ""
        return f"its host {job.host} " + ("is unreachable" if job.host in self.unreachable else "was removed")

    # ------------------------------------------------------------------------------------------------------------------

    def set_incarnations(self, host: str, marks: Sequence[str]) -> None:
        """Set a host's incarnations."""
        self._marks[host] = marks

    def on_host_back(self, host: str) -> None:
        """Mark a host as reachable."""
        self.unreachable.discard(host)
        self._refusing.discard(host)
        self._excused.discard(host)

    def on_host_lost(self, host: str) -> bool:
        """Mark a host as unreachable; return whether new."""
        is_new = host not in self.unreachable
        self.unreachable.add(host)
        return is_new

    def on_epoch_refused(self, host: str) -> bool:
        """Record a refusal; return whether the host blocks starts."""
        if host not in self._excused:
            self._refusing.add(host)
        return host in self._refusing

    def ignore_refusal(self, host: str) -> None:
        """Let a refusing host block nothing."""
        if host in self._refusing:
            self._excused.add(host)
            self._refusing.discard(host)


@dataclass(frozen=True, slots=True)
class RankInfo:
    """Rank's data."""

    version: str
    boot: str
    """Boot ID; equal on a machine."""
    facts: HostFacts
    folder: str
    """Set by the first rank."""
    key: str

    def as_list(self) -> list[Any]:
        """As JSON values."""
        facts = self.facts
        return [
            self.version, self.boot, self.folder, self.key, facts.name, list(facts.cores), facts.memory_mib, facts.gpus,
            facts.tmp_mib,
        ]  # fmt: skip

    @classmethod
    def from_list(cls, told: Sequence[Any]) -> RankInfo:
        """From JSON values."""
        version, boot, folder, key, name, cores, memory_mib, gpus, tmp_mib = told
        return cls(version, boot, HostFacts(name, tuple(cores), memory_mib, gpus, tmp_mib), folder, key)


@dataclass(frozen=True, slots=True)
class RankPlacement:
    """Rank's host."""

    facts: HostFacts
    folder: Path


def rank_placements(said: Sequence[RankInfo], *, bound: bool) -> list[RankPlacement]:
    """Hosts of ranks. Raises InputError.

    Ranks on a machine share memory, and processors if `bound`, evenly. The first gets all GPUs.
    """
    first = said[FIRST_HOST]
    ranks = Counter(one.boot for one in said)
    seen: Counter[str] = Counter()
    seats = []
    for one in said:
        if one.version != first.version:
            found = f"has dardis {one.version}"
            raise InputError(one.facts.name, found, f"{first.version}, as {first.facts.name} has")
        place, of = seen[one.boot], ranks[one.boot]
        seen[one.boot] += 1
        # The launcher may have bound each rank to some processors.
        cores = sorted({core for other in said if other.boot == one.boot for core in other.facts.cores})
        if bound and len(cores) < of:
            found = f"{of} ranks share {len(cores)} processors"
            raise InputError(one.facts.name, found, "at most one rank for each, or --platform")
        mine = tuple(cores[len(cores) * place // of : len(cores) * (place + 1) // of])
        facts = replace(one.facts, cores=mine, memory_mib=one.facts.memory_mib // of)
        folder = Path(first.folder)
        if place > 0:
            facts = replace(facts, name=f"{one.facts.name}-{place}", gpus=0)
            folder /= further_host_folder(place)
        seats.append(RankPlacement(facts, folder))
    return seats


def further_host_folder(place: int) -> str:
    """Folder name of a further host on a machine."""
    return f"host-{place}"


def are_on_one_machine(said: Sequence[RankInfo]) -> bool:
    """Whether all ranks share a machine."""
    return len({one.boot for one in said}) == 1
