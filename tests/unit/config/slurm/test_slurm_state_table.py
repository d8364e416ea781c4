"""Slurm's node states: every pair of base state and flag, the combinations that slurmctld sets, unknown words."""

from __future__ import annotations

from pathlib import Path

import pytest

from dardis.config.slurm.state_table import BASE_STATES, FLAGS, MEANINGS, StateMeaning, state_of

DOCS = Path(__file__).parents[4] / "docs" / "formats.md"
POWER = (StateMeaning.OFF, StateMeaning.SHUTTING_DOWN, StateMeaning.BOOTING)


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("base", BASE_STATES)
def test_each_pair_of_base_state_and_flag(base: str, flag: str) -> None:
    state, meaning = state_of(f"{base}+{flag}"), FLAGS[flag]
    closing = [base] if BASE_STATES[base] is StateMeaning.CLOSED else []
    closing += [flag] if meaning in {StateMeaning.CLOSED, StateMeaning.UNRESPONSIVE} else []
    assert state.closing == tuple(closing)
    assert state.is_busy == (StateMeaning.BUSY in {BASE_STATES[base], meaning})
    assert state.power == (meaning if meaning in POWER else "on")
    assert state.unknown == ()
    assert state_of(f"{flag}+{base}".lower())._replace(words=state.words) == state


@pytest.mark.parametrize(("text", "power", "is_busy", "is_closed"), [
    # power_save.c: a node is resumed, with and without a job, and boots without an answer
    ("IDLE+CLOUD+POWERED_DOWN+POWER_UP", "booting", False, False),
    ("IDLE+NOT_RESPONDING+POWERING_UP", "booting", False, False),
    # it is suspended, at once, when its jobs end, or after a drain
    ("IDLE+CLOUD+POWER_DOWN", "shutting down", False, False),
    ("IDLE+POWERING_DOWN+POWERED_DOWN", "shutting down", False, False),
    ("MIXED+POWER_DOWN+POWER_DRAIN", "shutting down", True, False),
    ("IDLE+DRAIN+POWERING_DOWN", "shutting down", False, True),
    ("IDLE+POWERING_DOWN+POWER_UP", "booting", False, False),
    ("IDLE+NOT_RESPONDING+POWERED_DOWN", "off", False, False),
    # the boot took longer than ResumeTimeout, or an administrator closed the node meanwhile
    ("DOWN+CLOUD+NOT_RESPONDING", "on", False, True),
    ("DOWN+NOT_RESPONDING+POWERING_UP", "booting", False, True),
    # reboots
    ("ALLOCATED+REBOOT_REQUESTED+DRAIN", "on", True, True),
    ("IDLE+NOT_RESPONDING+REBOOT_ISSUED", "booting", False, False),
    ("IDLE+COMPLETING+PLANNED", "on", True, False),
])  # fmt: skip
def test_combinations_that_slurmctld_sets(text: str, power: str, is_busy: bool, is_closed: bool) -> None:
    state = state_of(text)
    assert (state.power, state.is_busy, bool(state.closing), state.unknown) == (power, is_busy, is_closed, ())


def test_the_docs_hold_the_table() -> None:
    text = DOCS.read_text()
    for word, meaning in MEANINGS.items():
        assert f"| `{word}` | {meaning} |" in text, word
