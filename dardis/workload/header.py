"""What a trace's header says of the machine that it was recorded on, beside the platform that it is replayed on."""

from __future__ import annotations

import re
from typing import Final

from dardis.model.platform import Platform
from dardis.workload.trace import Trace

_STATED: Final = re.compile(r";*\s*(MaxProcs|MaxNodes)\s*:\s*(\d{1,12})\b", re.ASCII)


def stated_size(trace: Trace) -> dict[str, int]:
    """What an SWF header says by `MaxProcs` and `MaxNodes`; only what is above 0."""
    found: dict[str, int] = {}
    for comment in trace.comments:
        if (match := _STATED.match(comment)) is not None and int(match[2]) > 0:
            found.setdefault(match[1], int(match[2]))
    return found


def unlike_header(trace: Trace, platform: Platform) -> str:
    """What to say where the header states other processors than the platform has; empty: they agree, or can't be told.

    Processors go before nodes, which some archives count otherwise. A trace of one named partition is a part of the
    machine that its header describes, so nothing is said.
    """
    stated = stated_size(trace)
    partitions = {*trace.partition.tolist()}
    if not stated or (len(partitions) == 1 and partitions != {""}):
        return ""
    name = "MaxProcs" if "MaxProcs" in stated else "MaxNodes"
    has, what = (platform.cores, "cores") if name == "MaxProcs" else (platform.node_count, "nodes")
    if stated[name] == has:
        return ""
    return f"its header states {name} {stated[name]:,}, and {platform.name} has {has:,} {what}"
