#!/bin/bash
# fresh.sh: shows that no install step is missing. Makes a new Debian root with
# nothing but a minimal system, puts the committed tree into it, and there:
# `make run`, a purchase, Ctrl-C, `make test`. Root only, for debootstrap and
# chroot; AS_USER=1 does the rest as a user with sudo. The new root gets this
# machine's package sources and settings of the network, and is thrown away;
# the bare system is kept for a week under /var/tmp.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=app/demo/lib.sh
. app/demo/lib.sh

AS_USER=${AS_USER:-}
SUITE=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
BASE=/var/tmp/lastpair-base-$SUITE-$(dpkg --print-architecture).tar
PORT=18480
PAY_PORT=18481
START_SECONDS=900

fresh=
shop=

# end_inside SIGNAL: to whatever lives in the new root; waits ten seconds.
end_inside() {
	local process pids='' tries=0
	while [ $tries -lt 100 ]; do
		pids=
		for process in /proc/[0-9]*; do
			if [ "$(readlink "$process/root")" = "$fresh" ]; then
				pids="$pids ${process#/proc/}"
			fi
		done
		if [ -z "$pids" ]; then
			# In a trap, a bare return gives what was before it.
			return 0
		fi
		if [ $tries -eq 0 ]; then
			# shellcheck disable=SC2086
			kill -s "$1" $pids 2>/dev/null || true
		fi
		tries=$((tries + 1))
		sleep 0.1
	done
}

cleanup() {
	local dir
	set +e
	if [ -n "$fresh" ]; then
		end_inside TERM
		end_inside KILL
		for dir in dev/shm dev/pts dev proc; do
			if mountpoint -q "$fresh/$dir"; then
				umount "$fresh/$dir" || umount -l "$fresh/$dir"
			fi
		done
		# Nothing may be below a mount that stayed.
		rm -rf --one-file-system "$fresh"
	fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# Where this machine gets Debian from. Never printed.
mirror() {
	local address
	address=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
		2>/dev/null | sed -n "s/^deb \(\[[^]]*\] \)\?\([^ ]*\) $SUITE .*/\2/p" |
		head -n 1)
	if [ -z "$address" ]; then
		address=$(awk -v suite="$SUITE" '
		/^URIs:/ { uri = $2 }
		/^Suites:/ {
			for (i = 2; i <= NF; i++)
				if ($i == suite && uri) {
					print uri
					exit
				}
		}' /etc/apt/sources.list.d/*.sources 2>/dev/null)
	fi
	if [ -z "$address" ]; then
		die "this machine's sources do not have $SUITE"
	fi
	echo "$address"
}

# copy PATH...: the machine's own, at the same place in the new root.
copy() {
	local path
	for path in "$@"; do
		if [ -e "$path" ]; then
			mkdir -p "$fresh$(dirname "$path")"
			rm -rf "${fresh:?}$path"
			cp -rL "$path" "$fresh$path"
		fi
	done
}

base() {
	local address dir
	if [ -n "$(find "$BASE" -mtime -7 2>/dev/null)" ]; then
		tar -C "$fresh" -xf "$BASE"
		return
	fi
	say "making a minimal Debian $SUITE"
	address=$(mirror)
	dir=$fresh
	if ! debootstrap --variant=minbase "$SUITE" "$dir" "$address" \
		>"$fresh.log" 2>&1; then
		sed 's#[a-z]*://[^ ]*#...#g' "$fresh.log" | tail -n 15 >&2
		rm -f "$fresh.log"
		die "debootstrap failed"
	fi
	rm -f "$fresh.log"
	(umask 077 && tar -C "$fresh" --one-file-system -cf "$BASE.new" .)
	mv -f "$BASE.new" "$BASE"
}

# How this machine reaches its registries: sources, keys, proxies, authorities.
settings() {
	local key value
	rm -f "$fresh"/etc/apt/sources.list "$fresh"/etc/apt/sources.list.d/*
	copy /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf \
		/etc/apt/apt.conf.d /etc/apt/preferences.d \
		/etc/apt/trusted.gpg.d /etc/apt/keyrings /usr/share/keyrings \
		/etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates \
		/etc/ssl/certs/ca-certificates.crt
	if command -v npm >/dev/null; then
		for key in registry cafile proxy https-proxy; do
			value=$(cd / && npm config get "$key" 2>/dev/null)
			case $value in
			'' | null | undefined) ;;
			*) echo "$key=$value" ;;
			esac
		done >"$fresh/etc/npmrc"
	fi
	# Only what says how to reach the network; no tokens.
	env | grep -E '^(https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)=' \
		>"$fresh/etc/fresh.env" || true
	env | grep -E '^(NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR)=' \
		>>"$fresh/etc/fresh.env" || true
}

# Devices of its own, so that nothing of the machine's /dev is within reach.
mounts() {
	local node
	mount -t proc proc "$fresh/proc"
	mount -t tmpfs -o mode=755,size=1m dev "$fresh/dev"
	mkdir "$fresh/dev/pts" "$fresh/dev/shm"
	for node in 'null 3' 'zero 5' 'full 7' 'random 8' 'urandom 9'; do
		mknod -m 666 "$fresh/dev/${node% *}" c 1 "${node#* }"
	done
	mknod -m 666 "$fresh/dev/tty" c 5 0
	ln -s /proc/self/fd "$fresh/dev/fd"
	ln -s /proc/self/fd/0 "$fresh/dev/stdin"
	ln -s /proc/self/fd/1 "$fresh/dev/stdout"
	ln -s /proc/self/fd/2 "$fresh/dev/stderr"
	mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts \
		"$fresh/dev/pts"
	ln -s pts/ptmx "$fresh/dev/ptmx"
	mount -t tmpfs -o mode=1777 shm "$fresh/dev/shm"
}

# inside COMMAND...: in the new root, in an environment of its own.
inside() {
	local set=(HOME=/root LANG=C.UTF-8 TERM=dumb
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
	local line
	while read -r line; do
		set+=("$line")
	done <"$fresh/etc/fresh.env"
	env -i "${set[@]}" chroot "$fresh" "$@"
}

# there COMMAND...: the same, in the checkout, as whoever is to try it.
there() {
	if [ -n "$AS_USER" ]; then
		inside runuser -u shop -- env HOME=/home/shop sh -c \
			'cd /home/shop/lastpair && exec "$@"' sh "$@"
	else
		inside sh -c 'cd /root/lastpair && exec "$@"' sh "$@"
	fi
}

# make and, for a user, sudo are there before; everything else is for the
# Makefile to find missing. The folder above the checkout is closed to others.
checkout() {
	local home=/root extra=
	if [ -n "$AS_USER" ]; then
		home=/home/shop
		extra=sudo
		inside useradd -m -d $home shop
	fi
	inside apt-get -qq update >/dev/null
	# shellcheck disable=SC2086
	inside apt-get -qq install -y --no-install-recommends make $extra \
		>/dev/null 2>&1
	if [ -n "$AS_USER" ]; then
		echo 'shop ALL=(ALL) NOPASSWD: ALL' >"$fresh/etc/sudoers.d/shop"
		# So that proxies and authorities reach apt through sudo.
		echo 'Defaults !env_reset' >>"$fresh/etc/sudoers.d/shop"
	fi
	git -c advice.detachedHead=false clone -q --no-hardlinks . \
		"$fresh$home/lastpair"
	chmod 700 "$fresh$home"
	if [ -n "$AS_USER" ]; then
		inside chown -R shop: $home
	fi
}

wait_shop() {
	local end=$((SECONDS + START_SECONDS))
	until grep -q 'Ctrl-C' "$fresh/run.log"; do
		if ! kill -0 "$shop" 2>/dev/null || [ $SECONDS -ge $end ]; then
			tail -n 30 "$fresh/run.log" >&2
			die "make run did not bring the shop up"
		fi
		sleep 0.5
	done
	cat "$fresh/run.log"
}

# untouched: the system around the shop is as if nothing had been installed.
untouched() {
	local file
	for file in /usr/sbin/policy-rc.d \
		/etc/postgresql-common/createcluster.d/lastpair.conf; do
		[ ! -e "$fresh$file" ] || die "$file was left behind"
	done
	if compgen -G "$fresh/etc/postgresql/*/*" >/dev/null; then
		die "a PostgreSQL cluster was made"
	fi
	if compgen -G "$fresh/etc/rc3.d/S*nginx" >/dev/null ||
		compgen -G "$fresh/etc/systemd/system/*/nginx.service" \
			>/dev/null; then
		die "nginx would take port 80 at the next start"
	fi
}

# field NAME: a member's text out of JSON on standard input.
field() {
	sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p" | head -n 1
}

# form WORD: of the HTML on standard input, the form whose words have WORD:
# its action, then what its button sends, NAME=VALUE, a line each.
form() {
	tr '\n' ' ' | sed 's/<form/\n<form/g; s/<\/form>/\n/g' |
		grep -i "^<form.*$1" | head -n 1 | sed 's/</\n</g' | awk '
	function value(name) {
		if (!match($0, name "=\"[^\"]*\""))
			return ""
		return substr($0, RSTART + length(name) + 2,
		    RLENGTH - length(name) - 3)
	}
	/^<form/ { print value("action") }
	/^<input[^>]*hidden/ || /^<button[^>]*name=/ { print value("name") "=" value("value") }'
}

# A buyer with nothing but a cookie jar: hold, pay page, pay, order paid.
purchase() {
	local shop=http://127.0.0.1:$PORT pay=http://127.0.0.1:$PAY_PORT
	local get hold url='' answer end=$((SECONDS + 60)) fields=() line
	get=(curl -q -sS --noproxy '*' --max-time 20 -b "$fresh/jar" -c "$fresh/jar")
	"${get[@]}" -o /dev/null "$shop/item/RUN-43"
	answer=$("${get[@]}" -H 'Content-Type: application/json' \
		-d '{"item":"RUN-43","qty":1}' "$shop/hold")
	hold=$(field id <<<"$answer")
	[ -n "$hold" ] || die "no hold: $answer"
	until [ -n "$url" ]; do
		answer=$("${get[@]}" -H 'Content-Type: application/json' \
			-d "{\"id\":\"$hold\"}" "$shop/pay")
		url=$(field url <<<"$answer")
		[ $SECONDS -lt $end ] || die "no pay page: $answer"
		sleep 0.2
	done
	mapfile -t fields < <("${get[@]}" "$url" | form 'pay')
	[ ${#fields[@]} -gt 0 ] || die "no form on the pay page"
	answer=${fields[0]:-$url}
	case $answer in
	/*) answer=$pay$answer ;;
	esac
	set --
	for line in "${fields[@]:1}"; do
		set -- "$@" --data-urlencode "$line"
	done
	"${get[@]}" -o /dev/null -X POST "$@" "$answer"
	until grep -q '"state" *: *"paid"' <<<"$answer"; do
		[ $SECONDS -lt $end ] || die "not paid: $answer"
		sleep 0.2
		answer=$("${get[@]}" "$shop/hold?id=$hold")
	done
	say "the last pair is paid: $hold"
}

main() {
	if [ "$(id -u)" != 0 ]; then
		die "make test-fresh needs root: debootstrap and chroot do"
	fi
	if port_taken $PORT || port_taken $PAY_PORT; then
		die "ports $PORT and $PAY_PORT must be free"
	fi
	fresh=$(mktemp -d /var/tmp/lastpair-fresh.XXXXXX)
	chmod 755 "$fresh"
	base
	settings
	mounts
	checkout
	say "make run"
	touch "$fresh/run.log"
	there make run PORT=$PORT PAY_PORT=$PAY_PORT >"$fresh/run.log" 2>&1 &
	shop=$!
	wait_shop
	untouched
	say "a purchase"
	purchase
	say "make stop"
	there make stop PORT=$PORT PAY_PORT=$PAY_PORT
	wait "$shop" || true
	shop=
	say "make test"
	# In the background, so that a signal is heard at once.
	there make test &
	wait $!
}

main
