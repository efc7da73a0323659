# shellcheck shell=bash
# The measurements that need something in the database first: the plain
# transaction, payments, a backlog, a long past. Sourced by bench.sh
# after lib.sh, where its variables are.
# shellcheck disable=SC2034,SC2154

BACKLOG=200000

# --- raw: the plain transaction, by pgbench

raw_prepare() {
	sql -c 'create database bench_raw' &&
		app/demo/cluster.sh psql "$STATE" -d bench_raw -f - \
			<tests/bench/sql/raw.sql &&
		runner_file 644 "$STATE/raw.pgbench" <tests/bench/sql/raw.pgbench
}

raw_window() {
	local out=$OUT/raw.log
	if ! as_runner "$PG_BIN/pgbench" -h "$STATE/s" -p 5432 -U postgres \
		-n -M prepared -c 64 -j 2 -T $((window_ms / 1000)) \
		-f "$STATE/raw.pgbench" bench_raw >"$out" 2>&1 ||
		! grep -q '^number of failed transactions: 0 ' "$out"; then
		log_tail "$out"
		wrong "raw, $1: pgbench failed"
		return
	fi
	add raw_row_tps "$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$out")"
	say "$(sed -n 's/^tps = \([0-9]*\).*/\1/p' "$out" |
		xargs printf '%-28s %8.0f/s' "raw, $1")"
}

step_raw() {
	note "raw: begin, update of one row, insert, commit; 64 clients"
	if ! raw_prepare; then
		wrong "raw: there are no tables"
		return
	fi
	raw_window 1
	raw_window 2
	mean raw_row_tps
}

# --- callback: each event pays another hold

step_callback() {
	local count=$((window_ms * 5 + 5000)) paid
	local sample=tests/data/stripe-events/checkout.session.completed.paid.json
	note "callback: $count buyers are on the pay page"
	item BENCH-PAY "$PLENTY"
	sed -e 's/evt_1QFlash00000000000000001/evt_@EVENT@/' \
		-e 's/cs_test_a1Q7flashsale0*1/@SESSION@/' \
		-e 's/hld_01J9ZC3V8T/@HOLD@/' -e 's/4999/12900/g' \
		-e 's/pi_3QFlashSale0*1/pi_@EVENT@/' "$sample" >"$OUT/event.json"
	if ! sql_file paying.sql sku=BENCH-PAY count=$count >"$OUT/paying.psv" ||
		! sql -c 'vacuum analyze'; then
		wrong "callback: no holds to pay"
		return
	fi
	tr '|' ' ' <"$OUT/paying.psv" >"$OUT/paying"
	BENCH_SECRET=$(as_runner sed -n 's/^webhook_secret = //p' \
		"$STATE/lastpair.conf")
	export BENCH_SECRET
	measure callback callback path=/pay-callback event="$OUT/event.json" \
		list="$OUT/paying" within=applied || return
	paid=$(sql -c "select sold from data.stock
		join data.item using (item_id) where sku = 'BENCH-PAY'")
	if [ "$paid" != "${got[all]}" ]; then
		wrong "callback: ${got[all]} events were taken, $paid orders are paid"
		return
	fi
	figure[callback_rps]=${got[rps]}
	ratio callback_vs_batch1 callback_rps hold_rps_batch1
}

# --- sweep: a backlog of expired holds, by the sweeper as it runs

step_sweep() {
	local pid
	note "sweep: $BACKLOG holds have expired"
	item BENCH-SWEEP "$PLENTY"
	pid=$(child sweeper) || { wrong "sweep: no sweeper runs"; return; }
	kill -STOP "$pid"
	if ! sql_file expired.sql sku=BENCH-SWEEP count=$BACKLOG ||
		! sql -c 'vacuum analyze' -c checkpoint; then
		kill -CONT "$pid"
		wrong "sweep: there is no backlog"
		return
	fi
	(sleep 1; kill -CONT "$pid") &
	sql_file swept.sql | tr '|' ' ' >"$OUT/swept"
	wait $!
	figure[sweep_per_s]=$(awk 'NF == 2 && $2 > 0 { print $1 / $2 }' \
		"$OUT/swept")
	if [ -z "${figure[sweep_per_s]}" ]; then
		wrong "sweep: the backlog was still there after two minutes"
		return
	fi
	say "$(printf '%-28s %8.0f/s' sweep "${figure[sweep_per_s]}")"
}

# --- growth: the same hold, later in a shop's life

growth_windows() {
	local round
	for round in 1 2; do
		holds "hold, $2, $round" BENCH-PAST warm_ms=2000 || return
		add "$1" "${got[p50_ms]}"
	done
	mean "$1"
}

growth_past() {
	local done_n=0 next
	while [ "$done_n" -lt "$past" ]; do
		next=$((done_n + 250000))
		if [ $next -gt "$past" ]; then
			next=$past
		fi
		sql_file past.sql sku=BENCH-PAST from=$((done_n + 1)) upto="$next" \
			total="$past" || return 1
		done_n=$next
		if [ $((done_n % 1000000)) -eq 0 ] || [ "$done_n" = "$past" ]; then
			say "$done_n of $past past holds"
		fi
	done
	sql -c 'vacuum analyze' -c checkpoint
}

step_growth() {
	note "growth: no past holds"
	# With none at all: what the steps before left has been audited.
	sql -c 'truncate data.hold, data.hold_line, data.payment, data.refund,
		data.outbox, data.event, data.task, data.mail, data.dispute' \
		-c 'update data.stock set held = 0, sold = 0' \
		-c 'vacuum analyze' -c checkpoint
	granted=() blurred=()
	item BENCH-PAST "$PLENTY"
	growth_windows hold_p50_none_ms "none past" || return
	note "growth: making $past past holds"
	growth_past || { wrong "growth: no past holds"; return; }
	growth_windows hold_p50_past_ms "$past past" || return
	ratio hold_p50_growth hold_p50_past_ms hold_p50_none_ms
}
