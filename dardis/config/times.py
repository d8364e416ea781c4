"""Decides which times and spans files may state."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from dardis.config.toml_file import Table

LATEST = 1 << 40
"""Times lie within this many seconds of 0."""
Time = Annotated[int, Field(ge=-LATEST, le=LATEST)]
Seconds = Annotated[int, Field(ge=0, le=LATEST)]


class SpanTable(Table):
    """`[start_s, end_s)`, on the trace's clock."""

    start_s: Time
    end_s: Time

    @model_validator(mode="after")
    def _has_length(self) -> SpanTable:
        if self.end_s <= self.start_s:
            raise ValueError(f"end_s {self.end_s} is not after start_s {self.start_s}")
        return self
