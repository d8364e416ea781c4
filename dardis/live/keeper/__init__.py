"""The keeper: a small process on each host that starts the runs of jobs, and outlives whoever asked for them.

`python -m dardis.live.keeper FOLDER` serves FOLDER, the keeper's own, and goes into the background once it listens on
FOLDER/keeper.sock; mistakes are told in one line, exit 2. It imports nothing but the standard library.

JSON goes through the socket, an object a line. A request has an `id` and gets one line with that `id`, in order:
`{"id", ...}` if done, `{"id", "error": TEXT}` if not. What is no request at all is answered with the id null, and the
connection is closed. A connection says `hello` before anything else. Each answer has `"now"`, ms of CLOCK_BOOTTIME.

`{"id", "do": "hello", "epoch": E, "mark": TEXT}`
    → `{"id", "protocol": 2, "host", "boot", "pid", "cgroup": "v2" | "v1" | null, "memory": "v2" | "v1" | null,
    "marks": [TEXT], "runs": [RECORD]}`.
    A mark is a text that is nobody else's. It is taken with each new epoch, and once by each process of a keeper, and
    kept with those before it (the last 1000). What was asked for under one that is not there was asked of another
    keeper, or has been forgotten, since an older copy of the folder was put back.
    `memory` null: a memory limit is RLIMIT_AS, for each process. Events go to the last one that was accepted; older
    connections are closed, so that nothing is begun that was asked for before and is not in `runs`. An epoch below
    the highest that was ever accepted: `{"id", "error": "epoch", "highest": H}`, for this and what follows.
`{"id", "do": "intend", "runs": [START]}` (START: `asked.Start`) → `{"id", "refused": {RUN: WHY}}` when each other
    intent is durable: none has begun yet. Refused are those that are malformed, named twice, or known already. If one
    has no name, or they can't be written, there is an error and none is intended.
`{"id", "do": "go", "runs": [RUN]}` → `{"id", "refused": {RUN: WHY}}`: each other is forked. Refused are those that this
    connection has not intended. What was not told to go when the next hello comes is forgotten by it, and never begins.
`{"id", "do": "lease", "from": NOW, "ms": LENGTH}` → `{"id"}`: the lease ends that much after an instant that an answer
    has told; no earlier than before. All runs with `lease` live as long as it lasts: when it is over, they are killed
    at once, `why` is `lease`, and no later one saves them. One that is told to go then doesn't become its program, and
    ends likewise. With such a run, `intend` has `"lease_from"` and `"lease_ms"`, which say the same.
`{"id", "do": "end", "runs": [RUN], "why": TEXT}` → `{"id"}`: SIGTERM was sent, after its grace SIGKILL. Only the first
    reason counts. Runs that are over or not known are passed over.
`{"id", "do": "forget", "runs": [RUN]}` → `{"id"}`: runs that are over are not known any more. Others are passed over.
`{"id", "do": "stop"}` → `{"id"}`, and the keeper ends; or `{"id", "error": "running", "runs": [RUN]}`.

`{"event": "over", "record": RECORD}` comes without an id, once it holds whatever is killed.
RUN is `JOB.ATTEMPT`, and of a part of that, which the job has begun, `JOB.ATTEMPT.NUMBER`; to a keeper all are alike.
RECORD is `{"run", "state": "running" | "over" | "unknown", "pid", "started_ms", "ended_ms", "code", "signal", "why"}`.
Milliseconds are Unix time. `why` is null while it runs, else `exit`, `walltime`, what `end` said, `failed to start: …`
or (state unknown) `unknown: …`. `"memory": true` is in it where the kernel has killed something for the memory limit.
An adopted run's code and signal are null where the kernel can't tell them (before Linux 6.15): its state is `unknown`
then, unless the keeper was told to end it.
"""

from typing import Final

PROTOCOL: Final = 3
"""Of what is said here. 1 told none, and refused all that was asked for with a run that it would not begin; 2 knew no
parts."""
