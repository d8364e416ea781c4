"""Makes jobs as the world knows them, of what they ask for and what they really run, in one call."""

from __future__ import annotations

from dataclasses import replace

from dardis.model.job import ActualJob, Job


def actual(*what: object, runtime: int, after: int | None = None, think: int = 0, **more: object) -> ActualJob:
    """A job that asks for this (the fields of `Job`, in their order or by name) and runs so long."""
    return ActualJob(Job(*what, **more), runtime, after, think)


def asking(job: ActualJob, **more: object) -> ActualJob:
    """The same job, asking for something else."""
    return replace(job, job=replace(job.job, **more))
