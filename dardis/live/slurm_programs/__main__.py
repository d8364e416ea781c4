"""`python -m dardis.live.slurm_programs PROGRAM [ARGUMENTS]`: one of Slurm's programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from dardis import __version__
from dardis.model.errors import INTERRUPTED, DardisError, InputError

PROGRAMS: Final = ("sbatch", "srun", "squeue", "scancel", "sacct", "scontrol", "sinfo", "sacctmgr", "sshare")
_MODULES: Final = {"sacct": "accounting", "sacctmgr": "accounts", "sshare": "accounts"}
SLURM: Final = "25.05.0"
"""Version of Slurm whose manual the programs follow."""


def main(words: Sequence[str]) -> int:
    """Run a program; return its exit status: 1 for a mistake, as Slurm's programs."""
    if not words or words[0] not in PROGRAMS:
        sys.stderr.write(f"dardis: {' '.join(words[:1]) or 'no program'}: expected one of {', '.join(PROGRAMS)}\n")
        return 2
    name, *left = words
    if left[:1] in (["--version"], ["-V"]):
        sys.stdout.write(f"slurm {SLURM} (DARDIS {__version__})\n")
        return 0
    module = import_module(f"dardis.live.slurm_programs.{_MODULES.get(name, name)}")
    if left[:1] == ["--help"]:
        sys.stdout.write(f"{module.__doc__}\n")
        return 0
    try:
        status: int = module.main(left)
        sys.stdout.flush()
    except (DardisError, InputError) as error:
        sys.stderr.write(f"{name}: error: {error}\n")
        return max(1, error.exit_status) if name == "srun" and not isinstance(error, InputError) else 1
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
