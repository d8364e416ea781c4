"""What tests let processes of a comparison do: they find it by its name."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from dardis.model.files import InputFiles
from dardis.runs.run_objects import record_of


def script(scripts, request, progress):
    """Do the script of a run's dispatcher in place of the run."""
    sys.argv[1:] = [str(request.out), str(request.seed), json.dumps(record_of(request, InputFiles())), str(progress)]
    exec(scripts[request.dispatcher], {})  # noqa: S102 (a test's own)


def about():
    """Who this process is, and where."""
    sid, own = os.getsid(0), "DARDIS_PARENT" in os.environ or "PYTHONSAFEPATH" in os.environ
    return os.getpid(), os.getppid(), sid == os.getppid(), own, str(Path.cwd())


def raises(error):
    """Fail."""
    raise error


def ends(status, line=""):
    """End the process at once: with an exit status, or by a signal."""
    print(line, file=sys.stderr, flush=True)
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


def waits(file):
    """Wait until that is interrupted, and tell it to a file."""
    try:
        file.write_text("waits")
        time.sleep(60)
    except KeyboardInterrupt:
        file.write_text("interrupted")
        raise


def kills_parent():
    """Kill the process that has started this one."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
