/**
 * Tries a connection in the network namespace that it runs in, plain sh but for bash's `/dev/tcp`. Arguments: the
 * ruleset to try, a ruleset that lets everything in, the interface, the addresses of both ends, the port and the length
 * of an address in bits. It prints `passes`, or `refused` where the connection comes through without the ruleset, or
 * nothing where that can't be told.
 *
 * Nothing listens: the kernel answers what reached the end of the input hook by a reset. The counter there tells that
 * reset from one by which the ruleset rejects.
 */
export const trialScript = `
candidate=$1 bare=$2 device=$3 from=$4 to=$5 port=$6 length=$7
case $length in 128) ip="ip -6" address="address add nodad" ;; *) ip="ip -4" address="address add" ;; esac
there=
if [ "$device" = lo ]; then
  ip link set lo up
  $ip $address "$to/$length" dev lo 2>/dev/null
else
  # Its output ends once it has become sleep, in a namespace of its own.
  outer=$(unshare -n -- sh -c 'echo $$; exec sleep 10 >&- 2>&-' &)
  trap 'kill $outer' EXIT
  there="nsenter --net=/proc/$outer/ns/net --"
  $ip -batch - <<EOF || exit 2
link set lo up
link add $device type veth peer name caller netns $outer
$address $to/$length dev $device
link set $device up
route add $from/$length dev $device
EOF
  $there $ip -batch - <<EOF || exit 2
$address $from/$length dev caller
link set caller up
route add $to/$length dev caller src $from
EOF
fi
passes() {
  nft -j -f "$1" || exit 2
  $there timeout 0.3 bash --norc -c 'exec 3<>"/dev/tcp/$0/$1"' "$to" "$port" </dev/null 2>/dev/null
  [ $? -ne 124 ] || return 1
  case $(nft list counter inet netops_trial reached) in *"packets 0 "*) return 1 ;; *packets*) ;; *) exit 2 ;; esac
}
again() {
  nft flush ruleset
  # A neighbour that didn't answer isn't asked again for a while.
  [ -z "$there" ] || { $ip neigh flush dev $device; $there $ip neigh flush dev caller; }
  passes "$1"
}
if passes "$candidate"; then echo passes; exit; fi
again "$bare" || exit 0
# Twice, since a busy machine may have been late.
if again "$candidate"; then echo passes; else echo refused; fi
`
