"""Set-up of AUCSCHED."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dardis.config.settings import setting
from dardis.dispatch.auction.clearing import Alpha, Aucsched, BidClasses, Terms
from dardis.dispatch.cp.setups import ModelSetUp
from dardis.dispatch.setups import ProfileCheck
from dardis.model.choices import Correction, Expecting, NodeChoice, OnOff

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, slots=True)
class AuctionSetUp(ModelSetUp):
    """AUCSCHED (001)."""

    # A bid is for nodes free now, for the job's maximum runtime.
    profile_check: ProfileCheck = setting(ProfileCheck.SPAN, key=False)
    node_choice: NodeChoice = setting(NodeChoice.BEST_FIT, key=False)
    expected: Expecting = setting(Expecting.WALLTIME, key=False)
    correction: Correction = setting(Correction.STEPS, key=False)
    step: int = setting(
        5,
        about="Seconds between auctions, counted from the first submission. An auction without a change before it"
        " is skipped.",
    )
    window: int = setting(100, about="Number of jobs that bid. Jobs that cannot start now count too.")
    bids_per_job: int = setting(
        5,
        about="Largest number of bids of classes A to C of a job. Alternatives share them, with one each at least.",
    )
    bids: BidClasses = BidClasses.ALL
    slurm_bids: OnOff = setting(
        OnOff.OFF,
        about="Whether each job also bids for the nodes of Slurm's best fit, given the bids of the jobs before it"
        " (preference 1).",
    )
    alpha: Alpha = Alpha.EXACT
    size_weight: int = setting(
        1000, least=0, about="Priority of a job as large as the machine, by its largest share of a resource kind."
    )
    age_weight: int = setting(10, least=0, about="Priority of an hour of waiting.")
    search_nodes: int = setting(
        20,
        about="Branch-and-bound nodes of each run of the solver (HiGHS in OR-Tools' MathOpt, one thread), and its most"
        " runs in an auction. The same inputs give the same winners.",
    )

    main_loop: OnOff = setting(
        OnOff.OFF,
        about="Whether Slurm's main loop precedes each auction: jobs of the window start by priority, on nodes by best"
        " fit, until one must wait. This job has a reservation at its earliest start, which bids must leave free.",
    )

    @property
    def step_s(self) -> int:
        """Seconds between auctions."""
        return self.step

    @property
    def repeat_s(self) -> int:
        """Seconds until the next auction."""
        return self.step

    @property
    def fills_idle(self) -> bool:
        """The main loop starts the first job that fits, and keeps a reservation."""
        return self.main_loop is OnOff.OFF

    def model(self) -> Aucsched:
        """As set."""
        return Aucsched(
            Terms(
                self.window, self.bids_per_job, self.bids, self.slurm_bids is OnOff.ON, self.alpha, self.size_weight,
                self.age_weight, self.search_nodes, self.main_loop is OnOff.ON,
            )
        )  # fmt: skip

    def checked(self) -> Self:
        """All settings are compatible."""
        return self


AUCTION_SETUPS: dict[str, AuctionSetUp] = {
    "aucsched": AuctionSetUp(about="jobs bid for adjacent nodes, an integer programme chooses the winners (AUCSCHED)")
}
