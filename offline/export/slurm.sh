
usage() {
  cat <<HELP
Carries out the node switching of a plan: $TITLE.

usage: bash $0 [--dry-run | --rollback] [--now] [--poll-s SECONDS]

Nodes that will be down are reserved for that time, so that no job is placed on them that would still run then.
At each step idle nodes are powered down, busy ones as soon as their job has ended; no job is ever cancelled. Nodes that
are drained or down are left alone. What is past when the script starts is caught up with. Running it again is safe: its
reservations ($PREFIX...) are replaced. It stops at the first scontrol that fails.

  --dry-run         print what would be done and when; nothing is asked of Slurm
  --rollback        delete the reservations and power up every node that the plan powers down
  --now             for tests: as if the plan began now, one step after the other without waiting for its time
  --poll-s SECONDS  how often to look after nodes that are still busy (default 60)
HELP
}

say() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

stop() {
  say "stopped: $*" >&2
  say "reservations and nodes are as they were left: run this script again to go on, or with --rollback to undo" >&2
  exit 1
}

interrupted() {
  say "interrupted: run this script again to go on, or with --rollback to undo" >&2
  # shellcheck disable=SC2046 # no job, no argument
  kill $(jobs -p) 2>/dev/null
  exit 130
}

rest() { # sleeps, but hears a signal at once
  sleep "$1" &
  wait $!
}

utc() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%S; }

# scontrol reads times in the zone of its caller, so here they are always UTC.
ask() {
  local told
  told=$(TZ=UTC0 scontrol "$@" 2>&1) || stop "scontrol $* failed: $told"
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

# --- before anything is changed

check_slurm() {
  local config
  command -v scontrol >/dev/null || stop "no scontrol here"
  config=$(ask show config) || exit 1
  [[ $config =~ SuspendProgram[\ ]+=\ / && $config =~ ResumeProgram[\ ]+=\ / ]] ||
    stop "power saving is not set up: slurm.conf has no SuspendProgram or no ResumeProgram"
  [[ $config =~ SuspendTime[\ ]+=\ [0-9]+\ sec ]] ||
    stop "power saving is off: SuspendTime in slurm.conf must be a number (a large one, to leave switching to the plan)"
  ask show node "$NODES" -o >/dev/null || exit 1
}

# --- reservations

own_reservations() { ask show reservation -o | sed -n "s/^ReservationName=\(${PREFIX}[^ ]*\) .*/\1/p"; }

unreserve() {
  local names name
  if ((DRY)); then
    echo "  TZ=UTC0 scontrol delete ReservationName=$PREFIX... (those that there are)"
    return
  fi
  names=$(own_reservations) || exit 1
  for name in $names; do order delete "ReservationName=$name"; done
}

reserve() {
  local line from to nodes start number=0
  unreserve
  for line in "${RESERVATIONS[@]}"; do
    number=$((number + 1))
    read -r from to nodes <<<"$line"
    from=$((from + SHIFT)) to=$((to + SHIFT))
    start=$(utc "$from")
    if ! ((DRY)); then
      ((to > $(date +%s))) || continue
      ((from > $(date +%s))) || start=now
    fi
    order create reservation "ReservationName=$PREFIX$(printf %03d "$number")" "StartTime=$start" \
      "EndTime=$(utc "$to")" "Nodes=$nodes" Users=root Flags=IGNORE_JOBS
  done
}

# --- nodes

declare -A WANTED=() # what nodes are still to become: off or on

want() {
  local name names
  [[ $2 != - ]] || return 0
  names=$(ask show hostnames "$2") || exit 1
  for name in $names; do WANTED[$name]=$1; done
}

joined() {
  local IFS=,
  echo "$*"
}

power() {
  local state=$1 nodes
  shift
  (($#)) || return 0
  nodes=$(ask show hostlistsorted "$(joined "$@")") || exit 1
  order update "NodeName=$nodes" "State=$state"
}

# Does what can be done now for the nodes that are not yet what they should be. Slurm forgets an order to power up a
# node that is on its way down, and cannot take back one to power down a busy node: so neither is ever given.
look_after() {
  local name state told down=() up=()
  ((${#WANTED[@]})) || return 0
  told=$(ask show node "$(joined "${!WANTED[@]}")" -o) || exit 1
  while read -r name state; do
    case "${WANTED[$name]} $state" in
    'off '*POWERED_DOWN* | 'off '*POWERING_DOWN* | 'off '*POWER_DOWN*) unset "WANTED[$name]" ;;
    'off '*DRAIN* | 'off '*FAIL* | 'off '*POWERING_UP* | 'off '*REBOOT*) ;;
    'off IDLE'*) down+=("$name") ;;
    'on DOWN'*)
      say "$name is down: left alone"
      unset "WANTED[$name]"
      ;;
    'on '*POWERED_DOWN*) up+=("$name") ;;
    'on '*POWERING_DOWN* | 'on '*POWER_DOWN*) ;;
    'on '*) unset "WANTED[$name]" ;;
    esac
  done < <(sed -n 's/^NodeName=\([^ ]*\) .* State=\([^ ]*\) .*/\1 \2/p' <<<"$told")
  power POWER_DOWN_ASAP "${down[@]}"
  power POWER_UP "${up[@]}"
}

settle() { # until every node is what it should be, or for at most so many seconds
  local end=$(($(date +%s) + $1)) every=$2
  look_after
  while ((${#WANTED[@]})); do
    (($(date +%s) < end)) || return 1
    rest "$every"
    look_after
  done
}

wait_until() {
  local now
  while now=$(date +%s) && ((now < $1)); do
    look_after
    rest $((POLL < $1 - now ? POLL : $1 - now))
  done
}

# --- what is asked for

carry_out() {
  local line at off on number=0
  for line in "${STEPS[@]}"; do
    number=$((number + 1))
    read -r at off on <<<"$line"
    if ((DRY)); then
      echo "$(utc "$at")Z step $number of ${#STEPS[@]}"
      [[ $off == - ]] || echo "  TZ=UTC0 scontrol update NodeName=$off State=POWER_DOWN_ASAP (each once it is idle)"
      [[ $on == - ]] || echo "  TZ=UTC0 scontrol update NodeName=$on State=POWER_UP"
      continue
    fi
    ((NOW)) || wait_until "$at"
    say "step $number of ${#STEPS[@]}, planned for $(utc "$at")Z: down $off, up $on"
    want off "$off"
    want on "$on"
    ! ((NOW)) || settle 300 1 || stop "after 300 s not what they should be: ${!WANTED[*]}"
  done
  if ! ((DRY || NOW)); then
    settle $((END > $(date +%s) ? END - $(date +%s) : 0)) "$POLL" || say "the plan ends with these still busy: ${!WANTED[*]}"
  fi
  ((DRY)) || say "all steps done"
}

roll_back() {
  unreserve
  if ((DRY)); then
    [[ -z $NODES_SWITCHED_OFF ]] || echo "  TZ=UTC0 scontrol update NodeName=$NODES_SWITCHED_OFF State=POWER_UP"
    return
  fi
  want on "${NODES_SWITCHED_OFF:--}"
  settle 900 5 || stop "after 900 s still not up: ${!WANTED[*]}"
  say "rolled back: no reservations of this plan, and its nodes are powered up"
}

main() {
  DRY=0 NOW=0 SHIFT=0 POLL=60
  local back=0
  while (($#)); do
    case $1 in
    --dry-run) DRY=1 ;;
    --rollback) back=1 ;;
    --now) NOW=1 ;;
    --poll-s)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "$0: --poll-s needs a number of seconds" >&2; exit 2; }
      POLL=$2
      shift
      ;;
    --help) usage; exit 0 ;;
    *) echo "$0: unknown option $1; see --help" >&2; exit 2 ;;
    esac
    shift
  done
  trap interrupted INT TERM
  say "plan: $TITLE"
  if ! ((${#STEPS[@]})); then
    say "this plan switches no node"
    exit 0
  fi
  if ! ((NOW || back)) && (($(date +%s) >= END)); then
    say "this plan ended at $(utc "$END")Z" >&2
    ((DRY)) || exit 1
  fi
  ((DRY)) || check_slurm
  if ((back)); then
    roll_back
    exit 0
  fi
  ((NOW)) && SHIFT=$(($(date +%s) - BEGIN))
  reserve
  carry_out
}

main "$@"
