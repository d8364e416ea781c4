"""Traces in, jobs out: readers, writers, generators and transforms of workloads."""
