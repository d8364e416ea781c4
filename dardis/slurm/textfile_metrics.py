"""Figures for the textfile collector of Prometheus's node exporter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dardis.model.files import atomic_text


def write_gauges(path: Path, figures: Mapping[str, float]) -> None:
    """Write figures by name as `dardis_STEM_NAME`, with the stem of the file. Raises OSError."""
    with atomic_text(path) as file:
        for name, value in figures.items():
            file.write(f"# TYPE dardis_{path.stem}_{name} gauge\ndardis_{path.stem}_{name} {value:.10g}\n")
