"""All mutations, part by part."""

from __future__ import annotations

from scripts.lab.mutate.account import ACCOUNT
from scripts.lab.mutate.asking import ASKING_MODELS
from scripts.lab.mutate.auction import AUCTIONS
from scripts.lab.mutate.calibration import CALIBRATION
from scripts.lab.mutate.clairvoyant import CLAIRVOYANCE
from scripts.lab.mutate.expected import EXPECTED
from scripts.lab.mutate.mutation import Mutation
from scripts.lab.mutate.planner import PLANNER
from scripts.lab.mutate.protocol import PROTOCOL
from scripts.lab.mutate.queues import QUEUES
from scripts.lab.mutate.site import SITE
from scripts.lab.mutate.switching import SWITCHING

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
