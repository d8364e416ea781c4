
# --- nodes that are down at the hours of the plan

usage() {
  cat <<HELP
Carries out the node switching of a plan: $TITLE.

usage: bash $0 [--dry-run | --rollback] [--now] [--state DIR] [--most-pending JOBS] [--poll-s SECONDS]

Nodes that will be down are reserved for that time, so that no job runs on them then.
At each step idle nodes are powered down, busy ones as soon as their job has ended; no job is ever cancelled. Nodes that
are drained or down, or have another reservation at such a time, do not change. Steps in the past when the script
starts are made up for. Running it again is safe: its reservations ($PREFIX...) are replaced. It stops at the first
scontrol that fails.

  --dry-run            print the steps and their times, without requests to Slurm
  --rollback           delete the reservations and power up every node that the plan powers down
  --now                for tests: run all steps now, one after the other
  --state DIR          folder of the lock against a second copy (default $STATE_DIR)
  --most-pending JOBS  no node is powered down if more jobs wait for nodes (default $MOST_PENDING)
  --poll-s SECONDS     interval of checks of busy nodes (default $POLL)
HELP
}

# --- reservations

own_reservations() { ask show reservation -o | sed -n "s/^ReservationName=\(${PREFIX}[^ ]*\) .*/\1/p"; }

unreserve() {
  local names name
  if ((DRY)); then
    echo "  TZ=UTC0 scontrol delete ReservationName=$PREFIX... (if there are any)"
    return
  fi
  names=$(own_reservations) || exit 1
  for name in $names; do order delete "ReservationName=$name"; done
}

# Nodes that somebody else has reserved at a time when they are to be down: the plan leaves them alone.
declare -A THEIRS=()

find_theirs() {
  local told line window reservation from to begin end nodes theirs name
  local -A mine
  told=$(ask show reservation -o) || exit 1
  while read -r line; do
    [[ $line =~ ^ReservationName=([^ ]+)\ StartTime=([^ ]+)\ EndTime=([^ ]+) ]] || continue
    reservation=${BASH_REMATCH[1]}
    [[ $reservation != "$PREFIX"* ]] || continue
    from=$(date -u -d "${BASH_REMATCH[2]}Z" +%s) to=$(date -u -d "${BASH_REMATCH[3]}Z" +%s)
    [[ $line =~ \ Nodes=([^ ]+) && ${BASH_REMATCH[1]} != "(null)" ]] || continue
    theirs=$(ask show hostnames "${BASH_REMATCH[1]}") || exit 1
    mine=()
    for window in "${RESERVATIONS[@]}"; do
      read -r begin end nodes <<<"$window"
      ((begin + SHIFT < to && from < end + SHIFT)) || continue
      for name in $(ask show hostnames "$nodes"); do mine[$name]=1; done
    done
    for name in $theirs; do
      [[ -n ${mine[$name]:-} && -z ${THEIRS[$name]:-} ]] || continue
      say "$name has another reservation ($reservation): it does not change"
      THEIRS[$name]=1
    done
  done <<<"$told"
}

without_theirs() { # a host list, - if nothing is left of it
  local name names left=()
  if [[ $1 == - || ${#THEIRS[@]} -eq 0 ]]; then
    echo "$1"
    return
  fi
  names=$(ask show hostnames "$1") || exit 1
  for name in $names; do [[ -n ${THEIRS[$name]:-} ]] || left+=("$name"); done
  if ((${#left[@]})); then ask show hostlistsorted "$(joined "${left[@]}")"; else echo -; fi
}

reserve() {
  local line from to nodes start number=0
  unreserve
  ((DRY)) || find_theirs
  for line in "${RESERVATIONS[@]}"; do
    number=$((number + 1))
    read -r from to nodes <<<"$line"
    from=$((from + SHIFT)) to=$((to + SHIFT))
    start=$(utc "$from")
    if ! ((DRY)); then
      ((to > $(date +%s))) || continue
      ((from > $(date +%s))) || start=now
      nodes=$(without_theirs "$nodes") || exit 1
      [[ $nodes != - ]] || continue
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
  for name in $names; do
    [[ -n ${THEIRS[$name]:-} ]] || WANTED[$name]=$1
  done
}

# Does what can be done now for the nodes that are not yet what they should be. Slurm forgets an order to power up a
# node that is on its way down, and cannot take back one to power down a busy node: so neither is ever given.
look_after() {
  local name state told waiting down=() up=()
  ((${#WANTED[@]})) || return 0
  told=$(states "$(joined "${!WANTED[@]}")") || exit 1
  while read -r name state; do
    case "${WANTED[$name]} $state" in
    'off '*POWERED_DOWN* | 'off '*POWERING_DOWN* | 'off '*POWER_DOWN*) unset "WANTED[$name]" ;;
    'off '*DRAIN* | 'off '*FAIL* | 'off '*POWERING_UP* | 'off '*REBOOT*) ;;
    'off IDLE'*) down+=("$name") ;;
    'on DOWN'*)
      say "$name is down: it does not change"
      unset "WANTED[$name]"
      ;;
    'on '*POWERED_DOWN*)
      give_up_late "$name" "$state"
      if [[ -n ${GIVEN_UP[$name]:-} ]]; then unset "WANTED[$name]"; else up+=("$name"); fi
      ;;
    'on '*POWERING_DOWN* | 'on '*POWER_DOWN*) ;;
    'on '*) unset "WANTED[$name]" ;;
    esac
  done <<<"$told"
  if ((${#down[@]})); then
    waiting=$(pending) || exit 1
    if ((waiting > MOST_PENDING)); then
      say "$waiting jobs wait for nodes: none is powered down"
      down=()
    fi
  fi
  power POWER_DOWN_ASAP "${down[@]}"
  power_up "${up[@]}"
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
    settle $((END > $(date +%s) ? END - $(date +%s) : 0)) "$POLL" || say "nodes still busy at the end of the plan: ${!WANTED[*]}"
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

own_option() {
  [[ $1 == --now ]] && NOW=1
}

main() {
  NOW=0 SHIFT=0
  options "$@"
  trap interrupted INT TERM
  say "plan: $TITLE"
  if ! ((${#STEPS[@]})); then
    say "this plan switches no nodes"
    exit 0
  fi
  if ! ((NOW || BACK)) && (($(date +%s) >= END)); then
    say "this plan ended at $(utc "$END")Z" >&2
    ((DRY)) || exit 1
  fi
  if ! ((DRY)); then
    check_slurm
    take_lock
  fi
  if ((BACK)); then
    roll_back
    exit 0
  fi
  ((NOW)) && SHIFT=$(($(date +%s) - BEGIN))
  reserve
  carry_out
}

AS_LEFT="reservations and nodes are as they were left"
SUSPEND_TIME_HINT="a large one, to leave switching to the plan"
POLL=60
main "$@"
