"""Options of Slurm's `sbatch`: their names, values and support. Source: Slurm's manual page of sbatch, 25.05."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dardis.model.errors import InputError

FLAG, VALUE, OPTIONAL = "no value", "a value", "perhaps a value"
USED, IGNORED = "used", "ignored"
"""Ignored with a warning, because it cannot change a result."""


@dataclass(frozen=True, slots=True)
class SbatchOption:
    """An option: whether a value follows, its short form, and its support (USED, IGNORED, or why it is rejected)."""

    takes: str
    support: str
    short: str = ""


class GivenOption(NamedTuple):
    """A stated option: its full name, its text as written, and its value ("" for none)."""

    name: str
    written: str
    value: str


_NO_FEATURES: Final = "nodes have no features here"
_NO_CHOICE: Final = "nodes cannot be chosen by name"
_NO_TASK_GPUS: Final = "GPUs are counted by node: use --gpus-per-node"


def _options(takes: str, support: str, names: str) -> dict[str, SbatchOption]:
    """Options of a line such as `time/t mem`."""
    found = {}
    for name, _, short in (word.partition("/") for word in names.split()):
        found[name] = SbatchOption(takes, support, short)
    return found


OPTIONS: Final[Mapping[str, SbatchOption]] = {
    **_options(VALUE, USED, """
        array/a begin/b chdir/D comment cpus-per-gpu cpus-per-task/c deadline dependency/d error/e export gpus/G
        gpus-per-node gpus-per-task gres job-name/J mem mem-per-cpu mem-per-gpu mincpus nodes/N ntasks/n
        ntasks-per-node tasks tasks-per-node open-mode output/o partition/p signal time/t workdir"""),
    **_options(OPTIONAL, USED, "exclusive get-user-env"),
    **_options(FLAG, USED, "hold/H no-requeue requeue wait/W"),
    # Accounts, messages, placement and limits that no result depends on.
    **_options(VALUE, IGNORED, """
        account/A acctg-freq burst-buffer-name cores-per-socket core-spec/S cpu-freq delay-boot distribution/m
        extra extra-node-info/B gid-name gpu-bind gpu-freq gres-flags hint kill-on-invalid-dep mail-type mail-user
        mcs-label mem-bind nice ntasks-per-core ntasks-per-socket power priority profile qos/q reservation
        sockets-per-node switches thread-spec threads-per-core time-min tres-bind wait-all-nodes wckey"""),
    **_options(OPTIONAL, IGNORED, "propagate"),
    **_options(FLAG, IGNORED, """
        contiguous ignore-pbs no-kill/k overcommit/O oversubscribe/s quiet/Q reboot spread-job use-min-nodes
        verbose/v"""),
    # What a result may depend on.
    **_options(VALUE, _NO_FEATURES, "batch constraint/C cluster-constraint prefer"),
    **_options(VALUE, _NO_CHOICE, "exclude/x exclude-file nodefile/F nodelist/w"),
    **_options(VALUE, _NO_TASK_GPUS, "gpus-per-socket ntasks-per-gpu tres-per-task"),
    **_options(VALUE, "burst buffers are not supported", "bb bbf"),
    **_options(VALUE, "there is one cluster here", "clusters/M"),
    **_options(VALUE, "containers are not supported", "container container-id"),
    **_options(VALUE, "licences are not counted here", "licenses/L"),
    **_options(VALUE, "a job belongs to the user who submits it", "gid uid"),
    **_options(VALUE, "the environment is that of the submission: use --export", "export-file"),
    **_options(VALUE, "jobs read no input: redirect it in the script", "input/i"),
    **_options(VALUE, "temporary disk space is not counted here", "tmp"),
}  # fmt: skip
_SHORT: Final = {option.short: name for name, option in OPTIONS.items() if option.short}


def is_sbatch_option(word: str) -> bool:
    """Whether a word of a command line is an option of sbatch, with its full name."""
    if word.startswith("--"):
        return word[2:].partition("=")[0] in OPTIONS
    return len(word) > 1 and word[0] == "-" and word[1] in _SHORT


def read_words(words: Sequence[str], place: str) -> Iterator[GivenOption]:
    """Yield the options of words. Raises InputError as `take_option`."""
    left = [*reversed(words)]
    while left:
        yield take_option(left, place)


def take_option(left: list[str], place: str) -> GivenOption:
    """Take an option from the end of reversed words as getopt_long does: `--name value`, `-n4`, unique prefixes.

    Raises InputError for an unknown option, a missing or unwanted value, and a word that is no option.
    """
    word = left.pop()
    if word.startswith("--") and len(word) > 2:
        stated, equals, value = word[2:].partition("=")
        return _given(_full_name(stated, place), f"--{stated}", value if equals else None, left, place)
    if len(word) < 2 or word[0] != "-":
        raise InputError(place, repr(word), "options such as --time=10")
    if (found := _SHORT.get(word[1])) is None:
        raise InputError(place, f"unknown option {word[:2]}", "an option of sbatch")
    glued: str | None = word[2:] or None
    if OPTIONS[found].takes == FLAG and glued is not None:
        left.append(f"-{glued}")  # several flags in one word
        glued = None
    return _given(found, word[:2], glued, left, place)


def _full_name(stated: str, place: str) -> str:
    if stated in OPTIONS:
        return stated
    found = [name for name in OPTIONS if name.startswith(stated)]
    if len(found) == 1:
        return found[0]
    expected = f"one of --{', --'.join(found)}" if found else "an option of sbatch"
    raise InputError(place, f"unknown option --{stated}", expected)


def _given(name: str, written: str, value: str | None, left: list[str], place: str) -> GivenOption:
    takes = OPTIONS[name].takes
    if takes == FLAG and value is not None:
        raise InputError(place, repr(f"{written}={value}"), f"{written} without a value")
    if takes == VALUE and value is None:
        if not left:
            raise InputError(place, f"{written} without a value", "a value")
        value = left.pop()
    return GivenOption(name, written, value or "")


def split_words(line: str, place: str) -> list[str]:
    r"""Split a line into words as sbatch does: quotes, `\` before any character, a comment after any other `#`.

    Raises InputError for an open quote.
    """
    words: list[str] = []
    word: str | None = None
    quote, escaped = "", False
    for character in line:
        if escaped:
            word, escaped = f"{word or ''}{character}", False
        elif character == "\\":
            escaped = True
        elif quote:
            if character == quote:
                quote = ""
            else:
                word = f"{word or ''}{character}"
        elif character in "'\"":
            quote, word = character, word or ""
        elif character.isspace():
            if word is not None:
                words.append(word)
            word = None
        elif character == "#":
            break
        else:
            word = f"{word or ''}{character}"
    if quote:
        raise InputError(place, f"{line.strip()!r} (an open quote)", "closed quotes")
    return words if word is None else [*words, word]
