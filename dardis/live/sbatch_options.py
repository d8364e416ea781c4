"""Options of Slurm's `sbatch`: names, values and support. Source: manual page of sbatch, 25.05."""

from __future__ import annotations

from typing import Final

from dardis.live.option_table import FLAG, IGNORED, OPTIONAL, USED, VALUE, OptionTable, options_of

_NO_FEATURES: Final = "nodes have no features here"
_NO_CHOICE: Final = "nodes cannot be chosen by name"
_NO_TASK_GPUS: Final = "GPUs are counted by node: use --gpus-per-node"


SBATCH: Final = OptionTable("sbatch", {
    **options_of(VALUE, USED, """
        array/a begin/b chdir/D comment cpus-per-gpu cpus-per-task/c deadline dependency/d error/e export gpus/G
        gpus-per-node gpus-per-task gres input/i job-name/J mem mem-per-cpu mem-per-gpu mincpus nodes/N ntasks/n
        ntasks-per-node tasks tasks-per-node open-mode output/o partition/p priority signal time/t tmp workdir"""),
    **options_of(OPTIONAL, USED, "exclusive get-user-env nice"),
    **options_of(FLAG, USED, "hold/H no-requeue requeue wait/W"),
    # Accounts, messages, placement and limits that no result depends on.
    **options_of(VALUE, IGNORED, """
        account/A acctg-freq cores-per-socket core-spec/S cpu-freq delay-boot distribution/m
        extra extra-node-info/B gpu-bind gpu-freq gres-flags hint kill-on-invalid-dep mail-type mail-user
        mcs-label mem-bind ntasks-per-core ntasks-per-socket power profile qos/q reservation
        segment sockets-per-node switches thread-spec threads-per-core time-min tres-bind wait-all-nodes wckey"""),
    **options_of(OPTIONAL, IGNORED, "no-kill/k oom-kill-step parsable propagate"),
    **options_of(FLAG, IGNORED, """
        contiguous ignore-pbs overcommit/O oversubscribe/s reboot spread-job use-min-nodes
        verbose/v"""),
    # What a result may depend on.
    **options_of(VALUE, _NO_FEATURES, "batch constraint/C cluster-constraint prefer"),
    **options_of(VALUE, _NO_CHOICE, "exclude/x nodefile/F nodelist/w"),
    **options_of(VALUE, _NO_TASK_GPUS, "gpus-per-socket ntasks-per-gpu tres-per-task"),
    **options_of(VALUE, "burst buffers are not supported", "bb bbf"),
    **options_of(VALUE, "there is one cluster here", "clusters/M"),
    **options_of(VALUE, "containers are not supported", "container container-id"),
    **options_of(VALUE, "licences are not counted here", "licenses/L"),
    **options_of(VALUE, "a job belongs to the user who submits it", "gid uid"),
    **options_of(VALUE, "the environment is that of the submission: use --export", "export-file"),
})  # fmt: skip
