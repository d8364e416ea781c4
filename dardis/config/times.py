"""Decides which times and spans files may state."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from dardis.config.toml_file import Table
from dardis.model.limits import Time
from dardis.model.moments import parse_utc


def _moment(value: object) -> int:
    """Unix seconds of an ISO 8601 text or a TOML date and time; without an offset it is UTC."""
    try:
        return parse_utc(value.isoformat() if isinstance(value, datetime) else str(value))
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r}; expected a moment of UTC such as 2023-07-03T00:00Z") from None


Moment = Annotated[int, BeforeValidator(_moment)]


class SpanTable(Table):
    """`[start_s, end_s)`, on the trace's clock."""

    start_s: Time = Field(description="Start of the span, s on the trace's clock.")
    end_s: Time = Field(description="End of the span: the first second after it.")

    @model_validator(mode="after")
    def _has_length(self) -> SpanTable:
        if self.end_s <= self.start_s:
            raise ValueError(f"end_s {self.end_s} is not after start_s {self.start_s}")
        return self
