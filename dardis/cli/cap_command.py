"""The commands `dardis cap` and `dardis switching`."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dardis.cli.live_requests import Folder, Json, print_json, service_client
from dardis.model.errors import InputError
from dardis.model.moments import utc_text
from dardis.model.resources import MOST_WATTS

_AMOUNT: Final = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)\s*(W|kW|MW|cores)")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?\s*[A-Za-z]{0,20}")
_WATTS: Final = {"W": 1, "kW": 1_000, "MW": 1_000_000}
_OFF: Final = "off"
_LONGEST: Final = 60
_MOST_PATH: Final = 255


def cap(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="AMOUNT|FILE|off", help="12kW, 480cores, a file of times, or no cap. Nothing: show the cap."
        ),
    ] = None,
    soft: Annotated[bool, typer.Option("--soft", help="A job with a deadline may exceed the cap to keep it.")] = False,
    hard: Annotated[bool, typer.Option("--hard", help="No job exceeds the cap (default).")] = False,
    measured: Annotated[
        bool, typer.Option("--measured", help="Count measured power, plus that of jobs about to start.")
    ] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Cap the power, or the used cores, of the whole machine.

    A job starts as soon as the sum permits, and then runs to its end.
    """
    if soft and hard:
        raise InputError("--soft, --hard", "both", "one of them")
    if what in (None, _OFF) and (soft or hard or measured):
        raise InputError("--soft, --hard, --measured", "no cap", "an amount or a file")
    service = service_client(folder)
    if what is None:
        answer = service.get("/cap")
    elif what == _OFF:
        answer = service.post("/cap", {"off": True})
    else:
        answer = service.post("/cap", {**_body(what, service.get), "hard": not soft, "measured": measured})
    if as_json:
        print_json(answer)
    else:
        typer.echo(_line(answer))
        if answer.get("trouble"):
            typer.echo(f"power is not measured: {answer['trouble']}")


def _body(what: str, get: Any) -> dict[str, Any]:  # noqa: ANN401 (a method of the client)
    if (match := _AMOUNT.fullmatch(what)) is not None:
        number, unit = Decimal(match[1]), match[2]
        kind, value = ("cores", number) if unit == "cores" else ("power", number * _WATTS[unit])
        if value != value.to_integral_value() or value > MOST_WATTS:
            raise InputError("cap", repr(what[:_LONGEST]), f"whole W or cores, at most {MOST_WATTS}")
        return {"kind": kind, "steps": [[0, int(value)]], "source": what}
    path = Path(what)
    if len(what) > _MOST_PATH:
        raise InputError("cap", repr(what[:_LONGEST]), "an amount, or the path of a file")
    if _NUMBER.fullmatch(what) is not None and not path.exists():
        raise InputError("cap", repr(what[:_LONGEST]), "an amount with a unit: 12kW, 9600W, 1.2MW or 480cores")
    if not path.exists():
        raise InputError("cap", repr(what[:_LONGEST]), "an amount such as 12kW or 480cores, off, or a file that exists")
    from dardis.cli.cap_file import read_cap
    from dardis.config.platform_record import platform_from_dict

    kind, steps = read_cap(path, platform_from_dict(get("/platform")["platform"]))
    return {"kind": kind, "steps": steps, "source": str(path)}


def _line(answer: dict[str, Any]) -> str:
    cap, now = answer["cap"], answer["now"]
    if cap is None:
        return "no cap" if answer["measured_w"] is None else f"no cap; {answer['measured_w']:.10g} W are measured"
    unit = "W" if cap["kind"] == "power" else "cores"
    rule = ("hard" if cap["hard"] else "soft") + (" measured" if cap.get("measured") else "")
    used = f"{now['used']:.10g} {unit} are used"
    line = (
        f"{rule} cap, not yet: {used}" if now["limit"] is None else f"{rule} cap of {now['limit']:.10g} {unit}: {used}"
    )
    if now["excess"]:
        starts = "nothing starts" if cap["hard"] else "only jobs that may exceed the cap start"
        line += f", {now['excess']:.10g} {unit} too many: {starts}"
    if answer.get("next"):
        time, value = answer["next"]
        line += f"; {value} {unit} from {utc_text(time, seconds=True)} on"
    return line


def switching(
    what: Annotated[
        str | None,
        typer.Argument(metavar="FILE|off", help="target.json of a plan, or no plan. Nothing: show the rule."),
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Switch nodes off and on as a plan says, instead of by --spares and --idle of the service."""
    service = service_client(folder)
    if what is None:
        answer = service.get("/switching")
    elif what == _OFF:
        answer = service.post("/switching", {"off": True})
    else:
        from dardis.cli.cap_file import read_switching
        from dardis.config.platform_record import platform_from_dict

        path = Path(what)
        table = read_switching(path, platform_from_dict(service.get("/platform")["platform"]))
        answer = service.post("/switching", {"table": table, "source": str(path)})
    if as_json:
        print_json(answer)
    else:
        typer.echo(_switching_line(answer))


def _switching_line(answer: dict[str, Any]) -> str:
    if not answer["programs"]:
        return "nodes are not switched: the service has no --off-program and --on-program"
    states = ", ".join(f"{count} {state}" for state, count in sorted(answer["nodes"].items()))
    if answer["rule"] is not None:
        return f"plan of {answer['rule']['source']}: {states}"
    return f"{answer['spares']} spare nodes of each group, off after {answer['idle_s']} s: {states}"
