"""A plan in the words of operators' tools: one module a format, all behind `offline.export.exporter.Exporter`."""
