/**
 * The guard: plain sh, so that it needs nothing of ours. Arguments: its directory, then what runs nft in the target.
 *
 * The deadline is in the name of one file, `pending.<hundredths of a second since boot>`, so that whoever renames it
 * decides: to `confirmed`, to another `pending.…` (more time), or to `restoring`, which only the guard does.
 * /proc/uptime doesn't jump when the clock is set.
 */
export const guardScript = `
dir=$1; shift
cd "$dir" || exit 1
echo $$ > armed.new && mv armed.new armed
while :; do
  set_deadline=
  for file in pending.*; do [ -e "$file" ] && set_deadline=\${file#pending.}; done
  if [ -z "$set_deadline" ]; then
    # Between two names of one rename nothing is seen; only a decision stays.
    for end in confirmed restored failed; do [ -e "$end" ] && exit 0; done
    [ -e restoring ] && break
    sleep 0.05
    [ -d "$dir" ] || exit 0
    continue
  fi
  read -r up idle < /proc/uptime
  whole=\${up%.*}; part=\${up#*.}
  now=$whole$part
  left=$((set_deadline - now))
  if [ "$left" -le 0 ]; then mv "pending.$set_deadline" restoring 2>/dev/null && break
  elif [ "$left" -ge 20 ]; then sleep 0.2
  else sleep 0.$(printf %02d "$left")
  fi
done
tries=0
while [ "$tries" -lt 100 ]; do
  for file in restore.*.json; do
    if "$@" -j -f "$dir/$file" 2>>"$dir/log"; then mv restoring restored; exit 0; fi
  done
  tries=$((tries + 1)); sleep 0.3
done
mv restoring failed
`
