#!/bin/bash
# run.sh [SUITE...]: runs the tests and counts them. Suites, in order: unit, sql,
# isolation, flow, single, faults, browser, sanitize, threads. Each has what it needs of its own: a
# throwaway cluster, a demo shop on free ports. The last line is
# "N passed, N failed"; a suite that ran no test is a failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=app/demo/lib.sh
. app/demo/lib.sh
# shellcheck source=app/demo/conf.sh
. app/demo/conf.sh

ALL=(unit sql isolation flow single faults browser sanitize threads)
OUT=$ROOT/build/test
FAILURES=$OUT/failures
# No unit test program, no file of another suite may take longer.
UNIT_SECONDS=60
FILE_SECONDS=300

passed=0
failed=0
skipped=0
db=
shop=

child=

cleanup() {
	if [ -n "$child" ]; then
		kill "$child" 2>/dev/null
	fi
	db_stop
	shop_stop
}
trap 'exit 130' INT TERM HUP
trap cleanup EXIT

note() {
	printf '%s\n' "--- $*"
}

# count PASSED FAILED SKIPPED: adds to what this suite has.
count() {
	passed=$((passed + $1))
	failed=$((failed + $2))
	skipped=$((skipped + $3))
}

# broken WHY: something that is no test went wrong.
broken() {
	say "FAILED: $*" | tee -a "$FAILURES"
	count 0 1 0
}

# blame NAME FILE: what failed by that report, and why, once more at the end.
blame() {
	{
		say "--- $1"
		awk '/^ *(ok |code:|stack:|\.\.\.$)/ { on = 0 } /^ *not ok/ { on = 1 }
		/^ *(---$|duration_ms:|failureType:|type:|location:)/ { next }
		on' "$2" | cut -c 1-300 | head -n 15
	} >>"$FAILURES"
}

# tap_count FILE STATUS: counts lines of the Test Anything Protocol. A program
# that ends badly without a failed test counts as one.
tap_count() {
	local numbers
	numbers=$(awk -v status="$2" '
	/^1\.\.[0-9]+/ { split($1, p, /\.\./); planned += p[2] }
	/^(not )?ok .*# *(SKIP|skip)/ { skip++; next }
	/^not ok .*# *TODO/ { pass++; next }
	/^ok( |$)/ { pass++ }
	/^not ok( |$)/ { fail++ }
	END {
		if (!fail && (status != 0 || pass + skip < planned))
			fail = 1
		print pass + 0, fail + 0, skip + 0
	}' "$1")
	case $numbers in
	*' 0 '*) ;;
	*) blame "$(basename "$1")" "$1" ;;
	esac
	# shellcheck disable=SC2086
	count $numbers
}

# limited SECONDS COMMAND...: within its time. In the background, so that a signal to
# this script is heard at once.
limited() {
	timeout -k 10 "$1" "${@:2}" <&0 &
	child=$!
	wait "$child"
}

# --- unit: the programs of cmocka below BUILD

unit_run() {
	local program name log status before
	while read -r program; do
		name=${program#"$1/tests/unit/"}
		log=$OUT/$2-${name//\//-}.tap
		before=$failed
		CMOCKA_MESSAGE_OUTPUT=TAP limited $UNIT_SECONDS "$program" >"$log" 2>&1
		status=$?
		tap_count "$log" $status
		if [ "$failed" -gt "$before" ]; then
			grep -v '^ok' "$log"
			say "FAILED: $name (exit status $status)"
		else
			say "$name: $(grep -c '^ok' "$log") passed"
		fi
	done < <(find tests/unit -name '*_test.c' | sort |
		sed "s|^tests/\(.*\)\.c\$|$1/tests/\1|")
}

suite_unit() {
	unit_run build unit
}

# --- sql, isolation: a cluster that is thrown away

db_psql() {
	app/demo/cluster.sh psql "$db" "$@"
}

# The schema as `migrate` makes it, and an untouched copy to make others from.
db_schema() {
	conf_new | conf_set database url "host=$db/s port=5432 dbname=lastpair" |
		conf_set server public_url http://127.0.0.1:8080 |
		conf_set server socket_dir "$db/s" |
		conf_set server share "$ROOT" |
		conf_set stripe api_base http://127.0.0.1:8081 |
		conf_set sandbox pay_url http://127.0.0.1:8081 |
		conf_set sandbox hook_url http://127.0.0.1:8080/pay-callback \
			>"$OUT/lastpair.conf"
	build/lastpair -c "$OUT/lastpair.conf" migrate >"$OUT/migrate.log" 2>&1 &&
		db_psql -d postgres -c 'create database pristine template lastpair' &&
		db_psql -d lastpair -c 'create extension pgtap'
}

db_start() {
	if [ -n "$db" ]; then
		return
	fi
	mkdir -p "$OUT"
	db=$(state_dir "$OUT/db")
	db_clear
	mkdir -m 755 "$db" && if [ "$(id -u)" = 0 ]; then
		chown www-data:www-data "$db"
	fi
	export CLUSTER_FAST=1
	if ! app/demo/cluster.sh start "$db" || ! db_schema; then
		log_tail "$OUT/migrate.log"
		return 1
	fi
}

db_clear() {
	if [ -d "$db/pg" ]; then
		app/demo/cluster.sh stop "$db" >/dev/null 2>&1
	fi
	rm -rf "$db"
}

db_stop() {
	if [ -n "$db" ]; then
		db_clear
		db=
	fi
}

# Files of pgTAP have a plan; what has none is included by others. A script
# (NAME_test.sh) finds the database by libpq's variables and is one test.
suite_sql() {
	local files=() log=$OUT/sql.tap script
	mapfile -t files < <(grep -lE 'plan *\(' tests/sql/*.sql 2>/dev/null)
	if [ ${#files[@]} -eq 0 ]; then
		return
	fi
	db_start || { broken "no database to test"; return; }
	limited $FILE_SECONDS pg_prove -h "$db/s" -p 5432 -U postgres -d lastpair -v \
		"${files[@]}" 2>&1 | tee "$log" | grep --line-buffered -v '^ok '
	tap_count "$log" "${PIPESTATUS[0]}"
	for script in tests/sql/*_test.sh; do
		[ -e "$script" ] || continue
		if PGHOST=$db/s PGPORT=5432 PGUSER=postgres PGDATABASE=pristine \
			limited $FILE_SECONDS "$script"; then
			say "$script: passed"
			count 1 0 0
		else
			broken "$script"
		fi
	done
}

# isolation_one NAME TESTER: in a database of its own.
isolation_one() {
	local name=$1 out=$OUT/isolation/$1.out expected diff=
	if ! db_psql -d postgres -c 'set client_min_messages = warning' \
		-c 'drop database if exists isolation'  \
		-c 'create database isolation template pristine'; then
		return 1
	fi
	PGAPPNAME=isolation/$name limited $FILE_SECONDS "$2" \
		"host=$db/s port=5432 user=postgres dbname=isolation" \
		<"tests/isolation/specs/$name.spec" >"$out" 2>&1
	# A race may end in more than one right way: NAME_1.out and so on.
	for expected in tests/isolation/expected/"$name"{,_[0-9]}.out; do
		if [ -e "$expected" ]; then
			diff=$(diff -u "$expected" "$out") && return
		fi
	done
	say "${diff:-no tests/isolation/expected/$name.out}"
	return 1
}

suite_isolation() {
	local tester spec name
	db_start || { broken "no database to test"; return; }
	tester=$(app/demo/cluster.sh bin "$db")
	tester=${tester%/bin}/lib/pgxs/src/test/isolation/isolationtester
	mkdir -p "$OUT/isolation"
	for spec in tests/isolation/specs/*.spec; do
		[ -e "$spec" ] || continue
		name=$(basename "$spec" .spec)
		if isolation_one "$name" "$tester"; then
			say "$name: as expected"
			count 1 0 0
		else
			broken "$name"
		fi
	done
}

# --- flow, browser: a demo shop of the suite's own

free_port() {
	local port
	for port in $(shuf -i 20000-29999 -n 100); do
		if ! port_taken "$port"; then
			echo "$port"
			return
		fi
	done
	return 1
}

# shop_start BUILD: exports where it is to the tests. PORT, PAY_PORT, RUN_DIR
# and BUILD are what app/demo/shop.sh wants, for a test that restarts it.
shop_start() {
	local port pay
	shop=$OUT/shop
	port=$(free_port)
	pay=$(free_port)
	while [ "$pay" = "$port" ]; do
		pay=$(free_port)
	done
	export PORT=$port PAY_PORT=$pay RUN_DIR=$shop BUILD=$1
	app/demo/shop.sh reset >/dev/null || return
	app/demo/shop.sh start || return
	SHOP_STATE=$(state_dir "$shop")
	export SHOP_STATE SHOP_URL=http://127.0.0.1:$port
	export PAY_URL=http://127.0.0.1:$pay
	export SHOP_BIN=$SHOP_STATE/bin/lastpair SHOP_CONF=$SHOP_STATE/lastpair.conf
}

# A failed suite's logs stay in build/test/logs.
shop_stop() {
	local state
	if [ -n "$shop" ]; then
		state=$(state_dir "$shop")
		app/demo/shop.sh stop >/dev/null
		rm -rf "$OUT/logs"
		cp -r "$state/log" "$OUT/logs" 2>/dev/null
		app/demo/shop.sh reset >/dev/null
		shop=
	fi
}

# shop_audit: no promise was broken by what the suite did.
shop_audit() {
	say "audit"
	if "$SHOP_BIN" -c "$SHOP_CONF" audit; then
		count 1 0 0
	else
		broken "lastpair audit found something, or could not look"
	fi
}

# npm_ready: what tests/package-lock.json names, once.
npm_ready() {
	if [ tests/node_modules/.package-lock.json -nt tests/package-lock.json ]
	then
		return
	fi
	say "installing the tests' npm packages"
	if ! npm ci --prefix tests --ignore-scripts --no-audit --no-fund \
		>"$OUT/npm.log" 2>&1; then
		log_tail "$OUT/npm.log"
		return 1
	fi
	touch tests/node_modules/.package-lock.json
}

# node_run SUITE NAME: each file of tests/SUITE, or those in FILES, one after the
# other.
node_run() {
	local file tap status before number
	npm_ready || { broken "npm"; return; }
	# shellcheck disable=SC2086
	for file in ${FILES:-tests/$1/*.test.js tests/$1/*.test.mjs}; do
		[ -e "$file" ] || continue
		note "$file"
		tap=$OUT/$2-$(basename "$file").tap
		before=$failed
		rm -f "$tap"
		limited $FILE_SECONDS node --test --test-reporter=spec \
			--test-reporter-destination=stdout --test-reporter=tap \
			--test-reporter-destination="$tap" "$file" </dev/null
		status=$?
		# The sums at the end of the report; a cancelled test has failed.
		number=$(awk '
		/^# pass / { pass = $3 }
		/^# (fail|cancelled) / { fail += $3 }
		/^# (skipped|todo) / { skip += $3 }
		END { print pass + 0, fail + 0, skip + 0 }' "$tap" 2>/dev/null)
		# shellcheck disable=SC2086
		count ${number:-0 0 0}
		if [ "$failed" -gt "$before" ]; then
			blame "$file" "$tap"
		fi
		if [ $status -ne 0 ] && [ "$failed" -eq "$before" ]; then
			broken "$file ended with status $status"
		fi
	done
}

# pages SUITE NAME BUILD: the files of a suite against a new shop.
pages() {
	if ! compgen -G "tests/$1/*.test.*js" >/dev/null; then
		return
	fi
	shop_start "$3" || { broken "no shop to test"; return; }
	node_run "$1" "$2"
	shop_audit
	shop_stop
	if grep -rhE '(ERROR|WARNING): [A-Za-z]*Sanitizer|runtime error:' "$OUT/logs"; then
		broken "a sanitizer complained: see build/test/logs"
	fi
}

suite_flow() {
	pages flow flow build
}

# --- single: flow again, with each hold in a transaction of its own

suite_single() {
	export LASTPAIR_SERVER_BATCH_MAX=1
	pages flow single build
	unset LASTPAIR_SERVER_BATCH_MAX
}

# --- faults: money while the provider, the workers and the cashier fail

suite_faults() {
	export LASTPAIR_STRIPE_OPENS_PER_SECOND=100 LASTPAIR_STRIPE_ENDS_PER_SECOND=100
	export LASTPAIR_STRIPE_REFUNDS_PER_SECOND=100 LASTPAIR_STRIPE_LOOKS_PER_SECOND=100
	export LASTPAIR_STRIPE_CALLS_PER_SECOND=400 LASTPAIR_STRIPE_TIMEOUT_MS=2000
	export LASTPAIR_PAYMENT_RECONCILE_MINUTES=0
	pages faults faults build
	unset "${!LASTPAIR_STRIPE_@}" LASTPAIR_PAYMENT_RECONCILE_MINUTES
}

suite_browser() {
	pages browser browser build
}

# --- sanitize: unit and flow again, with a program that watches itself

suite_sanitize() {
	if ! make --no-print-directory SANITIZE=address,undefined all; then
		broken "the build"
		return
	fi
	# A status that no command of the program has.
	export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
	unit_run build-asan asan
	pages flow asan build-asan
	unset ASAN_OPTIONS UBSAN_OPTIONS
}

# --- threads: what several threads and processes share, watched for races: the
# unit tests, then a shop under those files of flow that press it hardest

THREADS_FLOW='bucket concurrency crowd hold kept key lost reload'

suite_threads() {
	local files=()
	if ! make --no-print-directory SANITIZE=thread all; then
		broken "the build"
		return
	fi
	# Forking with threads about is what the supervisor never does.
	export TSAN_OPTIONS=exitcode=99:halt_on_error=1
	unit_run build-tsan tsan
	# shellcheck disable=SC2086
	mapfile -t files < <(printf 'tests/flow/%s.test.js\n' $THREADS_FLOW)
	FILES=${files[*]} pages flow tsan build-tsan
	unset TSAN_OPTIONS
}

# --- all together

# environment: nothing of the caller's reaches the tests by accident.
environment() {
	local name
	for name in $(compgen -e); do
		case $name in
		LASTPAIR_* | PG[A-Z]* | *_proxy | *_PROXY | NODE_OPTIONS)
			unset "$name" ;;
		PORT | PAY_PORT | RUN_DIR | BUILD | SUITES | MAKE[A-Z]* | MFLAGS)
			unset "$name" ;;
		esac
	done
	export PATH=$PATH:/usr/sbin:/sbin LANG=C.UTF-8
}

main() {
	local suite sum=(0 0 0) table='' empty='' begun
	for suite in "$@"; do
		case " ${ALL[*]} " in
		*" $suite "*) ;;
		*) die "no such suite: $suite (there are: ${ALL[*]})" ;;
		esac
	done
	mkdir -p "$OUT"
	: >"$FAILURES"
	case " $* " in
	*" flow "* | *" single "* | *" faults "* | *" browser "* | *" sanitize "* | \
		*" threads "*) npm_ready ;;
	esac
	environment
	for suite in "$@"; do
		say "=== $suite"
		begun=$SECONDS
		passed=0 failed=0 skipped=0
		"suite_$suite"
		if [ $((passed + failed)) -eq 0 ]; then
			empty="$empty $suite"
		fi
		sum=($((sum[0] + passed)) $((sum[1] + failed)) \
			$((sum[2] + skipped)))
		table+=$(printf '%-10s %7d %7d %7d %7d' "$suite" $passed \
			$failed $skipped $((SECONDS - begun)))$'\n'
	done
	db_stop
	if [ -s "$FAILURES" ]; then
		printf '\nwhat failed\n'
		cat "$FAILURES"
	fi
	printf '\n%-10s %7s %7s %7s %7s\n%s' suite passed failed skipped \
		seconds "$table"
	for suite in $empty; do
		say "$suite: no test was run"
	done
	printf '%d passed, %d failed' "${sum[0]}" "${sum[1]}"
	if [ "${sum[2]}" -gt 0 ]; then
		printf ', %d skipped' "${sum[2]}"
	fi
	printf '\n'
	[ "${sum[1]}" -eq 0 ] && [ -z "$empty" ]
}

if [ $# -eq 0 ]; then
	set -- "${ALL[@]}"
fi
main "$@"
