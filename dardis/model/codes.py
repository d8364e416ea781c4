"""The codes of what a task manager chooses, as messages carry them and kernels read them."""

from __future__ import annotations

from dardis.model.choices import NodeChoice

ROWS, SUMS, CANDIDATES = range(3)
"""What an ask wants: what each node offers; sums over nodes; the best nodes for starts that are named."""
FIRST, UNIFORM, EXPONENTIAL = range(3)
"""Start-time generators: the first instants, or draws as likely as the index, or as that times an exponential decay."""
MIN_START, MAX_PROBABILITY, RANDOM = range(3)
"""Selection policies: which common start is taken."""
BEST_FIT, WORST_FIT, ANY_NODE, FIRST_FIT, CONTIGUOUS = range(5)
NODE_CHOICES = {
    NodeChoice.BEST_FIT: BEST_FIT, NodeChoice.WORST_FIT: WORST_FIT, NodeChoice.RANDOM: ANY_NODE,
    NodeChoice.FIRST_FIT: FIRST_FIT, NodeChoice.CONTIGUOUS: CONTIGUOUS,
}  # fmt: skip
"""Which of the nodes that offer a start are taken."""
NOBODY_RESERVES, HOST_RESERVES, ASKER_RESERVES = range(3)
"""Who sees to a reservation for the first job that can't start now."""
