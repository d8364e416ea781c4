"""Job supervisor: a small process on each host that starts and watches runs, and outlives the service.

Imports only the standard library. README.md has the protocol of its socket.
"""

from typing import Final

PROTOCOL: Final = 4
"""Version of the protocol. Version 1 refused a request as a whole and had no number; version 2 had no job steps;
version 3 had no signals and no temporary folders."""
