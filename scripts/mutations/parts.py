"""All mutations, part by part."""

from __future__ import annotations

from scripts.mutations.account import ACCOUNT
from scripts.mutations.asking import ASKING_MODELS
from scripts.mutations.auction import AUCTIONS
from scripts.mutations.calibration import CALIBRATION
from scripts.mutations.clairvoyant import CLAIRVOYANCE
from scripts.mutations.expected import EXPECTED
from scripts.mutations.mutation import Mutation
from scripts.mutations.planner import PLANNER
from scripts.mutations.protocol import PROTOCOL
from scripts.mutations.queues import QUEUES
from scripts.mutations.site import SITE
from scripts.mutations.switching import SWITCHING

MUTATIONS: tuple[Mutation, ...] = (
    *PROTOCOL,
    *SWITCHING,
    *PLANNER,
    *ACCOUNT,
    *EXPECTED,
    *ASKING_MODELS,
    *AUCTIONS,
    *CLAIRVOYANCE,
    *QUEUES,
    *SITE,
    *CALIBRATION,
)
