"""Worker of an `Executor`: a job that runs pickled calls until its client is gone.

DARDIS_EXECUTOR (address) and DARDIS_EXECUTOR_KEY are in its environment. Two answers a call: an empty message at begin,
and the result.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from threading import Thread

from dardis.live.pickled_calls import result_of
from dardis.live.worker_listener import find_lost_peer


def main() -> int:
    """Run calls; exit status 1 if refused by the client."""
    address, key = json.loads(os.environ.pop("DARDIS_EXECUTOR")), bytes.fromhex(os.environ.pop("DARDIS_EXECUTOR_KEY"))
    process = os.getpid()
    try:
        with Client(tuple(address) if isinstance(address, list) else address, authkey=key) as client:
            client.send_bytes(os.environ.get("DARDIS_JOB_ID", "0").encode())
            with socket.socket(fileno=os.dup(client.fileno())) as peer:
                find_lost_peer(peer)
            Thread(target=_end_with_client, args=(client.fileno(),), daemon=True).start()
            while call := client.recv_bytes():
                client.send_bytes(b"")
                result = result_of(call)
                if os.getpid() != process:  # the call forked, and this process is not the worker
                    os._exit(0)
                with suppress(Exception):  # the call may have closed or replaced it
                    sys.stdout.flush()
                client.send_bytes(result)
    except (EOFError, FileNotFoundError, ConnectionRefusedError):  # the program has ended
        return 0
    except (OSError, AuthenticationError) as error:
        sys.stderr.write(f"dardis: the client of this worker does not answer ({error})\n")
        return 1
    return 0


def _end_with_client(file: int) -> None:
    gone = select.poll()
    gone.register(file, select.POLLRDHUP)
    gone.poll()
    os._exit(0)
