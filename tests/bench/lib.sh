# shellcheck shell=bash
# What bench.sh stands on: a demo shop of its own, durable as every shop is, with
# the comparison program behind the same nginx; the load program; the memory of
# the shop's processes; the figures. Sourced.

# shellcheck disable=SC2034
BUILD_DIR=$ROOT/build
OUT=$BUILD_DIR/bench-out
# Enough of it that no measurement comes to its end.
PLENTY=100000000

# Set by bench.sh: the length of a window, the holds of the past.
window_ms=8000
past=5000000

declare -A figure=() got=() windows=()
# The units that buyers were told they have, by item.
declare -A granted=()
# Items of which some answer was wrong or lost: there the sum cannot tell.
declare -A blurred=()
failures=()
shop=
empty_pid=
memory_pid=

note() {
	printf '%s\n' "--- $*"
}

# wrong WHAT: a measurement that is none. The rest goes on; the end is a failure.
wrong() {
	say "FAILED: $*"
	failures+=("$*")
}

# calc EXPRESSION: of numbers, by awk; nothing when a number is missing.
calc() {
	awk "BEGIN { printf \"%.10g\", $1 }" 2>/dev/null
}

# --- the shop

free_port() {
	local port
	for port in $(shuf -i 20000-29999 -n 100); do
		if ! port_taken "$port"; then
			echo "$port"
			return
		fi
	done
	die "there is no free port"
}

shop_start() {
	PORT=$(free_port)
	PAY_PORT=$(free_port)
	while [ "$PAY_PORT" = "$PORT" ]; do
		PAY_PORT=$(free_port)
	done
	RUN_DIR=$BUILD_DIR/bench-run
	BUILD=build
	export PORT PAY_PORT RUN_DIR BUILD
	shop=$RUN_DIR
	STATE=$(state_dir "$RUN_DIR")
	app/demo/shop.sh reset >/dev/null
	note "a shop of its own"
	app/demo/shop.sh start >"$OUT/start.log" 2>&1 || {
		log_tail "$OUT/start.log"
		die "no shop to measure"
	}
	SHOP_URL=http://127.0.0.1:$PORT
	PG_BIN=$(app/demo/cluster.sh bin "$STATE")
}

shop_stop() {
	if [ -n "$empty_pid" ]; then
		kill "$empty_pid" 2>/dev/null
		wait "$empty_pid" 2>/dev/null
	fi
	if [ -n "$memory_pid" ]; then
		kill "$memory_pid" 2>/dev/null
		wait "$memory_pid" 2>/dev/null
	fi
	if [ -n "$shop" ]; then
		app/demo/shop.sh stop >/dev/null
		rm -rf "$OUT/logs"
		# A line for each of millions of requests.
		as_runner rm -f "$STATE/log/nginx-access.log"
		cp -r "$STATE/log" "$OUT/logs" 2>/dev/null
		app/demo/shop.sh reset >/dev/null
	fi
}

program() {
	as_runner "$STATE/bin/lastpair" -c "$STATE/lastpair.conf" "$@"
}

# psql ARGUMENT...: as superuser, in the shop's database.
sql() {
	app/demo/cluster.sh psql "$STATE" -d lastpair -At "$@"
}

# sql_file FILE NAME=VALUE...
sql_file() {
	local file=$1 pair sets=()
	shift
	for pair in "$@"; do
		sets+=(-v "$pair")
	done
	sql "${sets[@]}" -f - <"tests/bench/sql/$file"
}

# item SKU TOTAL: on sale, its units in one bucket, one for each buyer. A hold
# of it outlives the measurements.
item() {
	program item add "$1" --title "Bench" --price 129.00 --currency EUR \
		--total "$2" --hold 24h --per-buyer 1 --buckets 1 >/dev/null ||
		die "no item to measure"
}

# durable_check: an answer that a buyer got is on disk, as everywhere.
durable_check() {
	local found
	found=$(sql -c "select string_agg(setting, ' ' order by name)
		from pg_settings where name in
		('fsync', 'full_page_writes', 'synchronous_commit')")
	[ "$found" = "on on on" ] ||
		die "the cluster is not durable: $found"
}

# --- the comparison: its nginx location is a copy of the one that serves /hold

nginx_empty() {
	local conf=$STATE/nginx/shop.conf text
	text=$(as_runner cat "$conf" | awk '
	{ print }
	!done && /^\tlocation .*hold/ { block = 1 }
	block {
		line = $0
		if (/^\tlocation = /)
			line = "\tlocation = /bench-empty {"
		else if (/^\tlocation /)
			line = "\tlocation ~ ^/bench-empty$ {"
		if (/fastcgi_keep_conn/)
			next
		if (/fastcgi_pass/)
			line = "\t\tfastcgi_keep_conn on;\n" \
				"\t\tfastcgi_pass bench_empty;"
		text = text line "\n"
		if (/^\t}/) {
			block = 0
			done = 1
			printf "\n%s", text
		}
	}
	END { exit !done }') || die "nginx has no location for /hold"
	printf '%s\n' "$text" | runner_file 644 "$conf"
	{
		printf 'upstream bench_empty {\n'
		printf '\tserver unix:%s/s/empty.sock max_fails=0;\n' "$STATE"
		printf '\tkeepalive %s;\n}\n' "$EMPTY_KEPT"
	} | runner_file 644 "$STATE/nginx/bench.conf"
	as_runner sed 's/^\tinclude shop.conf;/\tinclude bench.conf;\n&/' \
		"$STATE/nginx/nginx.conf" |
		runner_file 644 "$STATE/nginx/nginx.conf"
	app/demo/shop.sh nginx -s reload || die "nginx does not take empty"
}

empty_start() {
	runner_file 755 "$STATE/bin/empty" <"$BUILD_DIR/bench/empty"
	(runner_exec "$STATE/bin/empty" "$STATE/s/empty.sock" \
		"$EMPTY_PROCESSES" "$EMPTY_THREADS") &
	empty_pid=$!
	nginx_empty
	wait_for "the empty program" \
		curl -q -s -f -o /dev/null --noproxy '*' -d x \
		"$SHOP_URL/bench-empty"
}

# wait_for WHAT COMMAND...: until it succeeds.
wait_for() {
	local end=$((SECONDS + 20)) what=$1
	shift
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			die "$what does not come"
		fi
		sleep 0.1
	done
}

# --- load

# load KIND NAME=VALUE...: a window of load; what it measured is in got.
load() {
	local name value
	got=()
	if ! "$BUILD_DIR/bench/load" "$1" port="$PORT" ms="$window_ms" \
		"${@:2}" >"$OUT/load.out" 2>"$OUT/load.err"; then
		return 1
	fi
	while read -r name value; do
		got[$name]=$value
	done <"$OUT/load.out"
}

# measure WHAT KIND NAME=VALUE...: the same, said aloud; an error makes it void.
measure() {
	local what=$1 reason
	shift
	if ! load "$@" || [ "${got[errors]}" != 0 ] || [ "${got[count]}" = 0 ]
	then
		reason=$(head -n 1 "$OUT/load.err")
		wrong "$what: ${reason:-no answer at all}"
		return 1
	fi
	say "$(printf '%-28s %8.0f/s   p50 %.1f ms, p99 %.1f ms' "$what" \
		"${got[rps]}" "${got[p50_ms]}" "${got[p99_ms]}")"
}

# granted_add SKU: what the buyers of a window were told.
granted_add() {
	granted[$1]=$((${granted[$1]:-0} + ${got[all]:-0}))
	if [ "${got[errors]:-1}" != 0 ]; then
		blurred[$1]=yes
	fi
}

# holds WHAT SKU [NAME=VALUE...]: a window of holds that are all granted.
holds() {
	local what=$1 sku=$2 status=0
	shift 2
	measure "$what" hold path="/hold?item=$sku" item="$sku" expect=201 \
		"$@" || status=1
	granted_add "$sku"
	return $status
}

# add NAME VALUE: sums up the windows of a figure; mean divides.
add() {
	figure[$1]=$(calc "${figure[$1]:-0} + $2")
	windows[$1]=$((${windows[$1]:-0} + 1))
}

mean() {
	local name
	for name in "$@"; do
		if [ -n "${figure[$name]:-}" ]; then
			figure[$name]=$(calc \
				"${figure[$name]} / ${windows[$name]}")
		fi
	done
}

# ratio NAME OVER UNDER: when both are known.
ratio() {
	if [ -n "${figure[$2]:-}" ] && [ -n "${figure[$3]:-}" ]; then
		figure[$1]=$(calc "${figure[$2]} / ${figure[$3]}")
	fi
}

# --- processes

# child NAME: the newest pid that the supervisor gave it.
child() {
	awk -v name="$1" '
	match($0, "started " name " as pid [0-9]+") {
		n = split(substr($0, RSTART, RLENGTH), word, " ")
		pid = word[n]
	}
	END { print pid; exit !pid }' "$STATE/log/serve.log"
}

# memory_watch: twice a second, the resident memory of the workers together
# and of all the shop's processes; the most so far, in KiB, is in OUT/memory.
# The stand-in for the provider is no part of a shop.
memory_watch() {
	local workers=0 all=0 now
	while sleep 0.5; do
		now=$(awk '
		FILENAME ~ /serve.pid$/ { pid["supervisor"] = $1; next }
		match($0, /started [a-z]+( [0-9]+)? as pid [0-9]+/) {
			n = split(substr($0, RSTART, RLENGTH), word, " ")
			pid[n == 6 ? word[2] word[3] : word[2]] = word[n]
		}
		END {
			for (name in pid) {
				file = "/proc/" pid[name] "/status"
				while ((getline line <file) > 0)
					if (split(line, part, " ") &&
					    part[1] == "VmRSS:")
						kib[name] = part[2]
				all += kib[name]
				if (name ~ /^worker/)
					workers += kib[name]
			}
			print workers + 0, all + 0
		}' "$STATE/serve.pid" "$STATE/log/serve.log" 2>/dev/null)
		[ -n "$now" ] || continue
		if [ "${now% *}" -gt "$workers" ]; then
			workers=${now% *}
		fi
		if [ "${now#* }" -gt "$all" ]; then
			all=${now#* }
		fi
		echo "$workers $all" >"$OUT/memory"
	done
}

memory_take() {
	local workers=0 all=0
	read -r workers all <"$OUT/memory"
	if [ "$workers" -eq 0 ]; then
		wrong "memory: the workers could not be found"
		return
	fi
	figure[worker_rss_mib]=$(calc "$workers / 1024")
	figure[total_rss_mib]=$(calc "$all / 1024")
}
