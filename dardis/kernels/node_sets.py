"""Whether a node is one that a job may use."""

from __future__ import annotations

from dardis.kernels.jit import inlined
from dardis.model.arrays import Ints
from dardis.model.node_sets import WORD_BITS


@inlined
def may_use(member: Ints, node: int, code: int) -> bool:
    """Whether the node is in the set with this code; `member` and codes are those of `dardis.model.node_sets`.

    No node is in a set with another code: messages may say anything.
    """
    if member.shape[1] == 1:
        return (member[node, 0] & code) != 0
    word = code >> WORD_BITS
    return 0 <= word < member.shape[1] and (member[node, word] & code) != 0
