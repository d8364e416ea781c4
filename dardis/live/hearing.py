"""Which hosts of the machine are heard, and by which marks their keepers are known. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dardis.live.jobs import LiveJob, State
from dardis.model.addresses import FIRST_HOST, HostId


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
