"""Runs the command it is given and prints the command's CPU seconds, peak MiB and exit status, as JSON.

A process of its own, without imports to speak of: Linux counts the memory of the process that starts a program into
the program's peak, so what starts it must be small. The command's whole output goes to standard error.
"""

import json
import os
import sys

command = sys.argv[1:]
child = os.posix_spawnp(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
_, status, usage = os.wait4(child, 0)
cost = {
    "cpu_s": usage.ru_utime + usage.ru_stime,
    "peak_mib": usage.ru_maxrss / 1024,
    "status": os.waitstatus_to_exitcode(status),
}
sys.stdout.write(json.dumps(cost))
