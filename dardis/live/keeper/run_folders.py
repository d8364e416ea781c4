"""Private folders of runs for temporary files, removed by child processes of their owners."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from glob import escape, glob
from hashlib import sha256
from shutil import rmtree

from dardis.live.keeper.child import RunSettings
from dardis.live.keeper.kernel import close_files


class RunFolders:
    """Temporary folders of a supervisor's runs."""

    def __init__(self, setting: RunSettings) -> None:
        self._prefix = f"{tempfile.gettempdir()}/dardis-{setting.supervisor}-"
        self.removers: set[int] = set()

    def path(self, run: str, incarnations: Sequence[str]) -> str:
        """Path of a run's folder, unguessable."""
        return f"{self._prefix}{run}-{sha256(''.join(incarnations[-1:]).encode()).hexdigest()[:16]}"

    def remove_others(self, kept: Collection[str | None]) -> None:
        """Remove the folders of runs that an earlier supervisor has left."""
        for path in glob(f"{escape(self._prefix)}*"):
            if path not in kept:
                self.remove(path)

    def remove(self, path: str) -> None:
        """Remove a folder in the background, if it is there."""
        with suppress(OSError):
            os.rmdir(path)
            return
        try:
            owner = os.lstat(path)
            pid = os.fork()
        except OSError:
            return
        if pid:
            self.removers.add(pid)
            return
        try:
            close_files()
            if os.geteuid() == 0:  # links in the folder then lead no further than their owner may go
                os.setgroups(())
                os.setresgid(owner.st_gid, owner.st_gid, owner.st_gid)
                os.setresuid(owner.st_uid, owner.st_uid, owner.st_uid)
            rmtree(path, ignore_errors=True)
        finally:
            os._exit(0)
