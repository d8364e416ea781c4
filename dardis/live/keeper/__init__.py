"""The keeper: a small process on each host that starts the runs of jobs, and outlives whoever asked for them.

`python -m dardis.live.keeper FOLDER` serves FOLDER, the keeper's own, and goes into the background once it listens on
FOLDER/keeper.sock; mistakes are told in one line, exit 2. It imports nothing but the standard library.

JSON goes through the socket, an object a line. A request has an `id` and gets one line with that `id`, in order:
`{"id", ...}` if done, `{"id", "error": TEXT}` if not. What is no request at all is answered with the id null, and the
connection is closed. A connection says `hello` before anything else.

`{"id", "do": "hello", "epoch": E}`
    → `{"id", "host", "boot", "pid", "cgroup": "v2" | "v1" | null, "memory": "v2" | "v1" | null, "before": B,
    "runs": [RECORD]}`.
    B is the highest epoch that was accepted before; 0: none, so that no run was ever asked for here.
    `memory` null: a memory limit is RLIMIT_AS, for each process. Events go to the last one that was accepted; older
    connections are closed, so that nothing is begun that was asked for before and is not in `runs`. An epoch below
    the highest that was ever accepted: `{"id", "error": "epoch", "highest": H}`, for this and what follows.
`{"id", "do": "intend", "runs": [START]}` (START: `asked.Start`) → `{"id"}` when each intent is durable: none has begun
    yet. If one of them is malformed or known already, or they can't be written, there is an error and none is intended.
`{"id", "do": "go", "runs": [RUN]}` → `{"id"}`: each is forked. If one of them is not intended by this connection, there
    is an error and none is. What was not told to go when the next hello comes is forgotten by it, and never begins.
`{"id", "do": "end", "runs": [RUN], "why": TEXT}` → `{"id"}`: SIGTERM was sent, after its grace SIGKILL. Only the first
    reason counts. Runs that are over or not known are passed over.
`{"id", "do": "forget", "runs": [RUN]}` → `{"id"}`: runs that are over are not known any more. Others are passed over.
`{"id", "do": "stop"}` → `{"id"}`, and the keeper ends; or `{"id", "error": "running", "runs": [RUN]}`.

`{"event": "over", "record": RECORD}` comes without an id, once it holds whatever is killed.
RECORD is `{"run", "state": "running" | "over" | "unknown", "pid", "started_ms", "ended_ms", "code", "signal", "why"}`.
Milliseconds are Unix time. `why` is null while it runs, else `exit`, `walltime`, what `end` said, `failed to start: …`
or (state unknown) `unknown: …`. `"memory": true` is in it where the kernel has killed something for the memory limit.
An adopted run's code and signal are null where the kernel can't tell them (before Linux 6.15): its state is `unknown`
then, unless the keeper was told to end it.
"""
