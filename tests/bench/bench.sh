#!/bin/bash
# bench.sh: measures a shop of its own on this machine, writes build/bench.json
# and prints a table. BENCH_SECONDS (8): the length of one window.
# BENCH_ONLY="hold soldout": only some steps. BENCH_PAST (5000000): past holds
# of the step growth. Exit status 1 when a measurement went wrong; a figure
# below its target is no failure. What each figure means: README.md here.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=app/demo/lib.sh
. app/demo/lib.sh
# shellcheck source=app/demo/conf.sh
. app/demo/conf.sh
# shellcheck source=tests/bench/lib.sh
. tests/bench/lib.sh
# shellcheck source=tests/bench/steps.sh
. tests/bench/steps.sh
# shellcheck source=tests/bench/table.sh
. tests/bench/table.sh

# In this order; each may be asked for alone.
STEPS=(static live empty hold soldout crowd batch availability raw callback
	sweep growth)
# The fastest of those that were tried, see README.md.
EMPTY_PROCESSES=2
EMPTY_THREADS=128
EMPTY_KEPT=64

# A second Ctrl-C does not cut it short.
cleanup() {
	trap - EXIT
	trap '' INT TERM HUP
	shop_stop
}
trap 'exit 130' INT TERM HUP
trap cleanup EXIT

# wants STEP...: whether one of them was asked for.
wants() {
	local step
	for step in "$@"; do
		case " ${BENCH_ONLY:-${STEPS[*]}} " in
		*" $step "*) return 0 ;;
		esac
	done
	return 1
}

# --- static: files, by nginx alone

step_static() {
	local name round
	note "static: files of 200 bytes"
	as_runner mkdir -p "$STATE/site/live"
	for name in bench-static.json live/BENCH.json; do
		printf '{"item":"BENCH","rest":"%0173d"}\n' 0 |
			runner_file 644 "$STATE/site/$name"
	done
	for round in 1 2; do
		if wants static && measure "static, $round" get \
			path=/bench-static.json within=BENCH; then
			add static_rps "${got[rps]}"
		fi
		if wants live && measure "live, $round" get \
			path=/live/BENCH.json within=BENCH; then
			add live_rps "${got[rps]}"
		fi
	done
	mean static_rps live_rps
	ratio live_vs_static live_rps static_rps
}

# --- hold: against the empty program, in turn, because the machine is noisy

# version SKU: how often its stock row has changed: once a transaction.
version() {
	sql -c "select s.version from data.stock s join data.item using (item_id)
		where sku = '$1'"
}

hold_window() {
	local before changes
	before=$(version BENCH)
	holds "hold, $1" BENCH || return
	changes=$(($(version BENCH) - before))
	add hold_rps "${got[rps]}"
	add hold_p50_ms "${got[p50_ms]}"
	add hold_p99_ms "${got[p99_ms]}"
	if [ $changes -gt 0 ]; then
		add hold_batch_mean "$(calc "${got[all]} / $changes")"
	fi
}

hold_round() {
	if wants empty && measure "empty, $1" hold \
		path=/bench-empty?item=BENCH item=BENCH expect=201; then
		add empty_rps "${got[rps]}"
	fi
	if wants hold; then
		hold_window "$1"
	fi
	if wants soldout && measure "sold out, $1" hold \
		path=/hold?item=BENCH-LAST item=BENCH-LAST \
		expect=409 within=/problems/sold-out; then
		add soldout_rps "${got[rps]}"
	fi
}

step_hold() {
	note "hold: 64 connections, against an empty answer"
	hold_round 1
	hold_round 2
	mean empty_rps hold_rps hold_p50_ms hold_p99_ms hold_batch_mean \
		soldout_rps
	ratio hold_vs_empty hold_rps empty_rps
	ratio soldout_vs_empty soldout_rps empty_rps
}

# --- crowd: holds at 1,000 connections; here an error is a figure

step_crowd() {
	note "crowd: holds, 1,000 connections"
	load hold path=/hold?item=BENCH item=BENCH expect=201 conns=1000 \
		warm_ms=2000
	granted_add BENCH
	if [ "${got[count]:-0}" = 0 ]; then
		wrong "hold, 1,000: $(head -n 1 "$OUT/load.err")"
		return
	fi
	figure[hold_rps_1000]=${got[rps]}
	figure[hold_errors_1000]=${got[errors]}
	figure[hold_p99_1000_ms]=${got[p99_ms]}
	say "$(printf '%-28s %8.0f/s   p50 %.1f ms, p99 %.1f ms, %d errors' \
		"hold, 1,000" "${got[rps]}" "${got[p50_ms]}" "${got[p99_ms]}" \
		"${got[errors]}")"
	head -n 1 "$OUT/load.err"
}

# --- batch: what gathering holds in one transaction gives

# settings BATCH_MAX: the shop takes it without a restart.
settings() {
	local want begun
	begun=$(grep -c 'started worker' "$STATE/log/serve.log")
	want=$((begun + $(as_runner sed -n 's/^workers = //p' \
		"$STATE/lastpair.conf")))
	as_runner cat "$STATE/lastpair.conf" |
		conf_set server batch_max "$1" |
		runner_file 600 "$STATE/lastpair.conf"
	kill -HUP "$(cat "$STATE/serve.pid")"
	wait_for "the reload" workers_begun "$want"
}

workers_begun() {
	[ "$(grep -c 'started worker' "$STATE/log/serve.log")" -ge "$1" ]
}

step_batch() {
	local usual
	usual=$(as_runner sed -n 's/^batch_max = //p' "$STATE/lastpair.conf")
	if [ -z "$usual" ]; then
		say "there is no batch_max in the settings: nothing to compare"
		return
	fi
	note "batch: the same with server.batch_max = 1"
	settings 1
	holds "hold, batches of 1" BENCH && figure[hold_rps_batch1]=${got[rps]}
	settings "$usual"
}

step_availability() {
	note "availability: through the cache"
	measure availability get path=/availability?item=BENCH within=BENCH &&
		figure[availability_rps]=${got[rps]}
}

# --- all together

# audit_check: every promise was kept, and what was answered is what is held.
audit_check() {
	local sku held
	note "audit"
	for sku in "${!granted[@]}"; do
		held=$(sql -c "select held from data.stock
			join data.item using (item_id) where sku = '$sku'")
		if [ "$held" != "${granted[$sku]}" ] &&
			[ -z "${blurred[$sku]:-}" ]; then
			wrong "$sku: ${granted[$sku]} holds granted, $held held"
		fi
	done
	if ! program audit; then
		wrong "audit: a promise was broken, or it could not be looked at"
	fi
}

environment() {
	local name
	for name in $(compgen -e); do
		case $name in
		LASTPAIR_* | PG[A-Z]* | *_proxy | *_PROXY | MAKE[A-Z]* | MFLAGS)
			unset "$name" ;;
		CLUSTER_FAST | PORT | PAY_PORT | RUN_DIR | BUILD) unset "$name" ;;
		esac
	done
	export PATH=$PATH:/usr/sbin:/sbin LANG=C.UTF-8
}

# quiet_check: says so when something else is running.
quiet_check() {
	local load
	read -r load _ </proc/loadavg
	if [ "${load%.*}" -ge "$(nproc)" ]; then
		say "the machine is busy (load $load): the figures will be too low"
	fi
}

arguments() {
	local step number
	for step in ${BENCH_ONLY:-}; do
		case " ${STEPS[*]} " in
		*" $step "*) ;;
		*) die "no such step: $step (there are: ${STEPS[*]})" ;;
		esac
	done
	past=${BENCH_PAST:-5000000}
	for number in "${BENCH_SECONDS:-8}" "$past"; do
		case $number in
		'' | *[!0-9]* | 0*) die "not a whole number: $number" ;;
		esac
	done
	window_ms=$((${BENCH_SECONDS:-8} * 1000))
}

main() {
	local step
	arguments
	environment
	# Orders are made up here that no provider knows.
	export LASTPAIR_PAYMENT_RECONCILE_MINUTES=0
	mkdir -p "$OUT"
	echo "0 0" >"$OUT/memory"
	quiet_check
	shop_start
	durable_check
	item BENCH "$PLENTY"
	item BENCH-LAST 1
	load hold path=/hold?item=BENCH-LAST item=BENCH-LAST expect=201 \
		conns=1 warm_ms=0 ms=1
	empty_start
	memory_watch &
	memory_pid=$!
	if wants static live; then
		step_static
	fi
	if wants empty hold soldout; then
		step_hold
	fi
	for step in crowd batch availability raw callback sweep; do
		if wants $step; then
			step_$step
		fi
	done
	audit_check
	if wants growth; then
		step_growth
		audit_check
	fi
	memory_take
	ratio hold_vs_raw hold_rps raw_row_tps
	figures_write "$BUILD_DIR/bench.json"
	figures_show
	for step in "${failures[@]}"; do
		say "FAILED: $step" >&2
	done
	[ ${#failures[@]} -eq 0 ]
}

main
