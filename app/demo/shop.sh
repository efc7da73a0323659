#!/bin/bash
# shop.sh run|start|stop|status|reset|nginx: the demo shop, complete: a private
# PostgreSQL, the program's processes, the sandbox provider and nginx, all as an
# ordinary user, on loopback, in one folder. PORT, PAY_PORT and RUN_DIR name a
# copy; copies with different ones run side by side. Needs build/lastpair, or
# $BUILD/lastpair.
set -euo pipefail
# shellcheck source=app/demo/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=app/demo/conf.sh
. "$ROOT/app/demo/conf.sh"

CLUSTER=$ROOT/app/demo/cluster.sh
# How long the shop may take to answer after its start, and each process to end.
READY_SECONDS=60
STOP_SECONDS=20

# where: from the caller's variables, what this copy is called and lies.
where() {
	PORT=${PORT:-8080}
	PAY_PORT=${PAY_PORT:-8081}
	BUILD=${BUILD:-build}
	RUN_DIR=${RUN_DIR:-.run}
	case $BUILD in
	/*) ;;
	*) BUILD=$ROOT/$BUILD ;;
	esac
	case $RUN_DIR in
	/*) ;;
	*) RUN_DIR=$ROOT/$RUN_DIR ;;
	esac
	port_check PORT "$PORT"
	port_check PAY_PORT "$PAY_PORT"
	if [ "$PORT" = "$PAY_PORT" ]; then
		die "PORT and PAY_PORT must differ, both are $PORT"
	fi
	mkdir -p "$(dirname "$RUN_DIR")"
	RUN_DIR=$(cd "$(dirname "$RUN_DIR")" && pwd -P)/$(basename "$RUN_DIR")
	STATE=$(state_dir "$RUN_DIR")
	export -n PORT PAY_PORT RUN_DIR BUILD
	SHOP=http://127.0.0.1:$PORT
	PAY=http://127.0.0.1:$PAY_PORT
}

# lock: one command at a time works on a copy.
lock() {
	exec 9<"$RUN_DIR"
	flock -w 60 9 || die "another command is busy with $RUN_DIR"
}

# folder_check DIR: refuses to take over what is somebody's.
folder_check() {
	local owner
	if [ -L "$1" ] || { [ -e "$1" ] && [ ! -d "$1" ]; }; then
		die "$1 is in the way: it is no folder"
	fi
	if [ ! -e "$1" ]; then
		return
	fi
	owner=$(stat -c %u "$1")
	if [ "$owner" != "$(id -u)" ] &&
		[ "$owner" != "$(as_runner id -u)" ]; then
		die "$1 belongs to another user"
	fi
	if [ ! -e "$1/.lastpair-demo" ] && [ -n "$(ls -A "$1")" ]; then
		die "$1 is not empty and no demo shop: name another RUN_DIR"
	fi
}

folders() {
	folder_check "$RUN_DIR"
	folder_check "$STATE"
	mkdir -p "$RUN_DIR"
	lock
	if [ ! -d "$STATE" ]; then
		mkdir -m 755 "$STATE"
	fi
	if [ "$(id -u)" = 0 ]; then
		chown www-data:www-data "$STATE"
	fi
	as_runner touch "$STATE/.lastpair-demo"
	if [ "$STATE" != "$RUN_DIR" ]; then
		touch "$RUN_DIR/.lastpair-demo"
		ln -sfn "$STATE" "$RUN_DIR/state"
		ln -sfn "$STATE/lastpair.conf" "$RUN_DIR/lastpair.conf"
	fi
	runner_dir 700 "$STATE/s"
	runner_dir 750 "$STATE/log" "$STATE/mail"
	runner_dir 755 "$STATE/bin" "$STATE/share" "$STATE/site/item" \
		"$STATE/nginx/errors" "$STATE/nginx/temp" "$STATE/nginx/cache"
}

# copy_tree FROM TO: folder TO becomes a copy that belongs to the runner.
copy_tree() {
	as_runner rm -rf "$2.new"
	as_runner mkdir -p "$2.new"
	tar -C "$1" -cf - . | as_runner tar -C "$2.new" -xf - \
		--no-same-owner --no-same-permissions
	as_runner rm -rf "$2"
	as_runner mv "$2.new" "$2"
}

# files: the program and what it reads, copied to where its user may go.
files() {
	local name
	if [ ! -x "$BUILD/lastpair" ]; then
		die "$BUILD/lastpair is missing: run make first"
	fi
	if ! as_runner cmp -s - "$STATE/bin/lastpair" <"$BUILD/lastpair"; then
		runner_file 755 "$STATE/bin/lastpair" <"$BUILD/lastpair"
	fi
	copy_tree "$ROOT/sql" "$STATE/share/sql"
	copy_tree "$ROOT/static" "$STATE/share/static"
	conf_write "$STATE" "$PORT" "$PAY_PORT"
	# Templates are the program's; the rest of static/ is nginx's.
	tar -C "$ROOT/static" -cf - --exclude='./*.html' --exclude=./mail . |
		as_runner tar -C "$STATE/site" -xf - \
			--no-same-owner --no-same-permissions
	nginx_files
}

# nginx_files: fills in the templates.
nginx_files() {
	local file
	for file in "$ROOT"/nginx/*.conf.in "$ROOT"/nginx/*.conf \
		"$ROOT"/nginx/errors/*; do
		[ -e "$file" ] || continue
		sed -e "s|@STATE@|$STATE|g" -e "s|@PORT@|$PORT|g" \
			-e "s|@PAY_PORT@|$PAY_PORT|g" \
			-e "s|@PAY_ORIGIN@|$PAY|g" "$file" | {
			file=${file#"$ROOT/nginx/"}
			runner_file 644 "$STATE/nginx/${file%.in}"
		}
	done
	runner_file 644 "$STATE/nginx/errors/busy.html" \
		<"$ROOT/static/busy.html"
	runner_file 644 "$STATE/nginx/errors/not-found.html" \
		<"$ROOT/static/404.html"
}

nginx_run() {
	# As many connections as the files that the machine allows.
	ulimit -S -n "$(ulimit -H -n)" 2>/dev/null || true
	as_runner nginx -e "$STATE/log/nginx-error.log" \
		-p "$STATE/nginx" -c "$STATE/nginx/nginx.conf" "$@"
}

program() {
	as_runner "$STATE/bin/lastpair" -c "$STATE/lastpair.conf" "$@"
}

# item_add SKU OPTION...: puts an item on sale, if it is not there.
item_add() {
	if ! program item show "$1" >/dev/null 2>&1; then
		say "putting $1 on sale"
		program item add "$@" >/dev/null
	fi
}

# page FILE ARGUMENT: a file of the site that the program prints.
page() {
	local text
	text=$(program page "$2") || return 1
	printf '%s\n' "$text" | runner_file 644 "$STATE/site/$1"
}

items() {
	local file name
	item_add RUN-42 --title 'Runner, size 42' --price 129.00 \
		--currency EUR --total 600 --hold 10m --per-buyer 1
	item_add RUN-43 --title 'Runner, size 43 (the last pair)' \
		--price 129.00 --currency EUR --total 1 --hold 10m --per-buyer 1
	page index.html --index
	page item/RUN-42.html RUN-42
	page item/RUN-43.html RUN-43
	# Items of somebody's own that have a page: it follows a new template.
	for file in "$STATE"/site/item/*.html; do
		name=$(basename "$file" .html)
		case $name in
		RUN-42 | RUN-43) ;;
		*) page "item/$name.html" "$name" ||
			say "the page of $name stays as it was" ;;
		esac
	done
}

# answers URL: whether somebody behind nginx answers there.
answers() {
	case $(curl -q -s -o /dev/null --noproxy '*' --max-time 3 \
		-w '%{http_code}' "$1") in
	000 | 5??) return 1 ;;
	esac
}

wait_ready() {
	local end=$((SECONDS + READY_SECONDS)) name
	until answers "$SHOP/healthz" && answers "$PAY/"; do
		for name in serve sandbox; do
			pid_ours "$STATE/$name.pid" "$STATE/bin/lastpair" \
				>/dev/null || die "$name has ended"
		done
		if [ $SECONDS -ge $end ]; then
			die "the shop did not answer within $READY_SECONDS s"
		fi
		sleep 0.1
	done
}

# start_failed: the reason, then nothing stays behind.
start_failed() {
	local status=$? name
	trap - EXIT
	if [ $status -ne 0 ]; then
		for name in serve sandbox nginx-error; do
			log_tail "$STATE/log/$name.log"
		done
		stop_all
		say "the shop was not started" >&2
	fi
	exit $status
}

running_ports() {
	sed -n 's/^[[:space:]]*listen 127\.0\.0\.1:\([0-9]*\).*/\1/p' \
		"$STATE/nginx/$1.conf" 2>/dev/null
}

# nginx_ours: whether this copy's nginx runs, and on the ports asked for.
nginx_ours() {
	local old
	pid_ours "$STATE/nginx/nginx.pid" "$STATE/nginx" >/dev/null || return 1
	old="$(running_ports shop) $(running_ports sandbox)"
	if [ "$old" != "$PORT $PAY_PORT" ]; then
		die "the shop in $RUN_DIR runs on ports $old: stop it first"
	fi
}

ports_free() {
	if port_taken "$PORT"; then
		die "port $PORT is in use by another program:" \
			"name a free one, as in: make run PORT=8090"
	fi
	if port_taken "$PAY_PORT"; then
		die "port $PAY_PORT is in use by another program:" \
			"name a free one, as in: make run PAY_PORT=8091"
	fi
}

all_run() {
	nginx_ours && pid_ours "$STATE/serve.pid" "$STATE/bin" >/dev/null &&
		pid_ours "$STATE/sandbox.pid" "$STATE/bin" >/dev/null
}

start_all() {
	files
	"$CLUSTER" start "$STATE"
	program migrate >/dev/null
	items
	say "starting the shop's processes and the sandbox provider"
	process_start sandbox "$STATE/bin/lastpair" \
		-c "$STATE/lastpair.conf" sandbox
	process_start serve "$STATE/bin/lastpair" \
		-c "$STATE/lastpair.conf" serve
	if ! nginx_ours; then
		say "starting nginx"
		nginx_run
	fi
	wait_ready
}

start() {
	folders
	if all_run; then
		say "the shop is running"
		addresses
		return
	fi
	nginx_ours || ports_free
	if [ -n "$OVERRIDES" ]; then
		say "set in the environment, overriding the file:$OVERRIDES"
	fi
	as_runner rm -f "$STATE/stopped"
	trap start_failed EXIT
	start_all
	trap - EXIT
	addresses
}

addresses() {
	cat <<-EOF

		shop              $SHOP/
		one of 600 pairs  $SHOP/item/RUN-42
		the last pair     $SHOP/item/RUN-43
		pay page (sandbox) $PAY/
		mail              $STATE/mail
		settings          $RUN_DIR/lastpair.conf
		logs              $STATE/log

	EOF
}

# In the opposite order: first no new requests, last the database.
stop_all() {
	process_stop nginx/nginx "$STATE/nginx" QUIT
	process_stop serve "$STATE/bin/lastpair" TERM
	process_stop sandbox "$STATE/bin/lastpair" TERM
	"$CLUSTER" stop "$STATE"
}

exists() {
	[ -e "$RUN_DIR/.lastpair-demo" ] && [ -e "$STATE/.lastpair-demo" ]
}

stop() {
	if exists; then
		lock
		# So that `make run` elsewhere does not take it for a death.
		as_runner touch "$STATE/stopped"
		stop_all
	fi
	say "the shop is stopped"
}

reset() {
	if exists; then
		lock
		stop_all
		rm -rf "$STATE" "$RUN_DIR"
		say "the demo's data is gone"
	else
		say "there is no demo shop in $RUN_DIR"
	fi
}

status_line() {
	if [ "$2" = 0 ]; then
		say "$1: running"
	else
		say "$1: stopped"
		stopped=$((stopped + 1))
	fi
}

# 0: all runs; 1: some of it; 3: nothing.
status() {
	local stopped=0 name rc
	rc=0
	exists && "$CLUSTER" status "$STATE" || rc=1
	status_line postgresql $rc
	for name in sandbox serve; do
		rc=0
		pid_ours "$STATE/$name.pid" "$STATE/bin" >/dev/null || rc=1
		status_line $name $rc
	done
	rc=0
	pid_ours "$STATE/nginx/nginx.pid" "$STATE/nginx" >/dev/null || rc=1
	status_line nginx $rc
	case $stopped in
	0) addresses ;;
	4) exit 3 ;;
	*) exit 1 ;;
	esac
}

# run: as start, then what the logs warn of, until a signal or a death.
run() {
	local end=0
	if exists && all_run; then
		die "the shop is running already: make stop ends it"
	fi
	trap 'end=1' INT TERM HUP
	start
	say "Ctrl-C stops everything"
	exec 9<&-
	tail -q -n 0 --pid=$$ -F "$STATE"/log/{serve,sandbox,nginx-error,postgresql}.log \
		2>/dev/null | grep --line-buffered -E \
		'level=(warn|error)|\[(warn|error|crit|alert|emerg)\]|(ERROR|FATAL|PANIC):' &
	while [ $end = 0 ] && all_run; do
		sleep 1 &
		wait $! || true
	done
	say "stopping"
	if exists && [ ! -e "$STATE/stopped" ]; then
		lock
		stop_all
		if [ $end = 0 ]; then
			log_tail "$STATE/log/serve.log"
			die "a process of the shop ended by itself"
		fi
	fi
	say "the shop is stopped"
}

main() {
	umask 022
	env_scrub
	where
	case ${1:-} in
	run | start | stop | status | reset) "$1" ;;
	nginx)
		# nginx -t and the like, by hand.
		shift
		nginx_run "$@"
		;;
	*) die "usage: shop.sh run|start|stop|status|reset" ;;
	esac
}

main "$@"
