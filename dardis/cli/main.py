"""The `dardis` command. A user's mistake prints one line and no traceback."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Final

import typer
from typer.core import TyperCommand

from dardis import __version__
from dardis.cli import (
    apply_command,
    audit_command,
    cap_command,
    energy_command,
    forecast_command,
    live_commands,
    plan_commands,
    platform_command,
    report_commands,
    scale_command,
    serve_command,
    shadow_command,
    simulate_commands,
    steer_command,
    submit_command,
    trace_command,
    warm_command,
)
from dardis.cli.derived_options import derive_command
from dardis.cli.live_requests import JobStatus, WordsCommand
from dardis.model.errors import INTERRUPTED, DardisError, failure_line

# Newer versions of Typer have their own copy of click; a usage mistake is the parent of both copies' BadParameter.
UsageMistake: type[typer.BadParameter] = typer.BadParameter.__mro__[1]

OBJECTS_BETWEEN_COLLECTIONS = 250_000
"""Collection threshold. Python's 700 cost 6 % of a run's CPU time, and of module loading."""

_COMMANDS: Final[dict[str, Callable[..., object]]] = {
    "simulate": simulate_commands.simulate,
    "compare": simulate_commands.compare,
    "scale": scale_command.scale,
    "plan": plan_commands.plan,
    "hybrid": plan_commands.hybrid,
    "solve": audit_command.solve,
    "audit": audit_command.audit,
    "report": report_commands.report,
    "review": plan_commands.review,
    "export": plan_commands.export,
    "apply": apply_command.apply,
    "dispatchers": report_commands.dispatchers,
    "forecast": forecast_command.forecast,
    "energy": energy_command.energy,
    "shadow": shadow_command.shadow,
    "steer": steer_command.steer,
    "pue": report_commands.pue,
    "warm": warm_command.warm,
    "submit": submit_command.submit,
    "serve": serve_command.serve,
    "queue": live_commands.queue,
    "show": live_commands.show,
    "wait": live_commands.wait,
    "cancel": live_commands.cancel,
    "hold": live_commands.hold,
    "release": live_commands.release,
    "retry": live_commands.retry,
    "nodes": live_commands.nodes,
    "top": live_commands.top,
    "page": live_commands.page,
    "drain": live_commands.drain,
    "cap": cap_command.cap,
    "switching": cap_command.switching,
    "history": live_commands.history,
    "logs": live_commands.logs,
    "stop": live_commands.stop,
    "exec": live_commands.execute,
}
_KINDS: Final[dict[str, type[TyperCommand]]] = {"submit": submit_command.BeforeCommand, "exec": WordsCommand}
_GROUPS: Final = {"trace": trace_command.GROUP, "platform": platform_command.GROUP, "journal": live_commands.GROUP}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dardis {__version__}")
        raise typer.Exit


def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Options of all commands."""


def _no_options() -> None:
    pass


def _without_options(command: Callable[..., object]) -> Callable[[], object]:

    def listed() -> object:
        return command()

    listed.__doc__ = command.__doc__
    return listed


def app_of(names: Iterable[str] = (*_COMMANDS, *_GROUPS), *, listed: bool = False) -> typer.Typer:
    """Return the app with these subcommands; `listed`: names and help only."""
    made = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Schedule jobs without a central scheduler: simulate, judge and look at the results.",
    )
    made.callback()(common)
    for name in names:
        if name in _GROUPS:
            group = typer.Typer(no_args_is_help=True, help=_GROUPS[name].help)
            group.callback()(_no_options)
            for word, command in _GROUPS[name].commands.items():
                group.command(word)((_without_options if listed else derive_command)(command))
            made.add_typer(group, name=name)
        else:
            made.command(name, cls=_KINDS.get(name))((_without_options if listed else derive_command)(_COMMANDS[name]))
    return made


def main() -> None:
    """Run the command and exit with its status."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # No matrix here is large enough for threads; starting them takes 0.07 s of CPU time on two cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = run(sys.argv[1:])
    # CPython remembers an interrupt during `exec` of a text (as in creating a dataclass) until the next `exec`.
    # Without this, `python -m` would end by a signal although the interrupt was caught.
    exec("")  # noqa: S102
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run the command; return its exit status."""
    # Loading the options of all subcommands takes 10 % of a small run's CPU time.
    words = arguments or _completion_words()
    known = words[:1] if words and words[0] in (_COMMANDS | _GROUPS) else None
    app = app_of(listed=True) if known is None else app_of(known)
    try:
        status = app(arguments, prog_name="dardis", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return _print_error("interrupted", INTERRUPTED)
    except DardisError as error:
        return _print_error(failure_line(error), error.exit_status)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except UsageMistake as error:
        # Without arguments, the help text has been printed already.
        text = error.format_message() if arguments else ""
        context = getattr(error, "ctx", None)
        asked = context.command_path if context else "dardis"
        return _print_error(f"{text} Try '{asked} --help'." if text else "no command given", 2)
    except (OSError, MemoryError) as error:
        return _print_error(failure_line(error), 1)
    if status == INTERRUPTED and not isinstance(status, JobStatus):
        return _print_error("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _completion_words() -> list[str]:
    return os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", "")).split()[1:]


def _print_error(line: str, status: int) -> int:
    from dardis.transport.launcher import is_first_rank

    if not is_first_rank():
        return status
    print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (errors go to standard error)
    return status


if __name__ == "__main__":
    main()
