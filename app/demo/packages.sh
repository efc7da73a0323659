#!/bin/bash
# packages.sh run|test|fresh...: installs the Debian packages that are missing,
# and nothing else: no cluster on port 5432, no nginx on port 80, and services
# that the machine already has stay as they are. Quick when all are there.
set -euo pipefail
# shellcheck source=app/demo/lib.sh
. "$(dirname "$0")/lib.sh"

LOG=$(mktemp "${TMPDIR:-/tmp}/lastpair-install.XXXXXX")
undo=()

cleanup() {
	local file
	for file in "${undo[@]}"; do
		as_root rm -f "$file"
	done
	rm -f "$LOG"
}
trap cleanup EXIT

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "packages are missing, and this is neither root nor has sudo"
	fi
}

# The major version: what is installed, else what this Debian offers.
pg_major() {
	local major best=0
	for major in /usr/lib/postgresql/*/bin/initdb; do
		major=${major#/usr/lib/postgresql/}
		major=${major%%/*}
		case $major in
		*[!0-9]*) continue ;;
		esac
		if [ "$major" -ge 14 ] && [ "$major" -gt "$best" ]; then
			best=$major
		fi
	done
	if [ "$best" -eq 0 ]; then
		best=$(LC_ALL=C apt-cache policy postgresql |
			sed -n 's/^ *Candidate: \([0-9]*\).*/\1/p')
	fi
	echo "${best:-0}"
}

# To build the program and to run the shop.
packages_run() {
	echo gcc libc6-dev make pkg-config
	echo libpq-dev libfcgi-dev libcurl4-openssl-dev libssl-dev
	echo libyajl-dev libinih-dev libcmocka-dev
	echo nginx curl postgresql@
}

# To test and check it. Node.js that came from elsewhere will do.
packages_test() {
	echo postgresql@-pgtap postgresql-server-dev@
	echo libtap-parser-sourcehandler-pgtap-perl
	echo clang-format clang-tidy cppcheck shellcheck chromium
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
}

packages_fresh() {
	echo debootstrap git util-linux
}

# missing GROUP...: the names that are not installed. "postgresql@" stands for
# the server, "@-" and "dev@" for what goes with its major version.
missing() {
	local group names=() major
	major=$(pg_major)
	for group in "$@"; do
		# shellcheck disable=SC2207
		names+=($("packages_$group"))
	done
	names=("${names[@]/@/-$major}")
	# dpkg-query fails when a name is unknown to it: that one is missing.
	# shellcheck disable=SC2016
	dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${names[@]}" \
		2>/dev/null | awk -v names="${names[*]}" '
	$2 == "installed" { have[$1] = 1 }
	END {
		n = split(names, name, " ")
		for (i = 1; i <= n; i++)
			if (!(name[i] in have) && !done[name[i]]++)
				print name[i]
	}'
}

apt_run() {
	if ! as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
		apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >"$LOG" 2>&1; then
		tail -n 20 "$LOG" >&2
		die "apt-get $1 failed: see the lines above"
	fi
}

apt_install() {
	apt_run install -y --no-install-recommends "$@"
}

# Debian starts a service as soon as it is installed. Where no policy of the
# machine's own exists, one that says no is in force meanwhile.
services_hold() {
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		undo+=(/usr/sbin/policy-rc.d)
		printf '#!/bin/sh\nexit 101\n' |
			as_root tee /usr/sbin/policy-rc.d >/dev/null
		as_root chmod 755 /usr/sbin/policy-rc.d
	fi
}

# Debian makes a cluster on port 5432 with a server's first install; the demo
# has its own, so for this install a drop-in says no.
postgres_prepare() {
	local drop=/etc/postgresql-common/createcluster.d/lastpair.conf
	apt_install postgresql-common
	as_root mkdir -p "$(dirname "$drop")"
	undo+=("$drop")
	echo 'create_main_cluster = false' | as_root tee "$drop" >/dev/null
	if [ "$(pg_conftool /etc/postgresql-common/createcluster.conf \
		show -bs create_main_cluster 2>/dev/null)" != off ]; then
		die "install $1 yourself: createcluster.conf on this machine" \
			"does not read createcluster.d, so a cluster would be made"
	fi
}

install_missing() {
	local name nginx=no
	for name in "$@"; do
		if [ "$name" = nginx ]; then
			nginx=yes
		fi
	done
	say "installing $# Debian packages: $*"
	services_hold
	for name in "$@"; do
		case $name in
		postgresql-[0-9] | postgresql-[0-9][0-9]) postgres_prepare "$name" ;;
		esac
	done
	apt_install "$@"
	if [ $nginx = yes ]; then
		# Else it would take port 80 at the next start of the machine.
		as_root update-rc.d nginx disable >/dev/null 2>&1 || true
		say "nginx is installed, its system service left off: the shop" \
			"runs its own"
	fi
}

main() {
	local names
	for names in "$@"; do
		case $names in
		run | test | fresh) ;;
		*) die "usage: packages.sh run|test|fresh..." ;;
		esac
	done
	if ! command -v apt-get >/dev/null; then
		die "this needs Debian: there is no apt-get here"
	fi
	mapfile -t names < <(missing "$@")
	if [ ${#names[@]} -eq 0 ]; then
		return
	fi
	say "refreshing the list of Debian packages"
	apt_run update
	mapfile -t names < <(missing "$@")
	install_missing "${names[@]}"
}

main "$@"
