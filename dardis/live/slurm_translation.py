"""Options of `sbatch` in terms of a job: names, dependencies, GPUs and exported variables. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from dardis.live.sbatch_options import FLAG, IGNORED, OPTIONAL, OPTIONS, USED, GivenOption
from dardis.model.errors import InputError


class OptionText(NamedTuple):
    """Text and position of an option."""

    text: str
    place: str


YES, NO = "yes", "no"
_NAMES: Final = {
    "job-name": "name", "dependency": "after", "no-requeue": "requeue", "gpus": "gpus-in-total",
    "gpus-per-node": "gpus", "gres": "gpus", "tasks-per-node": "ntasks-per-node",
    "tasks": "ntasks", "workdir": "chdir",
}  # fmt: skip
"""Names of options whose name as job option differs."""
_KINDS: Final = {
    "after": "start", "afterok": "ok", "afterany": "any", "afternotok": "fail", "aftercorr": "each",
}  # fmt: skip
_DEPENDENCIES: Final = "after, afterok, afterany, afternotok or aftercorr with :ID, or singleton"


def translate_options(options: Iterable[GivenOption], place: str) -> tuple[dict[str, OptionText], list[str]]:
    """Job options of options of sbatch, and warnings about ignored ones.

    Raises InputError for an unsupported option or value.
    """
    found: dict[str, OptionText] = {}
    warnings: list[str] = []
    for name, written, value in options:
        option, at = OPTIONS[name], f"{place}: {written}" if place else written
        if option.support == IGNORED:
            warnings.append(f"{at}{f' {value}' if value else ''} is ignored")
            continue
        if option.support != USED:
            raise InputError(at, repr(value) if value else "is not supported", option.support)
        said, kind = _translate(name, OptionText(value, at))
        if kind:
            warnings.append(f"{at} {value}: {kind} is ignored, the job may get any GPU")
        if name == "export" and value.upper() == "NONE":
            found["get-user-env"] = said._replace(text=YES)
        found[_NAMES.get(name, name)] = said
    return found, warnings


def _translate(name: str, said: OptionText) -> tuple[OptionText, str]:
    """Value as job option, and the stated type of GPU, which is ignored."""
    if name == "exclusive" and said.text:
        raise InputError(said.place, repr(said.text), "--exclusive without a value: nodes for this job alone")
    if OPTIONS[name].takes in (FLAG, OPTIONAL):
        return said._replace(text=NO if name == "no-requeue" else YES), ""
    if name == "dependency":
        return said._replace(text=_after(said)), ""
    if name in {"output", "error"} and said.text.lower() == "none":
        return said._replace(text="/dev/null"), ""
    if name == "export" and said.text.upper() == "NIL":
        return said._replace(text="none"), ""
    if name in {"gres", "gpus", "gpus-per-node", "gpus-per-task"}:
        return _gpus(said, of_resources=name == "gres")
    return said, ""


def _after(said: OptionText) -> str:
    separator = "?" if "?" in said.text else ","
    return separator.join(_condition(part, said) for part in said.text.split(separator))


def _condition(part: str, said: OptionText) -> str:
    kind, colon, ids = part.partition(":")
    if part == "singleton":
        return part
    if kind not in _KINDS or not colon or "+" in ids:
        raise InputError(said.place, repr(said.text), _DEPENDENCIES)
    return ":".join([_KINDS[kind], *(one.partition("_")[0] for one in ids.split(":"))])


def _gpus(said: OptionText, *, of_resources: bool) -> tuple[OptionText, str]:
    """Number of GPUs, and their type. `of_resources`: text of --gres."""
    text = said.text
    if of_resources:
        head, _, text = text.partition(":")
        if head != "gpu" or "," in text:
            raise InputError(said.place, repr(said.text), "gpu[:TYPE][:COUNT], the only resource that is counted here")
        text = text or "1"
    kind, _, number = text.rpartition(":")
    if not kind and not number.isdecimal():
        kind, number = number, "1"
    return said._replace(text=number), kind
