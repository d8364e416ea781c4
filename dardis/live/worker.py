"""Worker of an `Executor`: a job that runs pickled calls until its client is gone.

`python -m dardis.live.worker`, with DARDIS_EXECUTOR (address) and DARDIS_EXECUTOR_KEY in the environment.
"""

from __future__ import annotations

import json
import os
import sys
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client

from dardis.live.pickled_calls import result_of


def main() -> int:
    """Run calls; exit status 1 if the client does not answer."""
    address, key = json.loads(os.environ.pop("DARDIS_EXECUTOR")), bytes.fromhex(os.environ.pop("DARDIS_EXECUTOR_KEY"))
    try:
        with Client(tuple(address) if isinstance(address, list) else address, authkey=key) as client:
            client.send_bytes(os.environ.get("DARDIS_JOB_ID", "0").encode())
            while call := client.recv_bytes():
                succeeded, data = result_of(call)
                sys.stdout.flush()
                client.send_bytes((b"+" if succeeded else b"-") + data)
    except EOFError:
        return 0
    except (OSError, AuthenticationError) as error:
        sys.stderr.write(f"dardis: the client of this worker does not answer ({error})\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
