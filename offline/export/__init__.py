"""Exports of plans for operators' tools. Each format is an `offline.export.exporter.Exporter`."""
