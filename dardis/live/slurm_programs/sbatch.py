"""`sbatch`: submits a script as a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dardis.engine.clock import local_now
from dardis.live.client import Client, service_folder
from dardis.live.directives import STDIN, read_directives, read_script
from dardis.live.exit_codes import exit_code_of
from dardis.live.option_table import FLAG, OPTIONAL, USED, VALUE, GivenOption, OptionTable, options_of
from dardis.live.random_keys import fresh_key
from dardis.live.sbatch_options import SBATCH
from dardis.live.slurm_translation import OptionText, translate_options
from dardis.live.submit_request import body_of, is_set, submit_request
from dardis.model.errors import InputError

PROGRAM: Final = OptionTable("sbatch", {
    **SBATCH.options,
    **options_of(OPTIONAL, USED, "parsable"), **options_of(VALUE, USED, "wrap"), **options_of(FLAG, USED, "quiet/Q"),
    **options_of(FLAG, "jobs are submitted only", "test-only"),
})  # fmt: skip
_VARIABLES: Final = {
    "ARRAY_INX": "array", "EXPORT": "export", "GPUS": "gpus", "GPUS_PER_NODE": "gpus-per-node",
    "GPUS_PER_TASK": "gpus-per-task", "JOB_NAME": "job-name", "MEM_PER_CPU": "mem-per-cpu",
    "MEM_PER_GPU": "mem-per-gpu", "MEM_PER_NODE": "mem", "OPEN_MODE": "open-mode", "PARTITION": "partition",
    "SIGNAL": "signal", "TIMELIMIT": "time", "EXCLUSIVE": "exclusive", "GET_USER_ENV": "get-user-env",
    "GRES": "gres", "OUTPUT": "output", "ERROR": "error", "INPUT": "input", "CPUS_PER_GPU": "cpus-per-gpu",
    "NO_REQUEUE": "no-requeue", "REQUEUE": "requeue", "WAIT": "wait",
}  # fmt: skip


def main(words: Sequence[str]) -> int:
    """Submit a script. Raises InputError and DardisError."""
    options, argv = PROGRAM.split(words, "sbatch")
    own = {option.name: option.value for option in options if option.name in {"parsable", "quiet", "wrap"}}
    for option in options:
        PROGRAM.supported(option, option.written)
    given, warnings = translate_options((option for option in options if option.name not in own), "")
    of_variables, _ = translate_options(_of_variables(os.environ), "")
    if "wrap" in own:
        if argv:
            raise InputError("--wrap", "together with a script", "one of them")
        script, name, notes = (
            f"#!/bin/sh\n# This script was made by sbatch --wrap.\n\n{own['wrap']}\n",
            "wrap",
            list[str](),
        )
        directives = read_directives("#!/bin/sh\n", Path("wrap"))
    else:
        path = Path(argv[0]) if argv else STDIN
        script, notes = read_script(path)
        name = path.name if argv else "sbatch"
        directives = read_directives(script, path)
    said = directives.merge_options({**of_variables, **given})
    said.setdefault("output", OptionText("slurm-%A_%a.out" if "array" in said else "slurm-%j.out", "--output"))
    asked = submit_request(said, argv[1:], name, os.environ, local_now())
    for line in () if "quiet" in own else (*notes, *warnings, *directives.warnings, *asked.warnings):
        sys.stderr.write(f"sbatch: warning: {line}\n")
    service = Client(service_folder(None))
    answer = service.submit(body_of(asked, script, fresh_key()))
    first = answer["ids"][0]
    if "parsable" in own or "quiet" not in own:
        sys.stdout.write(f"{first}\n" if "parsable" in own else f"Submitted batch job {first}\n")
    sys.stdout.flush()
    if not is_set(said, "wait"):
        return 0
    return max(exit_code_of(service.wait_for_end(number)) for number in range(first, answer["ids"][-1] + 1))


def _of_variables(environment: Mapping[str, str]) -> list[GivenOption]:
    found = []
    for variable, name in _VARIABLES.items():
        if (value := environment.get(f"SBATCH_{variable}")) is not None:
            has_value = SBATCH.options[name].takes != FLAG
            found.append(GivenOption(name, f"SBATCH_{variable}", value if has_value else ""))
    return found
