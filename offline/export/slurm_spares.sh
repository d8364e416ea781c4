
# --- idle nodes that stay on

usage() {
  cat <<HELP
Keeps idle nodes on according to a plan: $TITLE.

usage: bash $0 [--dry-run | --rollback | --slurm-conf] [--include FILE] [--state DIR] [--most-pending JOBS]
       [--poll-s SECONDS]

Slurm's own power saving switches nodes: it suspends nodes after SuspendTime idle and boots nodes for jobs. This
program sets how many idle nodes stay on (SuspendExcNodes), when the plan's numbers change, and powers up another node
when one of them is taken, never more than the plan's number. The site's own exclusions stay. Nodes that are
busy, drained, reserved or down do not change. Running it again is safe. It ends with the plan; the last numbers stay.

  --dry-run            print each change and its time, without requests to Slurm
  --rollback           restore the exclusions, and power up the nodes that have gone off since
  --slurm-conf         print the lines that slurm.conf needs
  --include FILE       the file that slurm.conf includes, if scontrol cannot update SuspendExcNodes
                       (default $INCLUDE)
  --state DIR          folder for the state before the plan (default $STATE_DIR)
  --most-pending JOBS  no node is switched off if more jobs wait for nodes (default $MOST_PENDING)
  --poll-s SECONDS     interval of checks (default $POLL)
HELP
}

slurm_conf() {
  cat <<CONF
SuspendTime=$IDLE_S
SuspendTimeout=$SUSPEND_TIMEOUT   # at least as long as a shut-down takes
ResumeTimeout=$RESUME_S   # at least as long as a boot takes
# Where scontrol cannot update SuspendExcNodes (before Slurm 23.02), in place of a SuspendExcNodes line, which belongs
# into that file; it must be there before slurmctld reads this, with a comment in it at least:
Include $INCLUDE
CONF
}

# --- SuspendExcNodes

exclusions() { # as Slurm has them now
  local config
  config=$(ask show config) || exit 1
  sed -n 's/^SuspendExcNodes *= //p' <<<"$config" | sed 's/^(null)$//'
}

is_ours() { # this value; so is any that was being set when the program was killed
  [[ -e $STATE_DIR/setting || $1 == "$(kept set)" || $1 == "$(kept wish)" ]]
}

# What stays on as far as the site is concerned: whatever is there that was not set here.
find_own() {
  local now
  now=$(exclusions) || exit 1
  if [[ ! -e $STATE_DIR/found ]] || ! is_ours "$now"; then
    [[ ! -e $STATE_DIR/found ]] || say "SuspendExcNodes is $now now: it counts as the site's"
    if [[ -e $INCLUDE ]] && [[ ! -e $STATE_DIR/wish || $(cat "$INCLUDE") != "$(line_of "$(kept wish)")" ]]; then
      cp "$INCLUDE" "$STATE_DIR/include" || stop "cannot write to $STATE_DIR"
    fi
    keep found "$now"
    keep set "$now"
    keep wish "$now"
  fi
  OWN=$(kept found)
}

line_of() { # Slurm warns of a file without any line
  if [[ -n $1 ]]; then echo "SuspendExcNodes=$1"; else echo "# none"; fi
}

# A list of exclusions, and what the included file is to hold where scontrol cannot update them.
set_exclusions() {
  local told after
  keep wish "$1"
  keep setting now
  if told=$(scontrol update "SuspendExcNodes=$1" 2>&1); then
    say "scontrol update SuspendExcNodes=$1"
  elif [[ $told == *"No valid entity"* ]]; then
    include "$1" "$2"
  else
    stop "scontrol update SuspendExcNodes=$1 failed: $told"
  fi
  after=$(exclusions) || exit 1
  keep set "$after"
  rm -f "$STATE_DIR/setting"
}

include() {
  local before after
  [[ -e $INCLUDE ]] || stop "this Slurm cannot update SuspendExcNodes, and $INCLUDE is not there (see --slurm-conf)"
  before=$(exclusions) || exit 1
  write_include "$2"
  order reconfigure
  after=$(exclusions) || exit 1
  if [[ $after != "$1" && $after == "$before" ]]; then
    write_include "$(kept include)"
    rm -f "$STATE_DIR/setting"
    stop "SuspendExcNodes stays ${before:-empty}: slurm.conf must include $INCLUDE (see --slurm-conf)"
  fi
}

write_include() { # whole or not at all
  local part
  part=$(mktemp "$INCLUDE.XXXXXX") || stop "cannot write beside $INCLUDE"
  { printf '%s\n' "$1" >"$part" && chmod 644 "$part" && mv "$part" "$INCLUDE"; } || stop "cannot write $INCLUDE"
}

# The largest number of each set until a boot from now: what rises then must be up by then.
wanted() {
  local now=$1 line at place
  local -a row
  WANTED=()
  for line in "${STEPS[@]}"; do
    read -r at line <<<"$line"
    read -ra row <<<"$line"
    ((at <= now + BOOT_S)) || break
    for place in "${!row[@]}"; do
      ((at > now && row[place] < ${WANTED[place]:-0})) || WANTED[place]=${row[place]}
    done
  done
}

# Slurm wants sets with a number before those without one.
list_of() {
  local place parts=()
  for place in "${!SPARE_NODES[@]}"; do
    ! ((WANTED[place])) || parts+=("${SPARE_NODES[place]}:${WANTED[place]}")
  done
  [[ -z $OWN ]] || parts+=("$OWN")
  joined "${parts[@]}"
}

# --- nodes

# Powers up as many as lack to the number of idle nodes that are on or coming. Reserved ones that are on count, as they
# do for SuspendExcNodes: else Slurm would suspend in their place who is powered up here, over and over.
replace() {
  local place name state told ready off
  for place in "${!SPARE_NODES[@]}"; do
    ready=0 off=()
    told=$(states "${SPARE_NODES[place]}") || exit 1
    while read -r name state; do
      case $state in
      DOWN*) [[ -z ${ASKED[$name]:-} ]] || give_up "$name" "$state" ;;
      *\** | *DRAIN* | *FAIL* | *REBOOT* | *POWERING_DOWN* | *POWER_DOWN*) ;;
      *POWERED_DOWN*RESERVED* | *POWERED_DOWN*MAINT* | *RESERVED*POWERED_DOWN* | *MAINT*POWERED_DOWN*) ;;
      IDLE*POWER_UP* | IDLE*POWERING_UP*) ready=$((ready + 1)) ;;
      IDLE*POWERED_DOWN*)
        give_up_late "$name" "$state"
        if [[ -n ${GIVEN_UP[$name]:-} ]]; then
          continue
        elif [[ -n ${ASKED[$name]:-} ]]; then
          ready=$((ready + 1))
        else
          off+=("$name")
        fi
        ;;
      *NOT_RESPONDING*) ;;
      *)
        [[ $state != IDLE* ]] || ready=$((ready + 1))
        unset "ASKED[$name]" "GIVEN_UP[$name]"
        ;;
      esac
    done <<<"$told"
    if ((ready < WANTED[place])); then power_up "${off[@]:0:WANTED[place]-ready}"; fi
  done
}

# --- what is asked for

everybody() { # no number: all of them stay on
  joined "${SPARE_NODES[@]}" ${OWN:+"$OWN"}
}

carry_out() {
  local now waiting list held=0
  while now=$(date +%s) && ((now < END)); do
    if ((now >= BEGIN)); then
      find_own
      wanted "$now"
      waiting=$(pending) || exit 1
      if ((waiting > MOST_PENDING)); then
        ((held)) || say "$waiting jobs wait for nodes: none is switched off"
        held=1
        list=$(everybody)
      else
        ! ((held)) || say "$waiting jobs wait for nodes: the plan's numbers hold again"
        held=0
        list=$(list_of)
      fi
      [[ $list == "$(kept wish)" ]] || set_exclusions "$list" "$(line_of "$list")"
      replace
    fi
    rest $((POLL < END - now ? POLL : END - now))
  done
  say "the plan is over; its last numbers stay until the next plan's, or --rollback"
}

dry_run() {
  local line at
  for line in "${STEPS[@]}"; do
    read -r at _ <<<"$line"
    BOOT_S=0 wanted "$at"
    echo "$(utc "$at")Z SuspendExcNodes=$(list_of) (and the site's exclusions)"
  done
}

remember_off() { # nodes that were off when the first plan began
  local name state told off=()
  [[ ! -e $STATE_DIR/off ]] || return 0
  told=$(states "$NODES") || exit 1
  while read -r name state; do
    [[ $state != *POWER*DOWN* ]] || off+=("$name")
  done <<<"$told"
  keep off "${off[*]}"
}

roll_back() {
  local now
  if [[ ! -e $STATE_DIR/found ]]; then
    say "nothing to undo: no plan has started"
    return
  fi
  now=$(exclusions) || exit 1
  if is_ours "$now"; then
    set_exclusions "$(kept found)" "$(kept include)"
  else
    say "SuspendExcNodes is ${now:-empty}, which this program did not set: it stays"
  fi
  power_up_again
  rm -f "$STATE_DIR"/{found,set,wish,off,include}
  say "rolled back: SuspendExcNodes is the site's, and nodes are powered up"
}

power_up_again() { # the nodes that have gone off since the first plan began, each once
  local name state told end left=() up=()
  local -A seen=()
  for name in $(kept off); do seen[$name]=1; done
  end=$(($(date +%s) + RESUME_TIMEOUT + 60))
  while :; do
    left=() up=()
    told=$(states "$NODES") || exit 1
    while read -r name state; do
      [[ -z ${seen[$name]:-} ]] || continue
      case $state in
      DOWN* | *DRAIN* | *FAIL* | *RESERVED* | *MAINT* | *REBOOT*) ;;
      *POWERING_DOWN* | *POWER_DOWN* | *POWER*UP*) left+=("$name") ;;
      *POWERED_DOWN*)
        left+=("$name")
        [[ -n ${ASKED[$name]:-} ]] || up+=("$name")
        ;;
      *) seen[$name]=1 ;;
      esac
    done <<<"$told"
    power_up "${up[@]}"
    ((${#left[@]})) || return 0
    (($(date +%s) < end)) || stop "these do not come up: ${left[*]}"
    rest 2
  done
}

own_option() {
  case $1 in
  --slurm-conf) CONF=1 ;;
  --include) INCLUDE=$(path "$@") || exit 2; TOOK=2 ;;
  *) return 1 ;;
  esac
}

main() {
  CONF=0
  options "$@"
  if ((CONF)); then
    slurm_conf
    exit 0
  fi
  trap interrupted INT TERM
  say "plan: $TITLE"
  if ((DRY)); then
    dry_run
    exit 0
  fi
  if ! ((BACK)) && (($(date +%s) >= END)); then
    say "this plan ended at $(utc "$END")Z" >&2
    exit 1
  fi
  check_slurm
  take_lock
  if ((BACK)); then
    roll_back
    exit 0
  fi
  ((SUSPEND_TIME == IDLE_S)) || say "note: SuspendTime is $SUSPEND_TIME s, but the plan assumes $IDLE_S s"
  remember_off
  carry_out
}

AS_LEFT="SuspendExcNodes and nodes are as they were left"
SUSPEND_TIME_HINT="--slurm-conf prints the plan's"
INCLUDE=/etc/slurm/dardis-spares.conf
POLL=15 OWN=
main "$@"
