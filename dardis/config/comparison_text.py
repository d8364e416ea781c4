"""Text of comparison files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dardis.config.comparison_spec import ComparisonOptions, ComparisonRequest, Contender, DispatcherSpec, TraceSpec
from dardis.config.option import FileReader, OptionField, RuleReader, option_fields
from dardis.config.option_texts import REACH
from dardis.config.platform_text import toml_table
from dardis.model.files import is_file


def files_of(workload: TraceSpec) -> Iterator[Path]:
    """Input files."""
    for one in option_fields(TraceSpec):
        value = getattr(workload, one.name)
        if isinstance(one.reader, RuleReader) and not is_file(Path(value or "")):
            continue
        if isinstance(one.reader, FileReader) and value is not None:
            yield Path(value)


def comparison_text(comparison: ComparisonRequest, names: Mapping[Path, str]) -> str:
    """Comparison file, with `names` of inputs, for processes of one machine."""
    content = _stated(comparison.options, ComparisonOptions, {})
    content.pop("workers", None)
    content["traces"] = [_stated(workload, TraceSpec, names) for workload in comparison.workloads]
    groups = groupby(comparison.contenders, key=lambda one: (bool(one.grid), one.family or one.label))
    content["dispatchers"] = [_dispatcher([*group]) for _, group in groups]
    return toml_table(content)


def _stated(spec: BaseModel, model: type[BaseModel], names: Mapping[Path, str]) -> dict[str, Any]:
    values = [(one, getattr(spec, one.name)) for one in option_fields(model)]
    return {one.key: _toml_value(one, value, names) for one, value in values if value != one.default}


def _toml_value(one: OptionField, value: Any, names: Mapping[Path, str]) -> Any:  # noqa: ANN401 (each its own kind)
    if isinstance(one.reader, FileReader):
        return names.get(Path(value), str(value))
    if isinstance(value, tuple):
        return list(value)
    text = one.text_of(value)
    return value if isinstance(value, bool | int | float) and text == str(value) else text


def _dispatcher(group: list[Contender]) -> dict[str, Any]:
    first = group[0]
    keys = [key for key, _ in first.grid]
    common = first.settings[: len(first.settings) - sum(key not in REACH for key in keys)]
    found: dict[str, Any] = {"name": first.dispatcher, "label": first.family or first.label}
    for one in option_fields(DispatcherSpec):
        if one.key in REACH and one.key not in keys and (value := getattr(first, one.name)) is not None:
            found[one.key] = _toml_value(one, value, {})
    if common:
        found["settings"] = dict(text.split("=", 1) for text in common)
    if keys:
        found["grid"] = {key: [*dict.fromkeys(dict(one.grid)[key] for one in group)] for key in keys}
    return found
