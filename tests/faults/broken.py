"""A node manager that breaks a rule, for tests that show that this is found out."""

from __future__ import annotations

from dardis.node_manager import NodePool


class NoFitTest(NodePool):
    """Takes every claim, whether it fits or not."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.state.reserve = lambda *_: True
        self.state.release = lambda *_: None
