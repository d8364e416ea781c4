"""Options of `sbatch` as job options: names, dependencies, GPUs and exported variables. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from dardis.live.job_option_texts import ALL, MOST_GPUS
from dardis.live.option_table import FLAG, OPTIONAL, GivenOption
from dardis.live.sbatch_options import SBATCH
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number


class OptionText(NamedTuple):
    """Text and position of an option."""

    text: str
    place: str


YES, NO = "yes", "no"
_NAMES: Final = {
    "job-name": "name", "dependency": "after", "no-requeue": "requeue", "gpus": "gpus-in-total",
    "gpus-per-node": "gpus", "gres": "gpus", "tasks-per-node": "ntasks-per-node",
    "tasks": "ntasks", "workdir": "chdir", "input": "stdin",
}  # fmt: skip
_KINDS: Final = {
    "after": "start", "afterok": "ok", "afterany": "any", "afternotok": "fail", "aftercorr": "each",
}  # fmt: skip
USUAL_NICE: Final = "100"
_DEPENDENCIES: Final = "after, afterok, afterany, afternotok or aftercorr with :ID, or singleton"


def translate_options(options: Iterable[GivenOption], place: str) -> tuple[dict[str, OptionText], list[str]]:
    """Job options for options of sbatch, and warnings about ignored ones.

    Raises InputError for unsupported ones.
    """
    found: dict[str, OptionText] = {}
    warnings: list[str] = []
    for name, written, value in options:
        at = f"{place}: {written}" if place else written
        if not SBATCH.supported(GivenOption(name, written, value), at):
            warnings.append(f"{at}{f' {value}' if value else ''} is ignored")
            continue
        said, kind = _translate(name, OptionText(value, at))
        if kind:
            warnings.append(f"{at} {value}: {kind} is ignored, the job may get any GPU")
        if name == "export":  # Slurm reads the environment of a login shell for NONE and for names alone
            alone = value.upper() != "NIL" and ALL.upper() not in value.upper().split(",")
            found["export-login"] = said._replace(text=YES if alone else NO)
        found[_NAMES.get(name, name)] = said
    return found, warnings


def _translate(name: str, said: OptionText) -> tuple[OptionText, str]:
    if name == "exclusive" and said.text:
        raise InputError(said.place, repr(said.text), "--exclusive without a value: nodes for this job alone")
    if name == "nice":
        return said._replace(text=said.text or USUAL_NICE), ""
    if SBATCH.options[name].takes in (FLAG, OPTIONAL):
        return said._replace(text=NO if name == "no-requeue" else YES), ""
    if name == "dependency":
        return said._replace(text=_after(said)), ""
    if name in {"output", "error", "input"} and said.text.lower() == "none":
        return said._replace(text="/dev/null"), ""
    if name == "export" and said.text.upper() == "NIL":
        return said._replace(text="none"), ""
    if name in {"gres", "gpus", "gpus-per-node", "gpus-per-task"}:
        count, kind = gpu_count(said.text, said.place, of_resources=name == "gres")
        return said._replace(text=str(count)), kind
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
    if re.search(r"_(?!\*)", ids):
        raise InputError(said.place, repr(said.text), "numbers of whole jobs and arrays, without _INDEX")
    return ":".join([_KINDS[kind], *(one.partition("_")[0] for one in ids.split(":"))])


def gpu_count(text: str, place: str, *, of_resources: bool) -> tuple[int, str]:
    """Number of GPUs, and their type. `of_resources`: text of --gres. Raises InputError."""
    parts = text.split(",")
    if of_resources:
        heads = [part.partition(":")[0] for part in parts]
        if set(heads) != {"gpu"}:
            raise InputError(place, repr(text), "gpu[:TYPE][:COUNT], the only resource that is counted here")
        parts = [part.partition(":")[2] or "1" for part in parts]
    total, kinds = 0, []
    for part in parts:
        kind, _, number = part.rpartition(":")
        if not kind and not number.isdecimal():
            kind, number = number, "1"
        try:
            total += whole_number(number, 0, MOST_GPUS)
        except ValueError:
            raise InputError(place, repr(text), f"[TYPE:]COUNT up to {MOST_GPUS}") from None
        kinds += [kind] if kind else []
    return total, ", ".join(kinds)
