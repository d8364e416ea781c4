"""The comparison that options and traces, or a file, state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dardis.config.comparison import (
    CompareSpec,
    Comparison,
    Contender,
    TraceSpec,
    contender_of,
    default_name,
    load_comparison,
    trace_and_platform,
    with_grids,
)
from dardis.config.option import option_fields, spec_of
from dardis.config.run import ReplaySpec
from dardis.config.settings import known_settings
from dardis.model.errors import InputError
from dardis.registry import find_dispatcher

_BESIDE_A_FILE: Final = frozenset({"out", "gantt", "clairvoyant", "processes", "force"})
"""Options that have a place beside a file."""


def comparison_of(what: Sequence[Path], options: Mapping[str, Any]) -> tuple[Comparison, CompareSpec]:
    """The comparison of a file or of traces (`TRACE@PLATFORM` has a platform of its own), and its options.

    `options` are values of fields of `ReplaySpec` and `CompareSpec`. Raises InputError.
    """
    own = {name: value for name, value in options.items() if name in CompareSpec.model_fields}
    spec = spec_of(CompareSpec, own)
    if len(what) == 1 and what[0].suffix == ".toml" and trace_and_platform(what[0])[1] is None:
        return _of_file(what[0], options), spec
    return _of_options(what, {name: value for name, value in options.items() if name not in own}, spec), spec


def _of_file(path: Path, options: Mapping[str, Any]) -> Comparison:
    """The comparison that a file states. Raises InputError for options that have no place beside it."""
    for one in (*option_fields(ReplaySpec), *option_fields(CompareSpec)):
        if one.name in options and one.name not in _BESIDE_A_FILE:
            raise InputError(one.option, f"is for traces, and {path} says all itself", "it in that file")
    return load_comparison(path)


def _of_options(traces: Sequence[Path], replay: dict[str, Any], spec: CompareSpec) -> Comparison:
    """The comparison that options state."""
    named = [trace_and_platform(trace) for trace in traces]
    common = replay.get("platform")
    for option, example, lacks in (
        ("--platform", "P.toml", common is None and any(platform is None for _, platform in named)),
        ("--dispatchers", "A,B", spec.dispatchers is None),
    ):
        if lacks:
            found = f"traces without {option} {example}"
            raise InputError("dardis compare", found, "both, or one SPEC.toml that says all")
    workloads = tuple(
        spec_of(TraceSpec, replay | {"name": default_name(trace), "trace": trace, "platform": platform or common})
        for trace, platform in named
    )
    listed = [contender_of(text) for text in _names("--dispatchers", spec.dispatchers or "")]
    _check_shared(spec.settings, listed)
    # What one dispatcher is given comes last, so that it holds.
    contenders = [replace(one, settings=(*spec.settings, *one.settings)) for one in listed]
    return Comparison("dardis compare", workloads, with_grids(contenders, spec.grid), spec)


def _check_shared(settings: Sequence[str], contenders: list[Contender]) -> None:
    """Check that all know the settings that all are given. Raises InputError, which says how to give it to some."""
    known = {one.dispatcher: known_settings(type(find_dispatcher(one.dispatcher).setup)) for one in contenders}
    for text in settings:
        key = text.partition("=")[0]
        have = [name for name, keys in known.items() if key in keys]
        lack = [name for name, keys in known.items() if key not in keys]
        if have and lack:
            told = ",".join(f"{name}:{text}" for name in have)
            found = f"{', '.join(lack)} {'has' if len(lack) == 1 else 'have'} no such setting"
            raise InputError(f"--set {text}", found, f"it where it is known, --dispatchers {told},…")


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(option, repr(text), "names with commas between")
    return names


def pair_of(comparison: Comparison, text: str | None) -> tuple[str, str]:
    """Labels of the two dispatchers that are drawn over time: those of `--gantt`, or the first and the last."""
    labels = [contender.label for contender in comparison.contenders]
    if text is None:
        return labels[0], labels[-1]
    # A label may hold commas, so every one of them may be the one between the two.
    parts = text.split(",")
    for cut in range(1, len(parts)):
        first, second = ",".join(parts[:cut]).strip(), ",".join(parts[cut:]).strip()
        if first in labels and second in labels:
            return first, second
    raise InputError("--gantt", f"{text!r} is not two dispatchers of these", "A,B of " + " | ".join(labels))
