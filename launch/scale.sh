# shellcheck shell=bash
# The scaling experiments of one allocation, in any batch system: software and kernels on each node, then strong and
# weak scaling. Sourced by scale.slurm and scale.pbs, which set:
#   ranks        number of ranks, one per core
#   once_a_node  launcher of a command on each node, without MPI
#   all_ranks    launcher of a command on all ranks
#   here         folder of this job on the local disk of each node; created and removed here
# Users set DARDIS_VENV, DARDIS_ARCHIVE, DARDIS_NODES, DARDIS_NODES_A_RANK, DARDIS_JOBS, DARDIS_OPTIONS,
# DARDIS_OUT (launch/README.md).
: "${ranks:?}" "${once_a_node[0]:?}" "${all_ranks[0]:?}" "${here:?}"

# One thread per rank. Kernels are compiled once per node, on its local disk: thousands of ranks must neither compile at
# the same time nor search for machine code in one shared folder.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 NUMBA_CACHE_DIR="$here/kernels"
export PYTHONDONTWRITEBYTECODE=1 TERM=dumb NO_COLOR=1

# Machine code is only loaded from a folder of the same user.
# shellcheck disable=SC2016 # the node's shell expands it
"${once_a_node[@]}" bash -c 'mkdir -p -m 700 "$0" && [ -O "$0" ] && mkdir -p "$0/kernels"' "$here"
trap '"${once_a_node[@]}" rm -rf "$here" "$here.tar"' EXIT

venv=${DARDIS_VENV:-$PWD/.venv}
if [ -n "${DARDIS_ARCHIVE:-}" ]; then
    venv=$here/venv
    "${once_a_node[@]}" mkdir -p "$venv"
    "${once_a_node[@]}" tar -xf "$DARDIS_ARCHIVE" -C "$venv"
fi
# -P: ignore the folder of the submission. bin/dardis contains the original path, so it is not used.
python=("$venv/bin/python" -P)
"${once_a_node[@]}" "${python[@]}" -m dardis warm

list=
for ((n = 1; n < ranks; n *= 2)); do list+=$n,; done
list+=$ranks

read -ra options <<<"${DARDIS_OPTIONS:-}"
scale=("${all_ranks[@]}" "${python[@]}" -m dardis scale --jobs "${DARDIS_JOBS:-1000}" --ranks "$list" "${options[@]}")
out=${DARDIS_OUT:-out/scale-$ranks}
mkdir -p "$out"
"${scale[@]}" --nodes "${DARDIS_NODES:-1000000}" --out "$out/strong"
"${scale[@]}" --nodes "${DARDIS_NODES_A_RANK:-16384}" --weak --out "$out/weak"
