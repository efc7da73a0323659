#!/bin/bash
# layers.sh [ROOT]: who may know whom in app/. Each layer includes itself and
# what lies below; each library has one door; handlers do not know each other;
# SQL text stands in io/db*.c; the environment and the clock have one reader.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

bad=0

wrong() {
	printf '%s\n' "$*" >&2
	bad=1
}

# layer FILE: the rank of a file by its folder. main, the processes and the
# commands are one rank, the top.
layer() {
	case $1 in
	app/base/*) echo base ;;
	app/io/*) echo io ;;
	app/pay/*) echo pay ;;
	app/web/*) echo web ;;
	*) echo top ;;
	esac
}

# Handlers: a noun each. What else is in web/ is a tool that all may use.
is_handler() {
	case $(basename "$1" .h) in
	availability | event | health | hold | item | order | payment | refund | \
		unit | room | remedy | live | admin | metrics) return 0 ;;
	esac
	return 1
}

# may_include FILE HEADER: HEADER is a path below app/.
may_include() {
	local from to
	from=$(layer "$1")
	to=$(layer "app/$2")
	case $from:$to in
	top:* | web:pay | web:io | web:base | pay:pay | pay:base) ;;
	io:base | base:base) ;;
	pay:io) [ "$2" = io/http.h ] ;;
	io:io) may_include_io "$1" "$2" ;;
	web:web) may_include_web "$1" "$2" ;;
	*) return 1 ;;
	esac
}

# Inside io: lane, then db, then pg; the others know nobody but themselves.
may_include_io() {
	case $1:$2 in
	app/io/lane*:io/lane* | app/io/lane*:io/db.h | app/io/lane*:io/gate.h) ;;
	app/io/db*:io/db* | app/io/db*:io/pg.h) ;;
	*)
		local name=${1#app/io/}
		name=${name%%[._]*}
		case $2 in
		io/"$name".h | io/"${name}"_*.h) ;;
		*) return 1 ;;
		esac
		;;
	esac
}

may_include_web() {
	local own
	own=$(basename "$1")
	case $own in
	route* | worker*) return 0 ;;
	esac
	if is_handler "$2"; then
		[ "${own%.*}" = "$(basename "$2" .h)" ]
	fi
}

includes() {
	sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$1"
}

check_includes() {
	local file header
	while read -r header; do
		file=$1
		case $header in
		*..*)
			wrong "$file: includes \"$header\": name it from app/"
			continue
			;;
		*/*) ;;
		*)
			# A bare name is a neighbour, else one of app/ itself.
			if [ "$(dirname "$file")" != app ] &&
				[ -e "$(dirname "$file")/$header" ]; then
				header=$(dirname "${file#app/}")/$header
			fi
			;;
		esac
		may_include "$file" "$header" ||
			wrong "$file: may not include \"$header\""
		case $(layer "$file"):$header in
		io:*) ;;
		*:io/pg.h | *:io/db_call.h) wrong "$file: $header is io's own" ;;
		esac
	done < <(includes "$1")
}

# door REGEX FILE...: only these may include what matches.
door() {
	local regex=$1 file
	shift
	while read -r file; do
		case " $* " in
		*" $file "*) ;;
		*) wrong "$file: includes <$regex>, whose door is $*" ;;
		esac
	done < <(grep -rlE --include='*.[ch]' \
		"^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($regex)" app)
}

# code FILE: without comments.
code() {
	gcc -fpreprocessed -dD -E -P -x c "$1" 2>/dev/null
}

# words FILE: without what stands in quotes, too.
words() {
	code "$1" | sed -E "s/\"([^\"\\\\]|\\\\.)*\"/\"\"/g; s/'([^'\\\\]|\\\\.)+'/' '/g"
}

# only REGEX WHY FILE...: only these files may use such a word.
only() {
	local regex=$1 why=$2 file hit
	shift 2
	for file in "${sources[@]}"; do
		case " $* " in
		*" $file "*) continue ;;
		esac
		hit=$(words "$file" | grep -oE -m 1 "(^|[^A-Za-z0-9_>.])($regex)" |
			head -n 1) || true
		if [ -n "$hit" ]; then
			wrong "$file: ${hit#[^a-z_]} $why"
		fi
	done
}

# A string that is a statement, not a sentence.
SQL='"[[:space:]]*(select[[:space:]].*([[:space:]]from[[:space:]]|api\.|data\.|sandbox[a-z_]*\.|pg_[a-z]+\()|insert[[:space:]]+into[[:space:]]|update[[:space:]]+[a-z_.]+[[:space:]]+set[[:space:]]|delete[[:space:]]+from[[:space:]]|create[[:space:]]+(table|schema|role|function|database|index)|(alter|drop)[[:space:]]+(table|schema|role|function)|grant[[:space:]]+|truncate[[:space:]]|lock[[:space:]]+table)'

check_sql() {
	local file hit
	for file in "${sources[@]}"; do
		case $file in
		app/io/db*) continue ;;
		esac
		hit=$(code "$file" | grep -oiE -m 1 "$SQL" | head -n 1) || true
		if [ -n "$hit" ]; then
			wrong "$file: SQL text belongs in io/db*.c: $hit"
		fi
	done
}

check_web() {
	local file
	for file in "${sources[@]}"; do
		case $file in
		app/web/*) ;;
		*) continue ;;
		esac
		if grep -qE '#[[:space:]]*include[[:space:]]*<(sys/socket|sys/un|netdb|netinet/|arpa/)' "$file"; then
			wrong "$file: web opens no sockets"
		fi
	done
}

mapfile -t sources < <(find app -name '*.[ch]' | sort)
for file in "${sources[@]}"; do
	check_includes "$file"
done
door 'libpq-fe\.h|libpq/|postgres' app/io/pg_own.h
door 'fcgiapp\.h|fcgi_stdio\.h|fastcgi\.h' app/io/fcgi.c
door 'curl/' app/io/http.c app/io/mail.c
door 'yajl/' app/base/json.c
door 'openssl/' app/base/sign.c
door 'ini\.h' app/base/conf.c
only '(secure_)?getenv *\(|environ\>' 'is for app/base/conf.c' app/base/conf.c
only '(clock_gettime|gettimeofday|time|clock|ftime|nanosleep|clock_nanosleep|usleep|sleep) *\(' \
	'is for app/base/clock.c' app/base/clock.c
check_sql
check_web

if [ $bad -ne 0 ]; then
	exit 1
fi
echo "layers: ${#sources[@]} files, nobody reaches up"
