
# --- what both modes share

say() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

stop() {
  say "stopped: $*" >&2
  say "$AS_LEFT: run this script again to continue, or with --rollback to undo" >&2
  exit 1
}

interrupted() {
  say "interrupted: run this script again to continue, or with --rollback to undo" >&2
  # shellcheck disable=SC2046 # no job, no argument
  kill $(jobs -p) 2>/dev/null
  exit 130
}

rest() { # sleeps, but hears a signal at once
  sleep "$1" 9>&- &
  wait $!
}

utc() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%S; }

joined() {
  local IFS=,
  echo "$*"
}

# scontrol reads times in the zone of its caller, so here they are always UTC. What it warns of is no answer.
ask() {
  local told
  told=$(TZ=UTC0 scontrol "$@" 2>/dev/null) || stop "scontrol $* failed: $(TZ=UTC0 scontrol "$@" 2>&1)"
  printf '%s\n' "$told"
}

order() {
  local told
  if ((DRY)); then
    echo "  TZ=UTC0 scontrol $*"
    return
  fi
  told=$(TZ=UTC0 scontrol "$@" 2>&1) || stop "scontrol $* failed: $told"
  say "scontrol $*"
}

power() {
  local state=$1 nodes
  shift
  (($#)) || return 0
  nodes=$(ask show hostlistsorted "$(joined "$@")") || exit 1
  order update "NodeName=$nodes" "State=$state"
}

# Name and state of nodes, a line each. Reason, Comment and Extra hold any text and stand last: they are cut off.
states() {
  local told
  told=$(ask show node "$1" -o) || exit 1
  sed -nE 's/ (Reason|Comment|Extra)=.*//; s/^NodeName=([^ ]+) .* State=([^ ]+)( .*)?$/\1 \2/p' <<<"$told"
}

# Jobs that wait for nodes: not those that are held, depend on others or wait for their time.
pending() {
  local told
  told=$(squeue --noheader --array --states=PD --format=%r 2>/dev/null) || stop "squeue failed"
  grep -cE '^(Priority|Resources|None)' <<<"$told" || true
}

check_slurm() {
  local config
  command -v scontrol >/dev/null || stop "no scontrol here"
  config=$(ask show config) || exit 1
  [[ $config =~ SuspendProgram[\ ]+=\ / && $config =~ ResumeProgram[\ ]+=\ / ]] ||
    stop "power saving is not set up: slurm.conf has no SuspendProgram or no ResumeProgram"
  [[ $config =~ SuspendTime[\ ]+=\ ([0-9]+)\ sec ]] ||
    stop "power saving is off: SuspendTime in slurm.conf must be a number ($SUSPEND_TIME_HINT)"
  # shellcheck disable=SC2034 # one of the modes looks at it
  SUSPEND_TIME=${BASH_REMATCH[1]}
  [[ $config =~ ResumeTimeout[\ ]+=\ ([0-9]+)\ sec ]] && RESUME_TIMEOUT=${BASH_REMATCH[1]}
  ask show node "$NODES" -o >/dev/null || exit 1
}

# One copy at a time, of whichever plan; the system lets go of the lock when this process ends, however that is.
take_lock() {
  mkdir -p "$STATE_DIR" || stop "no folder $STATE_DIR (see --state)"
  exec 9>>"$STATE_DIR/lock" || stop "cannot write to $STATE_DIR (see --state)"
  if ! flock -n 9; then
    say "another copy runs (process $(cat "$STATE_DIR/owner" 2>/dev/null)): stop it first" >&2
    exit 1
  fi
  keep owner "$$"
}

keep() { # a line in the state folder, whole or not at all
  { printf '%s\n' "$2" >"$STATE_DIR/$1.part" && mv "$STATE_DIR/$1.part" "$STATE_DIR/$1"; } ||
    stop "cannot write $STATE_DIR/$1"
}

kept() { cat "$STATE_DIR/$1" 2>/dev/null; }

# Nodes that were told to come up, since when, and those that did not: they are not asked again.
declare -A ASKED=() GIVEN_UP=()

give_up() { # a node, and the state that it is in
  [[ -n ${GIVEN_UP[$1]:-} ]] || say "$1 does not boot ($2): no further tries"
  GIVEN_UP[$1]=1
}

give_up_late() {
  if [[ -n ${ASKED[$1]:-} ]] && (($(date +%s) - ASKED[$1] > RESUME_TIMEOUT + 60)); then give_up "$@"; fi
}

power_up() {
  local name
  (($#)) || return 0
  power POWER_UP "$@"
  for name; do ASKED[$name]=${ASKED[$name]:-$(date +%s)}; done
}

number() { # the value of an option
  [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "$0: $1 needs a number" >&2; exit 2; }
  echo "$2"
}

path() {
  [[ -n ${2:-} ]] || { echo "$0: $1 needs a path" >&2; exit 2; }
  echo "$2"
}

DRY=0 BACK=0 STATE_DIR=/var/lib/dardis MOST_PENDING=100 RESUME_TIMEOUT=600

options() { # what both modes can be asked for; own_option knows the rest, and how many words it took
  while (($#)); do
    TOOK=1
    case $1 in
    --dry-run) DRY=1 ;;
    --rollback) BACK=1 ;;
    --state) STATE_DIR=$(path "$@") || exit 2; TOOK=2 ;;
    --most-pending) MOST_PENDING=$(number "$@") || exit 2; TOOK=2 ;;
    --poll-s) POLL=$(number "$@") || exit 2; TOOK=2 ;;
    --help) usage; exit 0 ;;
    *) own_option "$@" || { echo "$0: unknown option $1; see --help" >&2; exit 2; } ;;
    esac
    shift "$TOOK"
  done
}
