#!/bin/bash
# drill.sh: a whole on-sale against a shop of its own. Makes the shop, puts one
# item on sale, lets the crowd in (build/bench/drill), waits until all holds
# have ended and nothing is owed, and compares what the buyers were told with
# the books. Exit status 0: every promise was kept.
#
#   BUYERS 100000   UNITS 5000   DRILL_SECONDS 60   EARLY 30 (percent)
#   SEED            repeats a run's choices; printed by every run
#   KILL=1          kill -9 of a random worker each second of the sale;
#                   KILL="worker sweeper cashier" of any of these
#   DRILL_HOLD      seconds that a hold lasts
#   DRILL_CONNECTIONS  open at once at most
#   DRILL_PORT, DRILL_PAY_PORT  free ones unless given
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=app/demo/lib.sh
. app/demo/lib.sh
# `make drill SECONDS=60` exports that; to a shell it is the time it has run.
export -n SECONDS

ITEM=DRILL-1
OUT=$ROOT/build/drill
BUILD=${BUILD:-build}
# Pay pages that the cashier opens in a second: the shop's own limit.
OPENS=100
# After the last buyer has come to an end, for what is owed: seconds.
PATIENCE=60

killer=

# number NAME VALUE LOW HIGH
number() {
	case $2 in
	'' | *[!0-9]*) die "$1 must be a number, not \"$2\"" ;;
	esac
	if [ ${#2} -gt 12 ] || [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		die "$1 must be from $3 to $4, not $2"
	fi
}

options() {
	buyers=${BUYERS:-100000}
	units=${UNITS:-5000}
	seconds=${DRILL_SECONDS:-60}
	early=${EARLY:-30}
	seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
	number BUYERS "$buyers" 1 1000000
	number UNITS "$units" 1 1000000
	number SECONDS "$seconds" 1 3600
	number EARLY "$early" 0 100
	number SEED "$seed" 0 999999999999
	# Long enough for a pay page each; the cashier opens them one by one.
	hold=${DRILL_HOLD:-$((units / 55 > 25 ? units / 55 : 25))}
	number DRILL_HOLD "$hold" 5 86400
	connections=${DRILL_CONNECTIONS:-8000}
	number DRILL_CONNECTIONS "$connections" 1 1000000
	lead=$((5 + buyers * early / 250000))
	case ${KILL:-} in
	'' | 0) kill= ;;
	1) kill=worker ;;
	*) kill=$KILL ;;
	esac
}

# free_port: outside of the range that connections are made from.
free_port() {
	local port
	for port in $(shuf -i 20000-29999 -n 100); do
		if ! port_taken "$port" && [ "$port" != "${1:-}" ]; then
			echo "$port"
			return
		fi
	done
	die "no free port was found"
}

shop() {
	PORT=$port PAY_PORT=$pay_port RUN_DIR=$OUT/shop BUILD=$BUILD \
		LASTPAIR_STRIPE_OPENS_PER_SECOND=$OPENS app/demo/shop.sh "$@"
}

shop_make() {
	port=${DRILL_PORT:-$(free_port)}
	pay_port=${DRILL_PAY_PORT:-$(free_port "$port")}
	STATE=$(state_dir "$OUT/shop")
	shop reset >/dev/null
	if ! shop start >"$OUT/start.log" 2>&1; then
		cat "$OUT/start.log" >&2
		die "the shop did not start"
	fi
}

program() {
	as_runner "$STATE/bin/lastpair" -c "$STATE/lastpair.conf" "$@"
}

# item_make: on sale when the early ones have come; sets opens.
item_make() {
	local now text
	now=$(date +%s)
	opens=$((now + lead + 3))
	program item add $ITEM --title 'The drill' --price 129.00 \
		--currency EUR --total "$units" --per-buyer 1 \
		--hold "${hold}s" \
		--opens "$(date -u -d "@$opens" +%Y-%m-%dT%H:%M:%SZ)" >/dev/null
	text=$(program page $ITEM)
	printf '%s\n' "$text" |
		runner_file 644 "$STATE/site/item/$ITEM.html"
}

# running NAME...: this shop's processes of these kinds: pid and name.
running() {
	local parent name pid
	parent=$(pid_ours "$STATE/serve.pid" "$STATE/bin/lastpair") || return 0
	sed -n 's/.*started \([a-z]*\)[ 0-9]* as pid \([0-9]*\).*/\1 \2/p' \
		"$STATE/log/serve.log" | while read -r name pid; do
		case " $* " in
		*" $name "*) ;;
		*) continue ;;
		esac
		# A number used again has another parent.
		if [ "$(awk '{ sub(/.*\) /, ""); print $2 }' \
			"/proc/$pid/stat" 2>/dev/null)" = "$parent" ]; then
			echo "$pid $name"
		fi
	done
}

# killing: one process each second of the sale, from the opening on.
killing() {
	local found one
	RANDOM=$seed
	while [ "$(date +%s)" -lt $opens ]; do
		sleep 0.1
	done
	while [ "$(date +%s)" -lt $((opens + seconds)) ]; do
		# shellcheck disable=SC2086
		mapfile -t found < <(running $kill)
		if [ ${#found[@]} -gt 0 ]; then
			one=${found[RANDOM % ${#found[@]}]}
			kill -KILL "${one%% *}" 2>/dev/null &&
				echo "$one" >>"$OUT/kills"
		fi
		sleep 1
	done
}

crowd() {
	if [ -n "$kill" ]; then
		killing &
		killer=$!
	fi
	"$BUILD/bench/drill" sell port="$port" pay_port="$pay_port" \
		item=$ITEM buyers="$buyers" units="$units" \
		seconds="$seconds" early="$early" lead=$lead hold="$hold" \
		opens_ms="${opens}000" seed="$seed" \
		connections="$connections" out="$OUT/run" holds="$OUT/holds"
	if [ -n "$killer" ]; then
		kill "$killer" 2>/dev/null || true
		wait "$killer" 2>/dev/null || true
		killer=
	fi
}

# books: what is written down, in the shop and at the provider.
books() {
	{
		echo 'create temporary table known'
		echo '    (id text, ended text, charged integer);'
		echo 'copy known from stdin;'
		cat "$OUT/holds"
		echo '\.'
		cat tests/bench/drill.sql
	} | app/demo/cluster.sh psql "$STATE" -d lastpair -At -v item=$ITEM \
		-f - >"$OUT/books"
}

# settled: all holds have ended, and nothing is owed to anybody.
settled() {
	books && grep -qx held=0 "$OUT/books" && grep -qx owed=0 "$OUT/books"
}

settle() {
	local end=$((SECONDS + PATIENCE + hold))
	until settled; do
		if [ $SECONDS -ge $end ]; then
			say "not settled within $((PATIENCE + hold)) s" >&2
			return
		fi
		sleep 0.5
	done
}

audit() {
	local status=0
	say
	say "lastpair audit:"
	program audit || status=$?
	{
		echo "audit=$status"
		echo "kills=$(wc -l <"$OUT/kills")"
	} >>"$OUT/books"
}

# A failed drill's database and logs stay, stopped.
finish() {
	local status=$?
	trap - EXIT
	if [ -n "$killer" ]; then
		kill "$killer" 2>/dev/null || true
	fi
	if [ -n "${STATE:-}" ]; then
		if [ $status -eq 0 ]; then
			shop reset >/dev/null
		else
			shop stop >/dev/null || true
			say "the shop's data and logs stay in $STATE" >&2
		fi
	fi
	exit $status
}

main() {
	local status=0
	options
	if [ ! -x "$BUILD/lastpair" ] || [ ! -x "$BUILD/bench/drill" ]; then
		die "$BUILD/lastpair or $BUILD/bench/drill is missing: make drill"
	fi
	mkdir -p "$OUT"
	: >"$OUT/kills"
	trap 'exit 130' INT TERM HUP
	trap finish EXIT
	shop_make
	item_make
	say "$buyers buyers for $units units, $early % of them at the opening," \
		"the others within $seconds s; a hold lasts $hold s; SEED=$seed"
	crowd
	settle
	audit
	"$BUILD/bench/drill" report "$OUT/run" "$OUT/books" \
		"$ROOT/build/drill.json" || status=$?
	return $status
}

main "$@"
