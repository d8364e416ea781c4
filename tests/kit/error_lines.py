"""What is refused is told in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dardis.model.errors import InputError


def line_of(call: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """The one line with which this call is refused."""
    with pytest.raises(InputError) as refused:
        call(*arguments, **named)
    line = str(refused.value)
    assert "\n" not in line
    return line
