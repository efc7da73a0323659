# shellcheck shell=bash
# What the demo's scripts share: words to the user, the unprivileged user that
# everything runs as, folders, ports, and pid files that are only believed when
# the process is ours. Sourced; changes nothing when read.

# shellcheck disable=SC2034
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

say() {
	printf '%s\n' "$*"
}

die() {
	printf 'lastpair: %s\n' "$*" >&2
	exit 1
}

# env_scrub: forgets the caller's environment but for what is documented, so
# that a PGHOST, a proxy or a foreign LASTPAIR_DATABASE_URL cannot turn the demo
# against somebody's real database. Other LASTPAIR_* settings override the file;
# their names are left in OVERRIDES.
env_scrub() {
	local name
	OVERRIDES=
	# Debian's own tools first, and /usr/sbin, where a user's PATH lacks it.
	PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
	for name in $(compgen -e); do
		case $name in
		PATH | TERM | PORT | PAY_PORT | RUN_DIR | BUILD | CLUSTER_FAST) ;;
		ASAN_OPTIONS | LSAN_OPTIONS | UBSAN_OPTIONS | TSAN_OPTIONS) ;;
		LASTPAIR_DATABASE_* | LASTPAIR_SANDBOX_*) unset "$name" ;;
		LASTPAIR_SERVER_PUBLIC_URL | LASTPAIR_SERVER_SHARE) unset "$name" ;;
		LASTPAIR_SERVER_SOCKET_DIR) unset "$name" ;;
		LASTPAIR_STRIPE_API_BASE) unset "$name" ;;
		LASTPAIR_*) OVERRIDES="$OVERRIDES $name" ;;
		*) unset "$name" ;;
		esac
	done
	export PATH LANG=C.UTF-8
}

# The database server refuses to run as root, so as root everything runs as
# www-data, which each Debian has; otherwise as the caller.
runner_name() {
	if [ "$(id -u)" = 0 ]; then
		echo www-data
	else
		id -u
	fi
}

# runner_exec COMMAND...: becomes it as that user, where that user may stand.
runner_exec() {
	cd /
	export HOME=${STATE:-/}
	exec 9<&-
	if [ "$(id -u)" = 0 ]; then
		exec setpriv --reuid=www-data --regid=www-data \
			--init-groups -- "$@"
	fi
	exec "$@"
}

as_runner() {
	(runner_exec "$@")
}

# as_runner_log FILE COMMAND...: the same, with all output added to a log. That
# user opens the file itself: root never writes where another user may link.
as_runner_log() {
	local file=$1
	shift
	# shellcheck disable=SC2016
	as_runner sh -c 'log=$1; shift; exec "$@" >>"$log" 2>&1' sh "$file" "$@"
}

# runner_dir MODE DIR...: makes folders of that user's.
runner_dir() {
	local mode=$1
	shift
	as_runner mkdir -p -- "$@"
	as_runner chmod "$mode" -- "$@"
}

# runner_file MODE FILE: standard input becomes a file of that user's; the new
# one takes the old one's place at once, also under a running program.
runner_file() {
	# shellcheck disable=SC2016
	as_runner sh -c 'umask 077; cat >"$2.new" && chmod "$1" "$2.new" &&
		mv -f "$2.new" "$2"' sh "$1" "$2"
}

# state_dir RUN_DIR: prints where the demo keeps what runs: RUN_DIR itself, or,
# where a unix socket's path would get too long (107 bytes) or the unprivileged
# user cannot go, a folder under /var/tmp.
state_dir() {
	local dir=$1 sum
	case $dir in
	*[!A-Za-z0-9/._-]*) ;;
	*)
		if [ ${#dir} -lt 60 ] &&
			as_runner test -x "$(dirname "$dir")"; then
			echo "$dir"
			return
		fi
		;;
	esac
	sum=$(printf '%s' "$dir" | cksum)
	echo "/var/tmp/lastpair-$(id -u)-${sum%% *}"
}

# port_taken PORT: whether somebody listens there on loopback or everywhere.
port_taken() {
	local hex files=(/proc/net/tcp)
	hex=$(printf '%04X' "$1")
	if [ -r /proc/net/tcp6 ]; then
		files+=(/proc/net/tcp6)
	fi
	awk -v port="$hex" '
	$4 == "0A" && split($2, a, ":") && a[2] == port &&
	a[1] ~ /^(0+|0100007F|0000000000000000FFFF00000100007F)$/ { hit = 1 }
	END { exit !hit }' "${files[@]}"
}

# port_check NAME VALUE: stops unless an ordinary user may listen on it.
port_check() {
	case $2 in
	'' | *[!0-9]*) die "$1 must be a number, not \"$2\"" ;;
	esac
	if [ ${#2} -gt 5 ] || [ "$2" -lt 1024 ] || [ "$2" -gt 65535 ]; then
		die "$1 must be from 1024 to 65535, not $2"
	fi
}

# pid_ours FILE WORD: prints the pid in FILE when that process lives and its
# command line has WORD in it, so that a number used again is never signalled.
pid_ours() {
	local pid
	pid=$(head -n 1 "$1" 2>/dev/null) || return 1
	case $pid in
	'' | *[!0-9]*) return 1 ;;
	esac
	tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" |
		grep -qF -e "$2" || return 1
	echo "$pid"
}

# pid_gone PID SECONDS: waits until the process is gone; fails at the deadline.
pid_gone() {
	local end=$((SECONDS + $2))
	while [ -d "/proc/$1" ] && ! pid_zombie "$1"; do
		if [ $SECONDS -ge $end ]; then
			return 1
		fi
		sleep 0.05
	done
}

pid_zombie() {
	grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

# process_start NAME COMMAND...: starts it in a session of its own, so that a
# Ctrl-C does not reach it; its pid in STATE/NAME.pid, its words in the log.
process_start() {
	local pid=$STATE/$1.pid log=$STATE/log/$1.log
	shift
	if pid_ours "$pid" "$1" >/dev/null; then
		return
	fi
	as_runner rm -f "$pid"
	# shellcheck disable=SC2016
	(runner_exec sh -c 'echo $$ >"$1"; exec >>"$2" 2>&1; shift 2
		exec setsid "$@"' sh "$pid" "$log" "$@") </dev/null &
	until pid_ours "$pid" "$1" >/dev/null; do
		kill -0 $! 2>/dev/null || return 0
		sleep 0.02
	done
}

# process_stop NAME WORD SIGNAL: asks it to end, waits, then insists.
process_stop() {
	local pid
	if pid=$(pid_ours "$STATE/$1.pid" "$2"); then
		kill -s "$3" "$pid" 2>/dev/null || true
		if ! pid_gone "$pid" "$STOP_SECONDS"; then
			say "$1 takes too long to end: killing it" >&2
			kill -s KILL "$pid" 2>/dev/null || true
			pid_gone "$pid" 5 || true
		fi
	fi
	as_runner rm -f "$STATE/$1.pid"
}

# log_tail FILE: the last lines of a log, for a failure to show its reason.
log_tail() {
	if [ -s "$1" ]; then
		say "--- last lines of $1"
		tail -n 15 "$1"
	fi >&2
}
