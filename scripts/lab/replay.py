"""Replays one seed of the tests: of the fault simulation, of the differential fuzz, or of the damaged files."""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp

from scripts.lab.kit.command import ROOT, SHARED


def fault(options: argparse.Namespace) -> bool:
    """Print everything that happens in a seed of the fault simulation."""
    settings = {name: value for name, value in vars(options).items() if name != "replay"}
    scenario = import_module("faults.scenarios").draw_scenario(**settings)
    print(scenario)
    outcome = import_module("faults.seeds").judge(scenario, log=lambda now, text: print(f"{now:>7} {text}"))
    print(outcome)
    return bool(outcome.violations)


def instance(options: argparse.Namespace) -> bool:
    """Print a seed's instance, what each arrangement makes of it, and what is wrong."""
    instances = import_module("fuzz.instances")
    outcome = import_module("fuzz.differential").judge(options.seed)
    print(outcome)
    if options.files is not None:
        request = instances.write_instance(instances.draw_instance(options.seed), options.files)
        request = request.model_copy(update={"arity": options.arity})
        over = ["launch/mpirun", "-n", str(options.ranks), ".venv/bin/dardis"] if options.ranks > 1 else ["dardis"]
        print(shlex.join([*over, *instances.command_of(request)]))
    return bool(outcome.violations)


def mutation(options: argparse.Namespace) -> bool:
    """Make a damaged file again, and show what its reader does with it."""
    lists, replay = import_module("fuzz.reader_list"), import_module("fuzz.replay")
    every = (*lists.readers(), *(lists.readers_of(SHARED) if SHARED.is_dir() else ()))
    known = {reader.name: reader for reader in every}
    if options.reader not in known:
        raise SystemExit(f"no reader {options.reader!r}; expected one of {', '.join(known)}")
    warnings.simplefilter("error")
    reader = known[options.reader]
    path = Path(mkdtemp(prefix="dardis-mutation-")) / reader.file
    reader.prepare(path.parent)
    path.write_bytes(replay.mutation(reader, options.seed))
    print(path)
    verdict = replay.judge(reader, path)
    print(verdict.wrong or ("well read" if verdict.read else "well refused"))
    return bool(verdict.wrong)


def main() -> int:
    """Return 1 when the seed shows something wrong."""
    parser = argparse.ArgumentParser(prog="scripts/lab/run replay", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    one = kinds.add_parser("fault", help=fault.__doc__)
    one.set_defaults(replay=fault)
    one.add_argument("seed", type=int)
    one.add_argument("--reliable", action="store_true", help="messages come late and out of order, but all come")
    one.add_argument("--late", action="store_true", help="with the late set-up in place of the drawn one")
    one.add_argument("--tree", action="store_true", help="with hosts in a tree")
    one.add_argument("--sample", action="store_true", help="with jobs that ask some nodes first")
    one.add_argument("--stale", action="store_true", help="with second copies of messages that come very late")
    one = kinds.add_parser("instance", help=instance.__doc__)
    one.set_defaults(replay=instance)
    one.add_argument("seed", type=int)
    one.add_argument("--files", type=Path, metavar="DIR", help="write its trace, platform and wishes there as well")
    one.add_argument("--ranks", type=int, default=1, metavar="N", help="say how N ranks run these files")
    one.add_argument("--arity", type=int, default=0, metavar="N", help="and with which tree of hosts")
    one = kinds.add_parser("mutation", help=mutation.__doc__)
    one.set_defaults(replay=mutation)
    one.add_argument("reader", metavar="READER")
    one.add_argument("seed", type=int)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    return int(options.replay(options))
