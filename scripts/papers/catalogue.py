"""Reads the commands of each paper (papers.toml) and the claims of all papers (docs/reproduction/claims.csv)."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

ROOT: Final = Path(__file__).resolve().parents[2]
CLAIMS: Final = ROOT / "docs" / "reproduction" / "claims.csv"
VERDICTS: Final = ("holds", "holds in direction", "does not hold", "not testable")


class Command(BaseModel):
    """A command of a paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    line: str
    covers: str
    time: str = "not measured"
    within_hour: bool = False
    folder: Literal["", "traces", "data"] = ""


class Paper(BaseModel):
    """Title and commands of a paper or a chapter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    commands: list[Command]


class Claim(NamedTuple):
    """A claim with our verdict; the columns of claims.csv."""

    paper: str
    place: str
    claim: str
    value: str
    ours: str
    verdict: str
    command: str
    remark: str


def read_papers() -> dict[str, Paper]:
    """All papers by name."""
    table = tomllib.loads(Path(__file__).with_name("papers.toml").read_text(encoding="utf-8"))
    return {name: Paper.model_validate(paper) for name, paper in table.items()}


def read_claims() -> list[Claim]:
    """All claims, in the order of the file."""
    with CLAIMS.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        if (head := tuple(next(rows))) != Claim._fields:
            msg = f"{CLAIMS}: columns {','.join(head)}; expected {','.join(Claim._fields)}"
            raise ValueError(msg)
        return [Claim(*row) for row in rows]


def summary_rows() -> list[list[str]]:
    """Papers with counts of claims by verdict, and commands, for the docs."""
    claims = read_claims()
    rows = [["paper", "claims", *VERDICTS, "command", "time"]]
    for name, paper in read_papers().items():
        of = [one.verdict for one in claims if one.paper == name]
        times = "; ".join(one.time for one in paper.commands if one.within_hour and one.time != "seconds")
        counts = [f"{of.count(verdict)}" for verdict in VERDICTS]
        link = f"[{paper.title.partition(':')[0]}](#{_anchor(paper.title)})"
        rows.append([link, f"{len(of)}", *counts, f"`scripts/reproduce {name}`", times])
    every = [one.verdict for one in claims]
    return [*rows, ["all", f"{len(every)}", *(f"{every.count(verdict)}" for verdict in VERDICTS), "", ""]]


def command_rows(name: str) -> list[list[str]]:
    """Commands of a paper, for the docs."""
    return [["command", "covers", "time"], *([f"`{c.line}`", c.covers, c.time] for c in read_papers()[name].commands)]


def claim_rows(name: str) -> list[list[str]]:
    """Claims of a paper, for the docs."""
    of = [one for one in read_claims() if one.paper == name]
    rows = [[one.place, one.claim, one.value, one.ours, one.verdict, one.remark] for one in of]
    return [["place", "claim", "paper", "ours", "verdict", "remark"], *rows]


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
