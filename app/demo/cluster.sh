#!/bin/bash
# cluster.sh start|stop|status|bin|psql STATE...: a private PostgreSQL cluster in
# STATE/pg that listens on the unix socket STATE/s/.s.PGSQL.5432 and nowhere
# else. The folder of that socket is closed to others, so inside it every role
# is trusted. `start` also makes the roles and the empty database.
# CLUSTER_FAST=1 gives up durability: for tests whose data may vanish.
set -euo pipefail
# shellcheck source=app/demo/lib.sh
. "$(dirname "$0")/lib.sh"

# The newest installed server that the program supports.
pg_bin() {
	local bin best='' major best_major=0
	for bin in /usr/lib/postgresql/*/bin; do
		major=${bin#/usr/lib/postgresql/}
		major=${major%/bin}
		case $major in
		*[!0-9]*) continue ;;
		esac
		if [ -x "$bin/initdb" ] && [ "$major" -gt "$best_major" ]; then
			best=$bin
			best_major=$major
		fi
	done
	# Data is read by the version that wrote it.
	if [ -f "$STATE/pg/PG_VERSION" ]; then
		best_major=$(cat "$STATE/pg/PG_VERSION")
		best=/usr/lib/postgresql/$best_major/bin
	fi
	if [ ! -x "$best/postgres" ]; then
		die "the PostgreSQL server${best_major/#0/} is not installed"
	fi
	if [ "$best_major" -lt 14 ]; then
		die "PostgreSQL 14 or newer is needed, this is $best_major"
	fi
	echo "$best"
}

cluster_settings() {
	cat <<-EOF
		# Written at each start by the demo; postgresql.conf includes it.
		listen_addresses = ''
		unix_socket_directories = '$STATE/s'
		unix_socket_permissions = 0700
		port = 5432
		max_connections = 100
		shared_buffers = 128MB
		# An answer that a buyer got is on disk.
		fsync = on
		synchronous_commit = on
		full_page_writes = on
		# Statements are short: compiling them costs more than it gives.
		jit = off
		timezone = 'UTC'
		log_timezone = 'UTC'
		log_destination = 'stderr'
		logging_collector = off
		log_line_prefix = '%m [%p] %u@%d '
		log_lock_waits = on
	EOF
	if [ "${CLUSTER_FAST:-}" = 1 ]; then
		echo '# Tests only: this cluster is thrown away.'
		echo 'fsync = off'
		echo 'synchronous_commit = off'
		echo 'full_page_writes = off'
	fi
}

# A first start that was cut off leaves a folder that initdb refuses.
cluster_init() {
	if [ -f "$STATE/pg/.made" ]; then
		return
	fi
	as_runner rm -rf "$STATE/pg"
	runner_dir 700 "$STATE/pg"
	say "making a PostgreSQL cluster"
	if ! as_runner_log "$STATE/log/initdb.log" "$BIN/initdb" \
		-D "$STATE/pg" -U postgres --auth=trust --encoding=UTF8 \
		--locale=C.UTF-8 --data-checksums; then
		log_tail "$STATE/log/initdb.log"
		die "the PostgreSQL cluster could not be made"
	fi
	runner_file 600 "$STATE/pg/pg_hba.conf" <<-EOF
		# Whoever can open the folder of the socket is trusted.
		local all all trust
	EOF
	echo "include = 'lastpair.conf'" |
		as_runner tee -a "$STATE/pg/postgresql.conf" >/dev/null
	as_runner touch "$STATE/pg/.made"
}

cluster_psql() {
	as_runner "$BIN/psql" -X -q -v ON_ERROR_STOP=1 -h "$STATE/s" -p 5432 \
		-U postgres "$@"
}

# The owner and its database; the other roles come from sql/roles.sql.
cluster_roles() {
	cluster_psql -d postgres <<-EOF &&
		select 'create role lastpair_owner login'
		where not exists (select from pg_roles
		where rolname = 'lastpair_owner') \gexec
		select 'create database lastpair owner lastpair_owner'
		where not exists (select from pg_database
		where datname = 'lastpair') \gexec
	EOF
		cluster_psql -d lastpair -f - <"$ROOT/sql/roles.sql"
}

cluster_running() {
	as_runner "$BIN/pg_ctl" status -s -D "$STATE/pg" >/dev/null 2>&1
}

cluster_start() {
	local out
	runner_dir 700 "$STATE/s"
	runner_dir 750 "$STATE/log"
	cluster_init
	cluster_settings | runner_file 600 "$STATE/pg/lastpair.conf"
	if ! cluster_running; then
		say "starting PostgreSQL"
		if ! as_runner "$BIN/pg_ctl" start -s -w -t 60 -D "$STATE/pg" \
			-l "$STATE/log/postgresql.log" </dev/null >/dev/null; then
			log_tail "$STATE/log/postgresql.log"
			die "PostgreSQL could not be started"
		fi
	fi
	if ! out=$(cluster_roles 2>&1); then
		say "$out" >&2
		die "the roles of the database could not be made"
	fi
}

cluster_stop() {
	if [ -d "$STATE/pg" ] && cluster_running; then
		as_runner "$BIN/pg_ctl" stop -s -w -t 60 -m fast -D "$STATE/pg" ||
			as_runner "$BIN/pg_ctl" stop -s -w -m immediate \
				-D "$STATE/pg"
	fi
}

main() {
	local command=${1:-} bin
	STATE=${2:-}
	if [ -z "$STATE" ]; then
		die "usage: cluster.sh start|stop|status|bin|psql STATE..."
	fi
	shift 2
	env_scrub >/dev/null
	bin=$(pg_bin)
	BIN=$bin
	case $command in
	start) cluster_start ;;
	stop) cluster_stop ;;
	status) cluster_running ;;
	psql) cluster_psql "$@" ;;
	bin) say "$BIN" ;;
	*) die "cluster.sh: no such command: $command" ;;
	esac
}

main "$@"
