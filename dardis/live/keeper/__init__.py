"""Job supervisor: a small process on each host that starts and watches runs, and outlives the service.

Imports only the standard library. Protocol: README.md.
"""

from typing import Final

PROTOCOL: Final = 4
