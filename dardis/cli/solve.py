"""`dardis solve`: decisions that a run has kept, put to a model again, or to another one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.config import option_texts
from dardis.config.option_texts import whole

if TYPE_CHECKING:
    from dardis.runs.instances import Solution


def solve(
    instances: Annotated[
        list[Path], typer.Argument(metavar="INSTANCE…", help="Files of `dardis simulate --save-instances`, or folders.")
    ],
    dispatcher: Annotated[str, typer.Option(metavar="NAME", help="Whose model: pcp14, hcp19, cp-eurora, ...")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=option_texts.SETTINGS)
    ] = None,
    seed: Annotated[int, typer.Option(parser=whole("--seed", 0, 2**62), metavar="N", help="Seed of the solver.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="F.csv", help="Write a row for each: as solver.csv, and who starts now.")
    ] = None,
) -> None:
    """Put decisions to a constraint model: objective, bound and time for each."""
    from dardis.engine.clock import cpu_timed
    from dardis.registry import find_dispatcher
    from dardis.runs.instances import Solution, check_table, read_instances, setup_of, write_solutions
    from dardis.runs.warm import warm

    if out is not None:
        check_table(out)
    setup = setup_of(dispatcher, settings or ())
    problems, model = read_instances(instances, setup), setup.model()
    warm(find_dispatcher(dispatcher, settings or ()))
    solved = []
    typer.echo(_line("instance", "waiting", "starting", "status", "objective", "bound", "variables", "CPU s"))
    for path, problem in problems:
        answer, cpu_s = cpu_timed(partial(model.answer, problem, seed))
        one = Solution(path, problem, answer, cpu_s)
        solved.append(one)
        told = one.told
        typer.echo(
            _line(
                path.name, str(told.waiting), str(told.started), _status(one), _figure(told.objective),
                _figure(told.bound), str(told.variables), f"{told.solver_cpu_s:.3f}",
            )
        )  # fmt: skip
    if out is not None:
        write_solutions(out, solved)


def _line(name: str, *figures: str) -> str:
    return f"  {name:<22} " + " ".join(f"{figure:>10}" for figure in figures)


def _status(one: Solution) -> str:
    """What the solver says, or why it was not asked."""
    return one.told.status or ("too large" if one.told.too_large else "not asked")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
