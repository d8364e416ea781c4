"""Exports of plans for operators' tools."""
