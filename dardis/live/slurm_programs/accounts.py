"""`sacctmgr list` and `sshare`: list nothing, without accounts."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.model.errors import InputError


def main(words: Sequence[str]) -> int:
    """List nothing. Raises InputError for a change of accounts."""
    commands = [word for word in words if not word.startswith("-")]
    if commands[:1] and commands[0] in {"add", "create", "modify", "delete", "remove"}:
        raise InputError("sacctmgr", repr(commands[0]), "list or show: there are no accounts here")
    return 0
