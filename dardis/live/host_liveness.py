"""Which hosts of the machine are heard, and which host each rank of an MPI launcher is. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dardis.live.live_jobs import LiveJob, State
from dardis.live.machine import HostFacts
from dardis.model.addresses import FIRST_HOST, HostId
from dardis.model.errors import InputError


class Hearing:
    """What is known of hosts: who is silent, who refuses this service, who was led under which marks."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """All are silent until they tell of their runs."""
        self._hosts = hosts
        self.silent = set(hosts)
        """Hosts of which nobody knows what becomes of their runs; nothing starts on their nodes."""
        self._refusing: set[str] = set()
        self._excused: set[str] = set()
        """Those that refuse, and were given up all the same."""
        self._marks: dict[str, Sequence[str]] = {}

    # ------------------------------------------------------------------------------------------------------------------
    # What is known.

    @property
    def marks(self) -> Mapping[str, Sequence[str]]:
        """What the keepers of hosts that were heard were led under, now and before: this is how they are known."""
        return self._marks

    @property
    def refusing(self) -> frozenset[str]:
        """Hosts that keep all from starting: their keepers were led under a higher epoch than this service's."""
        return frozenset(self._refusing)

    @property
    def all_silent(self) -> bool:
        """Whether nobody is heard."""
        return len(self.silent) == len(self._hosts)

    @property
    def silent_numbers(self) -> set[HostId]:
        """The silent ones by number."""
        return {HostId(number) for number, host in enumerate(self._hosts) if host in self.silent}

    def is_heard(self, host: str) -> bool:
        """Whether a host is one of the machine, and not silent."""
        return host in self._hosts and host not in self.silent

    def twin(self, marks: Sequence[str]) -> str | None:
        """The host that is heard of which a keeper with these marks, too, must be a copy."""
        heard = (host for host in self._marks if self.is_heard(host))
        return next((host for host in heard if not set(marks).isdisjoint(self._marks[host])), None)

    def missed(self, down: Sequence[HostId]) -> set[str]:
        """Who has not answered: if all of these are silent already, nobody knows which, and all but the first, here."""
        hosts = self._hosts
        return {hosts[host] for host in down} - self.silent or set(hosts[FIRST_HOST + 1 :]) - self.silent

    def why_lost(self, job: LiveJob) -> str:
        """Why nobody knows what becomes of a job that runs; empty: it is heard of."""
        if job.state is not State.RUNNING or self.is_heard(job.host):
            return ""
        return f"its host {job.host} " + ("is silent" if job.host in self.silent else "is not there any more")

    # ------------------------------------------------------------------------------------------------------------------
    # What happens.

    def knows(self, host: str, marks: Sequence[str]) -> None:
        """The keeper of a host tells under which marks it was led."""
        self._marks[host] = marks

    def is_back(self, host: str) -> None:
        """A host has told of all its runs."""
        self.silent.discard(host)
        self._refusing.discard(host)
        self._excused.discard(host)

    def falls_silent(self, host: str) -> bool:
        """Nobody knows what becomes of a host's runs from now on; whether that is new."""
        is_new = host not in self.silent
        self.silent.add(host)
        return is_new

    def refuses(self, host: str) -> bool:
        """The keeper of a host refuses this service; whether that counts: it was not given up all the same."""
        if host not in self._excused:
            self._refusing.add(host)
        return host in self._refusing

    def excuse(self, host: str) -> None:
        """Let a host that refuses keep nobody from starting."""
        if host in self._refusing:
            self._excused.add(host)
            self._refusing.discard(host)


@dataclass(frozen=True, slots=True)
class Said:
    """What a rank says of itself."""

    version: str
    """Of dardis."""
    boot: str
    """Of its machine: ranks that share a machine have it in common."""
    facts: HostFacts
    """Of its machine, as far as it may use that."""
    folder: str
    """The service's, as this rank would have it; the first one's counts."""
    key: str
    """Its public one."""

    def as_list(self) -> list[Any]:
        """As plain values."""
        facts = self.facts
        return [
            self.version, self.boot, self.folder, self.key, facts.name, list(facts.cores), facts.memory_mib, facts.gpus,
        ]  # fmt: skip

    @classmethod
    def from_list(cls, told: Sequence[Any]) -> Said:
        """What `as_list` has told."""
        version, boot, folder, key, name, cores, memory_mib, gpus = told
        return cls(version, boot, HostFacts(name, tuple(cores), memory_mib, gpus), folder, key)


@dataclass(frozen=True, slots=True)
class Seat:
    """A rank's host."""

    facts: HostFacts
    folder: Path


def seats_of(said: Sequence[Said], *, bound: bool) -> list[Seat]:
    """The hosts of all ranks. Raises InputError.

    Ranks of one machine share it out: its processors (`bound`: each has some for itself) and its memory evenly; the
    first one has its GPUs, which jobs know by number.
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
        # A launcher may have bound each rank to a part of them.
        cores = sorted({core for other in said if other.boot == one.boot for core in other.facts.cores})
        if bound and len(cores) < of:
            found = f"{of} ranks share {len(cores)} processors"
            raise InputError(one.facts.name, found, "at most a rank for each, or --platform")
        mine = tuple(cores[len(cores) * place // of : len(cores) * (place + 1) // of])
        facts = replace(one.facts, cores=mine, memory_mib=one.facts.memory_mib // of)
        folder = Path(first.folder)
        if place > 0:
            facts = replace(facts, name=f"{one.facts.name}-{place}", gpus=0)
            folder /= further(place)
        seats.append(Seat(facts, folder))
    return seats


def further(place: int) -> str:
    """The folder of a machine's further hosts, in that of its first one."""
    return f"host-{place}"


def on_one_machine(said: Sequence[Said]) -> bool:
    """Whether all ranks are on the same machine."""
    return len({one.boot for one in said}) == 1
