"""The command behind scripts/lab/run: runs an experiment by its name, or lists all of them."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent


def experiments() -> dict[str, Path]:
    """The modules that can be run, by name."""
    packages = {path.parent.name: path for path in HERE.glob("*/__main__.py")}
    modules = {path.stem: path for path in HERE.glob("[!_]*.py")}
    return dict(sorted((packages | modules).items()))


def main() -> int:
    """Run what the command line names; 2 for a name that is not known."""
    known = experiments()
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in known:
        sys.stderr.write(
            f"scripts/lab/run: {name!r}: expected one of\n" if name else "scripts/lab/run NAME [options]\n"
        )
        for one, path in known.items():
            about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            sys.stderr.write(f"  {one:16}  {about.splitlines()[0]}\n")
        return 2
    sys.argv[:2] = [f"scripts/lab/run {name}"]
    runpy.run_module(f"scripts.lab.{name}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
