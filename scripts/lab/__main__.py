"""The command behind scripts/lab/run: runs an experiment by its name, or lists all of them."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent


def experiments() -> dict[str, Path]:
    """The modules that can be run, by name: each has a `main`, whose value is the exit status."""
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
    status: int = import_module(f"scripts.lab.{name}" + ".__main__" * (known[name].stem == "__main__")).main()
    return status


if __name__ == "__main__":
    sys.exit(main())
