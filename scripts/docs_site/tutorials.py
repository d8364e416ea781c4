"""Runs the commands of a tutorial in a folder and compares their output with the lines that the page shows.

A page has `console` blocks and files: code blocks that begin with `# NAME`, below a `#!` line if there is one. `…`
stands for lines that are left out.
Before a block, `<!-- varies: REGEX -->` names the text of shown lines that depends on the time or the machine.
`python -m scripts.docs_site.tutorials docs/tutorial-plan.md FOLDER` prints all commands with their output.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from dardis.live.client import STARTING

ROOT: Final = Path(__file__).resolve().parents[2]
_FILE: Final = re.compile(r"```\w+\n(#![^\n]*\n)?# ([\w.]+)\n(.*?)```", re.DOTALL)
_CONSOLE: Final = re.compile(r"(?:<!-- varies: ([^\n]*?) -->\s*)?```console\n(.*?)```", re.DOTALL)
_LIMIT_S: Final = 900
"""Limit for a page whose commands hang."""
_BEGIN: Final = """set -e
unset DARDIS_FOLDER FORCE_COLOR
export LC_ALL=C.UTF-8 COLUMNS=100
trap 'status=$?; [ $status = 0 ] || [ -z "${DARDIS_FOLDER-}" ] || dardis stop --kill >last 2>&1 || exit $status' EXIT
"""


class Step(NamedTuple):
    """A command and the patterns of its shown lines."""

    command: str
    patterns: list[str]


def steps(page: str) -> list[Step]:
    """The commands of a page in order."""
    found = []
    for varies, block in _CONSOLE.findall(page):
        for text in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = text.replace("\\\n", "").partition("\n")
            lines = [line for line in shown.splitlines() if line.strip() not in {"", "…"}]
            found.append(Step(command, [_pattern(line, varies) for line in lines]))
    return found


def _pattern(line: str, varies: str) -> str:
    words = line.strip() if not varies else re.sub(varies, "\0", line.strip())
    return re.sub(r"(?:\\ )+", r"\\s+", re.escape(words)).replace(re.escape("\0"), ".*")


def play(page: str, folder: Path) -> list[str]:
    """The output of each command of a page, run in a folder. Raises RuntimeError if one fails."""
    (folder / "launch").symlink_to(ROOT / "launch")
    outputs = folder / "outputs"
    outputs.mkdir()
    for interpreter, name, content in _FILE.findall(page):
        (folder / name).write_text(interpreter + content, encoding="utf-8")
    python = shlex.quote(sys.executable)
    script = f'dardis() {{ {python} -m dardis "$@"; }}\npython() {{ {python} "$@"; }}\n' + _BEGIN
    for number, step in enumerate(steps(page)):
        script += f"{{ {step.command}\n}} >outputs/{number} 2>&1\n"
        if step.command.partition("#")[0].rstrip().endswith("&"):  # it goes on once it has printed the shown lines
            printed = f"grep -vc '^dardis: ' outputs/{number}"
            script += f"until [ $({printed}) -ge {len(step.patterns)} ]; do kill -0 $!; sleep 0.1; done\n"
        if step.command.startswith("dardis serve"):  # its nodes are up a moment after it listens
            script += f"while dardis nodes | grep '{STARTING}' >/dev/null; do kill -0 $!; sleep 0.1; done\n"
    shell = shutil.which("bash") or "bash"
    ended = subprocess.run([shell, "-c", script], cwd=folder, check=False, timeout=_LIMIT_S, stdin=subprocess.DEVNULL)
    written = [(outputs / name).read_text() for name in sorted((p.name for p in outputs.iterdir()), key=int)]
    if ended.returncode:
        command = steps(page)[len(written) - 1].command
        raise RuntimeError(f"{command}: exit status {ended.returncode}\n{written[-1]}")
    return written


def missing_lines(page: str, folder: Path) -> list[str]:
    """Shown lines that the commands of a page did not print in this order, each with its command."""
    missing = []
    for (command, patterns), output in zip(steps(page), play(page, folder), strict=True):
        lines = iter(output.splitlines())
        for pattern in patterns:
            if not any(re.fullmatch(pattern, line.strip()) for line in lines):
                missing.append(f"{command}: {pattern} in\n{output}")
                break
    return missing


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    for step, output in zip(steps(text), play(text, Path(sys.argv[2])), strict=True):
        sys.stdout.write(f"$ {step.command}\n{output}")
