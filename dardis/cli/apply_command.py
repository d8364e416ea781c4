"""The `dardis apply` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dardis.config.option_texts import decimal_parser, whole_number_parser


def apply(
    requests: Annotated[Path, typer.Argument(metavar="FILE", help="File of dardis export --format redfish.")],
    controllers: Annotated[Path, typer.Option(metavar="C.toml", help="Address of the controller of each node.")],
    credentials: Annotated[Path, typer.Option(metavar="S.toml", help="User and password; mode 0600.")],
    idle_check: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Command with {node} that exits with 0 if the node is idle."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the original states (default: FILE.state).")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append a line per event (default: standard error).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the requests and their times; send none.")] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Restore the original limits; power on nodes that were shut down.")
    ] = False,
    poll_s: Annotated[
        int,
        typer.Option(
            parser=whole_number_parser("--poll-s", 1),
            metavar="S",
            help="Interval of checks of pending nodes.",
        ),
    ] = 60,
    timeout_s: Annotated[
        float, typer.Option(parser=decimal_parser("--timeout-s", 0.1), metavar="S", help="Time limit of each request.")
    ] = 10.0,
    at_once: Annotated[
        int,
        typer.Option(parser=whole_number_parser("--at-once", 1, 1000), metavar="N", help="Parallel requests."),
    ] = 32,
    give_up_s: Annotated[
        int,
        typer.Option(
            parser=whole_number_parser("--give-up-s", 0), metavar="S", help="Duration of retries after the end."
        ),
    ] = 600,
) -> None:
    """Limit the power of nodes, and switch them, at the times of a plan, through their Redfish controllers."""
    from dardis.engine.clock import utc_now
    from dardis.model.errors import InputError
    from offline.apply import apply_run

    asked = apply_run.ApplyRequest(
        requests, controllers, credentials, state, idle_check, poll_s, timeout_s, at_once, give_up_s
    )
    if dry_run:
        for line in apply_run.dry_run(asked):
            typer.echo(line)
        return

    def tell(line: str) -> None:
        if log is None:
            typer.echo(f"{utc_now()} {line}", err=True)
            return
        try:
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{utc_now()} {line}\n")
        except OSError as error:
            raise InputError(f"--log {log}", error.strerror or "can't be written", "a file") from None

    (apply_run.roll_back if rollback else apply_run.run_apply)(asked, tell)
