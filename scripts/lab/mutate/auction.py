"""Faults of auctions: nodesets, bids, what is free, the programme, and who wins."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

AUCTION = "dardis/dispatch/auction"
NODESETS, BIDS, FREE = f"{AUCTION}/nodesets.py", f"{AUCTION}/bids.py", f"{AUCTION}/free.py"
PROGRAMME, CLEAR, SETUPS = f"{AUCTION}/programme.py", f"{AUCTION}/clear.py", f"{AUCTION}/setups.py"
MILP = "dardis/solver/milp.py"
BY_HAND = ("tests/unit/dispatch/auction/test_auction_by_hand.py",)
OF_BIDS = (*BY_HAND, "tests/properties/test_aucsched.py")
OF_AUCTIONS = ("tests/properties/test_aucsched.py",)
OF_SEARCHES = ("tests/unit/solver/test_milp.py",)

AUCTIONS = (
    Mutation("a nodeset has nodes without a core", NODESETS, "(free[:, 0] > 0)", "(free[:, 0] >= 0)", BY_HAND),
    Mutation(
        "bids in the middle are worth what aligned ones are",
        BIDS,
        "(False, Class.B): (0.5, 0.0, 0.0)",
        "(False, Class.B): (0.0, 0.0, 0.0)",
        BY_HAND,
    ),
    Mutation(
        "a preference falls below 0 where runs are more than nodesets",
        BIDS,
        "of_sets = max(self.sets, sets)",
        "of_sets = self.sets",
        OF_AUCTIONS,
    ),
    Mutation(
        "bids in the middle begin where their run begins",
        BIDS,
        "        start = first + 1\n",
        "        start = first\n",
        OF_BIDS,
    ),
    Mutation(
        "of a job on exactly so many nodes the first windows alone are looked at",
        BIDS,
        "            if window is None and windows.asked.exact:",
        "            if window is None and windows.asked.exact < 0:",
        OF_BIDS,
    ),
    Mutation(
        "who asks for neighbours bids across runs",
        BIDS,
        "    if not (contiguous or asked.contiguous):\n",
        "    if not contiguous:\n",
        OF_BIDS,
    ),
    Mutation(
        "Slurm's best fit takes the largest run",
        BIDS,
        "min(enough) if enough else",
        "max(enough) if enough else",
        OF_BIDS,
    ),
    Mutation(
        "what is closed later is free",
        FREE,
        "if time[i] < longest and",
        "if time[i] < 0 and",
        OF_AUCTIONS,
    ),
    Mutation(
        "who ends just when something closes counts as longer",
        FREE,
        "np.searchsorted(self.until, duration)",
        'np.searchsorted(self.until, duration, side="right")',
        OF_AUCTIONS,
    ),
    Mutation(
        "SLURM bids overlook shorter jobs before them",
        CLEAR,
        "least = left[: one.level + 1].min(axis=0)",
        "least = left[one.level]",
        OF_AUCTIONS,
    ),
    Mutation(
        "preferences outweigh priorities",
        PROGRAMME,
        "gcd(*priorities) / (len(priorities) + 1)",
        "max(priorities) / 2.0",
        (*BY_HAND, *OF_AUCTIONS),
    ),
    Mutation(
        "in the programme a cell's units are those of its fullest node",
        PROGRAMME,
        "-np.inf, float(have.sum()))",
        "-np.inf, float(have.max() * len(nodes)))",
        OF_AUCTIONS,
    ),
    Mutation(
        "jobs win with several bids",
        PROGRAMME,
        "rows.add([(place, 1.0) for place in places], -np.inf, 1.0)",
        "rows.add([(place, 1.0) for place in places], -np.inf, 2.0)",
        OF_AUCTIONS,
    ),
    Mutation(
        "a winner's spare units may be left out",
        PROGRAMME,
        "*((variable, 1.0) for variable in variables)], 0.0, 0.0)",
        "*((variable, 1.0) for variable in variables)], -np.inf, 0.0)",
        OF_AUCTIONS,
    ),
    Mutation(
        "units are handed out as if longer jobs took nothing of now",
        PROGRAMME,
        "heads.append(at[level - 1] if level else np.full(nodes, sink))",
        "heads.append(np.full(nodes, sink))",
        OF_AUCTIONS,
    ),
    Mutation(
        "who is behind the window waits until something happens",
        SETUPS,
        '"""At the next auction: one has a window of jobs."""\n        return self.step\n',
        "return None\n",
        OF_AUCTIONS,
    ),
    Mutation("a search has no bound", MILP, "node_limit=search.nodes", "node_limit=1_000_000", OF_SEARCHES),
    Mutation(
        "the solver takes several threads",
        MILP,
        'int_options["threads"] = 1\n    parameters.highs.string_options["parallel"] = "off"',
        'int_options["threads"] = 3\n    parameters.highs.string_options["parallel"] = "on"',
        OF_SEARCHES,
    ),
)
