"""Does commands of `dardis` one after the other, as it is told: what they need is loaded once.

Each line of standard input is a command's arguments as JSON, and is answered on standard output by the line of its exit
status. It ends with its input, with what started it, and with an interrupt.
"""

from __future__ import annotations

from dardis.comparison.end_with_parent import end_with_parent

end_with_parent()

import gc  # noqa: E402 (the rest takes a while)
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from dardis.cli.main import OBJECTS_BETWEEN_COLLECTIONS, run  # noqa: E402
from dardis.model.errors import INTERRUPTED  # noqa: E402


def main() -> int:
    """Do what is asked until nothing more is."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    with (
        os.fdopen(os.dup(0)) as commands, os.fdopen(os.dup(1), "w") as answers, Path(os.devnull).open("r+") as nowhere
    ):  # fmt: skip
        # What a run or its children read and print is nothing of this.
        os.dup2(nowhere.fileno(), 0)
        os.dup2(nowhere.fileno(), 1)
        try:
            for line in commands:
                status = run(json.loads(line))
                if status == INTERRUPTED:
                    return INTERRUPTED
                gc.collect()  # the next run lets what is there live for ever
                print(status, file=answers, flush=True)
        except KeyboardInterrupt:  # between two
            return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
