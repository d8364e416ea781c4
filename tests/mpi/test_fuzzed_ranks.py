"""Random instances over the ranks of this launch: the schedule of one process, and a legal one."""

import pytest
from fuzz.differential import audited, differences, played, written
from fuzz.instances import Dice, draw_instance, write_instance
from mpi4py import MPI

from dardis.runs.run import run_over_ranks

COMM = MPI.COMM_WORLD
FEW, MANY, BLOCK = range(8), range(50, 450), 50


def check(seeds, folder):
    """Each rank draws the instances; what rank 0 reads of its files all of them run."""
    failed = []
    for seed in seeds:
        instance = draw_instance(seed)
        request = write_instance(instance, folder / str(seed) / str(COMM.rank))
        arity = Dice(seed, "ranks").one_of((0, 0, 2, 5))
        outcome = run_over_ranks(COMM, request.model_copy(update={"arity": arity}))
        if COMM.rank > 0:
            assert outcome == 0
            continue
        alone, ranks = played("one process", instance), written(f"{COMM.size} ranks", request.out)
        wrong = [*differences(alone, ranks), *audited(instance, ranks)]
        if wrong:
            replay = (
                f"replay: scripts/lab/run replay instance {seed} --files DIR --ranks {COMM.size} "
                f"--arity {arity}, then the command that it ends with"
            )
            failed.append("\n  ".join([str(instance), *map(str, wrong), replay]))
    assert not failed, "\n".join(failed)


@pytest.mark.mpi
def test_random_instances_have_the_schedule_of_one_process(mpi_tmp_path):
    check(FEW, mpi_tmp_path)


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("first", MANY[::BLOCK])
def test_random_instances_have_the_schedule_of_one_process_in_many_seeds(mpi_tmp_path, first):
    check(range(first, first + BLOCK), mpi_tmp_path)
