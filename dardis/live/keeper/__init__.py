"""Job supervisor: a small process on each host that starts and watches runs, and outlives the service.

`python -m dardis.live.keeper FOLDER` serves FOLDER and goes into the background once FOLDER/keeper.sock listens. User
errors print a line, exit status 2. Imports only the standard library.

The socket carries JSON, an object a line. Each request has an `id`. Answers come in order: `{"id", ...}` or
`{"id", "error": TEXT}`. A malformed request gets the id null and closes the connection. Each connection starts with
`hello`. Each answer has `"now"`, ms of CLOCK_BOOTTIME.

`{"id", "do": "hello", "epoch": E, "mark": TEXT}`
    → `{"id", "protocol": 3, "host", "boot", "pid", "cgroup": "v2" | "v1" | null, "memory": "v2" | "v1" | null,
    "marks": [TEXT], "runs": [RECORD]}`.
    `mark` is a unique name for an incarnation of the supervisor. Each new epoch or process adds an incarnation; the
    last 1000 are kept. A missing incarnation means another supervisor or an older copy of the folder.
    `memory` null: the memory limit is RLIMIT_AS, per process. Events go to the last accepted connection; older
    connections are closed. Runs missing from `runs` never start. An epoch below the highest accepted epoch gets
    `{"id", "error": "epoch", "highest": H}` for this and later requests.
`{"id", "do": "intend", "runs": [START]}` (START: `run_request.Start`) → `{"id", "refused": {RUN: WHY}}` once the other
    intents are durable. Refused: malformed, duplicate or known runs. An unnamed run or a
    failed write fails the whole request.
`{"id", "do": "go", "runs": [RUN]}` → `{"id", "refused": {RUN: WHY}}`: starts runs. Refused: runs not intended on this
    connection. The next hello drops intended runs.
`{"id", "do": "lease", "from": NOW, "ms": LENGTH}` → `{"id"}`: extends the lease to NOW + LENGTH. NOW comes from an
    answer. The end of the lease kills all runs with `lease`, `why` = `lease`. An expired lease stays expired. Runs
    started later end likewise. `intend` with such a run has `"lease_from"` and `"lease_ms"`.
`{"id", "do": "end", "runs": [RUN], "why": TEXT}` → `{"id"}`: SIGTERM, and SIGKILL after the grace time. The first
    reason counts. Other runs are ignored, also below.
`{"id", "do": "forget", "runs": [RUN]}` → `{"id"}`: forgets runs that are over.
`{"id", "do": "stop"}` → `{"id"}`, then exit; or `{"id", "error": "running", "runs": [RUN]}`.

`{"event": "over", "record": RECORD}` is sent once the record survives any kill.
RUN is `JOB.ATTEMPT`, or `JOB.ATTEMPT.NUMBER` for a job step.
RECORD is `{"run", "state": "running" | "over" | "unknown", "pid", "started_ms", "ended_ms", "code", "signal", "why"}`.
Times are Unix ms. `why` is null while running, else `exit`, `walltime`, the text of `end`, `failed to start: …`, or
(state unknown) `unknown: …`. `"memory": true` marks a kill at the memory limit. Before Linux 6.15 an adopted run has no
code and signal; without `end` the state is `unknown`.
"""

from typing import Final

PROTOCOL: Final = 4
"""Version of the protocol. Version 1 refused a request as a whole and had no number; version 2 had no job steps;
version 3 had no signals and no temporary folders."""
