"""What MPI's launchers take for ssh: `[OPTIONS] NODE WORDS…` runs the words, joined by blanks, by a shell there."""

from __future__ import annotations

import getopt
import sys
from collections.abc import Sequence
from typing import Final

from dardis.live.client import Client, place_of
from dardis.live.remote import FAILED, run_on
from dardis.model.errors import DardisError, InputError

_OPTIONS: Final = "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:"
"""Those of ssh, which mean nothing here."""


def main(words: Sequence[str] | None = None) -> int:
    """Run it; the exit status."""
    try:
        node, command = node_and_command(sys.argv[1:] if words is None else words)
        return run_on(Client(place_of(None)), node, ["/bin/sh", "-c", command])
    except (DardisError, BrokenPipeError) as error:
        sys.stderr.write(f"dardis: {error}\n")
        return FAILED


def node_and_command(words: Sequence[str]) -> tuple[str, str]:
    """The node, and what its shell is to run. Raises InputError."""
    try:
        _, left = getopt.getopt(list(words), _OPTIONS)
    except getopt.GetoptError as error:
        raise InputError("remote-shell", str(error), "options as ssh has them") from None
    if len(left) < 2:
        raise InputError("remote-shell", "no command" if left else "no node", "NODE COMMAND…")
    return left[0].rpartition("@")[2], " ".join(left[1:])
