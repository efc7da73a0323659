# shellcheck shell=bash
# The figures of a run: as one flat JSON object, and as a table with what they
# are to reach. Sourced by bench.sh after lib.sh, where its variables are.
# shellcheck disable=SC2154

# Name, decimals, unit, then what to reach, if anything: at least (>) or at
# most (<) a number.
figures_all() {
	cat <<-EOF
		empty_rps 0 /s
		static_rps 0 /s
		raw_row_tps 0 /s
		hold_rps 0 /s
		hold_vs_empty 2 - > 0.55
		hold_vs_raw 1 - > 20
		hold_p50_ms 1 ms
		hold_p99_ms 1 ms
		hold_batch_mean 1 -
		hold_rps_batch1 0 /s
		hold_rps_1000 0 /s
		hold_errors_1000 0 - < 0
		hold_p99_1000_ms 0 ms
		hold_p50_none_ms 1 ms
		hold_p50_past_ms 1 ms
		hold_p50_growth 2 - < 1.15
		soldout_rps 0 /s
		soldout_vs_empty 2 - > 0.90
		availability_rps 0 /s
		live_rps 0 /s
		live_vs_static 2 - > 0.95
		callback_rps 0 /s
		callback_vs_batch1 2 - > 1
		sweep_per_s 0 /s > 20000
		worker_rss_mib 1 MiB < 32
		total_rss_mib 1 MiB
	EOF
}

# figures_write FILE: every name is there; what was not measured is null.
figures_write() {
	local name rest comma=''
	{
		printf '{'
		while read -r name rest; do
			printf '%s\n  "%s": %s' "$comma" "$name" \
				"$(figure_json "${figure[$name]:-}")"
			comma=,
		done < <(figures_all)
		printf ',\n  "bench_seconds": %s,\n  "bench_past": %s\n}\n' \
			"$((window_ms / 1000))" "$past"
	} >"$1.new" && mv "$1.new" "$1"
}

figure_json() {
	if [ -z "$1" ]; then
		printf null
	else
		awk -v x="$1" 'BEGIN { printf "%.6g", x }'
	fi
}

# figure_verdict VALUE SIGN TARGET: ok, or below what is to be reached.
figure_verdict() {
	awk -v x="$1" -v sign="$2" -v target="$3" 'BEGIN {
		good = sign == ">" ? x >= target : x <= target
		print good ? "ok" : "below"
	}'
}

figures_show() {
	local name decimals unit sign target value words
	printf '\n%-20s %12s %-5s %-12s\n' figure measured '' 'to reach'
	while read -r name decimals unit sign target; do
		value=${figure[$name]:-}
		unit=${unit/#-/}
		words=
		if [ -z "$value" ]; then
			printf '%-20s %12s\n' "$name" -
			continue
		fi
		if [ -n "$target" ]; then
			words="${sign/</at most} $target"
			words="${words/#>/at least}"
			words=$(printf '%-15s %s' "$words" \
				"$(figure_verdict "$value" "$sign" "$target")")
		fi
		printf '%-20s %12.*f %-5s %s\n' "$name" "$decimals" "$value" \
			"$unit" "$words" | sed 's/ *$//'
	done < <(figures_all)
	printf '\nin build/bench.json\n'
}
