"""Readers, writers, generators and transforms of traces."""
