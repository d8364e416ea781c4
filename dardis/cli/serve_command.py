"""The `dardis serve` command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.cli.page_option import PagePort
from dardis.config.option_texts import whole_number_parser

if TYPE_CHECKING:
    from dardis.live.service import Service

MOST_DAYS = 36_600
MOST_EPOCH = 2**53
STOPPED = "dardis: stopped"


def serve(
    folder: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the service, on a local disk.")] = None,
    platform: Annotated[
        Path | None,
        typer.Option(
            metavar="P.toml",
            help="Use these nodes instead of this machine's; their cores are counted, but not bound.",
        ),
    ] = None,
    users: Annotated[bool, typer.Option("--users", help="As root: accept jobs of all users of this machine.")] = False,
    address: Annotated[
        str | None,
        typer.Option(metavar="A", help="Under mpirun: address of the first host for other hosts (default: its name)."),
    ] = None,
    user_jobs: Annotated[
        int | None,
        typer.Option(
            "--user-jobs",
            parser=whole_number_parser("--user-jobs", 1),
            metavar="N",
            help="With --users: most unfinished jobs per user, except for root (10000).",
        ),
    ] = None,
    max_time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Longest walltime of a job, and that of jobs without a limit; none: no limit (default).",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            parser=whole_number_parser("--keep", 1, MOST_DAYS),
            metavar="DAYS",
            help="Forget jobs this many days after their end (default: never).",
        ),
    ] = None,
    keepers_apart: Annotated[
        bool,
        typer.Option(
            "--keepers-apart", help="Wait for job supervisors that are started separately, as by a Slurm step."
        ),
    ] = False,
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="etcd://HOST[:PORT],HOST…[/NAME]",
            help="Journal in etcd, for a machine that may lose its disk. NAME: name of the journal.",
        ),
    ] = None,
    journal_ca: Annotated[
        Path | None,
        typer.Option(metavar="CA.pem", help="CA certificate of etcd; optional if etcd is on this machine."),
    ] = None,
    journal_cert: Annotated[Path | None, typer.Option(metavar="C.pem", help="Client certificate for etcd.")] = None,
    journal_key: Annotated[Path | None, typer.Option(metavar="K.pem", help="Key of the client certificate.")] = None,
    metrics: Annotated[
        int | None,
        typer.Option(
            "--metrics",
            parser=whole_number_parser("--metrics", 1, 65_535),
            metavar="PORT",
            help="Serve metrics for Prometheus on this port of the loopback device, to clients with the token in "
            "DIR/metrics.token.",
        ),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Serve a web page on the loopback device; dardis page prints a link.")
    ] = False,
    page_port: PagePort = None,
    power_program: Annotated[
        Path | None,
        typer.Option(
            metavar="PROGRAM",
            help="Prints the power of nodes, lines of NODE WATTS, every 10 s (default: the counters of the hosts).",
        ),
    ] = None,
    off_program: Annotated[
        Path | None,
        typer.Option(metavar="PROGRAM", help="Switches nodes off; gets their names as A,B,C. With --on-program."),
    ] = None,
    on_program: Annotated[
        Path | None, typer.Option(metavar="PROGRAM", help="Switches nodes on, as --off-program.")
    ] = None,
    spares: Annotated[
        int | None,
        typer.Option(
            "--spares",
            parser=whole_number_parser("--spares", 0),
            metavar="N",
            help="Idle nodes of each group that stay on, without a plan (0).",
        ),
    ] = None,
    idle: Annotated[
        str | None, typer.Option(metavar="TIME", help="Switch nodes off after this idle time, without a plan (10m).")
    ] = None,
    switch_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longest shutdown or boot of a node (10m).")
    ] = None,
    epoch: Annotated[
        int | None,
        typer.Option(
            "--epoch",
            parser=whole_number_parser("--epoch", 1, MOST_EPOCH),
            metavar="N",
            help="Continue with a journal restored from an older copy, in an epoch that job supervisors accept. "
            "Later jobs may run again.",
        ),
    ] = None,
) -> None:
    """Run jobs of `dardis submit` on this machine, or under `mpirun` on those of all ranks, until `dardis stop`.

    A journal records jobs before they are acknowledged. After a crash, the next service continues from the journal.
    Running jobs continue meanwhile.
    """
    from dardis.live.client import service_folder
    from dardis.live.etcd import journal_address
    from dardis.live.job_option_texts import UNLIMITED_S, read_time
    from dardis.live.serve import ServiceSettings, serve_locally
    from dardis.live.switch_programs import switch_programs
    from dardis.live.time_limited_program import executable_program
    from dardis.live.user_limits import DEFAULT_JOBS
    from dardis.model.errors import InputError
    from dardis.transport.launcher import launched_by_mpi

    if user_jobs is not None and not users:
        raise InputError("--user-jobs", "given without --users", "both, or neither")
    if page_port is not None and not page:
        raise InputError("--page-port", "given without --page", "--page as well")
    if keep is not None and journal is not None:
        raise InputError("--keep, --journal", "both", "one of them, as a journal in etcd forgets no jobs")
    etcd = journal_address(journal, journal_ca, journal_cert, journal_key, users=users)

    served: list[Service] = []
    status = 0

    def begun(service: Service) -> None:
        served.append(service)
        typer.echo("\n".join(_first_lines(service)), err=True)

    limit = user_jobs or DEFAULT_JOBS
    longest_s = UNLIMITED_S if max_time in (None, "none") else read_time(max_time, "--max-time")
    asked = ServiceSettings(
        service_folder(folder),
        platform,
        etcd,
        users,
        limit,
        longest_s,
        keep,
        epoch or 1,
        keepers_apart,
        metrics,
        page,
        page_port,
        None if power_program is None else executable_program(power_program, "--power-program"),
        switch_programs(off_program, on_program, spares, idle, switch_limit),
        address,
        begun,
    )
    if launched_by_mpi():
        from dardis.comparison.end_with_parent import end_with
        from dardis.live.ranks import serve_ranks
        from dardis.transport.mpi_transport import finish, world

        # Ranks of a killed launcher would stay and keep their folders locked.
        end_with(os.getppid())
        comm = world()
        if comm.size > 1:
            status = serve_ranks(comm, asked)
        else:
            finish()
            serve_locally(asked)
    else:
        serve_locally(asked)
    if any(service.stopped for service in served):
        typer.echo(STOPPED)  # for launch/serve: some launchers end with status 0 after losing a host
    raise typer.Exit(status)


def _first_lines(service: Service) -> list[str]:
    """What a service says at its start."""
    machine, lines = service.machine, list[str]()
    if removed := ", ".join(sorted(service.gateway.removed_hosts)):
        lines.append(f"dardis: jobs may still run on {removed}; dardis nodes --lost gives a removed host up")
    nodes = f"{len(machine.names)} node{'s' if len(machine.names) > 1 else ''}"
    hosts = f" of {len(machine.hosts)} hosts" if len(machine.hosts) > 1 else ""
    jobs = f"{service.gateway.queued} jobs wait, {service.gateway.running} run"
    return [*lines, f"dardis serves {service.folder}: {nodes}{hosts}; {jobs}"]
