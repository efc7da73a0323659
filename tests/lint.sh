#!/bin/bash
# lint.sh: formats, linters and lengths, over all that the project has written.
# What was found clean stays so until it, a header of it, or a rule changes:
# build/lint has a stamp for each. Exit status 1 when anything was found.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

STAMPS=build/lint
FLAGS=(-std=c17 -Iapp -Itests/unit -Itests/bench -D_POSIX_C_SOURCE=200809L
	-D_DEFAULT_SOURCE -Wno-unused-parameter)
read -ra libraries < <(pkg-config --cflags libpq libcurl yajl inih cmocka)
FLAGS+=("${libraries[@]}")
bad=0

wrong() {
	printf '%s\n' "$*" >&2
	bad=1
}

# key FILE: changes when the file, what it includes, or a rule of ours changes.
key() {
	{
		cat tests/lint.sh .clang-tidy
		gcc "${FLAGS[@]}" -MM -MG "$1" 2>/dev/null | tr -d '\134' |
			tr ' ' '\n' | sed '1d; /^$/d' | sort -u |
			xargs -r cat 2>/dev/null
	} | sha256sum
}

# tidy FILE: one file, unless its stamp says that it is clean.
tidy() {
	local stamp=$STAMPS/$1.tidy now
	now=$(key "$1")
	if [ "$(cat "$stamp" 2>/dev/null)" = "$now" ]; then
		return
	fi
	mkdir -p "$(dirname "$stamp")"
	rm -f "$stamp"
	if ! clang-tidy --quiet "$1" -- "${FLAGS[@]}" >"$stamp.out" 2>&1; then
		grep -v 'warnings\? .*generated\|^Suppressed\|^Use -header' \
			"$stamp.out" >&2
		return 1
	fi
	echo "$now" >"$stamp"
}

lint_format() {
	clang-format --dry-run -Werror "${c[@]}" "${h[@]}" || bad=1
}

lint_tidy() {
	printf '%s\0' "${c[@]}" |
		xargs -0 -P "$(nproc)" -n 1 tests/lint.sh tidy || bad=1
}

# Its own folder of results serves as stamps.
lint_cppcheck() {
	mkdir -p $STAMPS/cppcheck
	cppcheck -q -j "$(nproc)" --cppcheck-build-dir=$STAMPS/cppcheck \
		--std=c11 --enable=warning,performance,portability \
		--inline-suppr --suppress=missingInclude \
		--suppress=missingIncludeSystem --error-exitcode=1 \
		-Iapp "${app[@]}" || bad=1
}

lint_shell() {
	shellcheck -x "${sh[@]}" || bad=1
}

# A function is what stands between braces in the first column.
lint_functions() {
	awk '
	FNR == 1 { start = 0 }
	/^\{$/ { start = FNR }
	/^\}/ {
		if (start && FNR - start - 1 > 60) {
			printf "%s:%d: a function of %d lines (60 at most)\n",
			    FILENAME, start, FNR - start - 1
			found = 1
		}
		start = 0
	}
	END { exit found }' "$@" >&2 || bad=1
}

# lint_length MAX FILE...
lint_length() {
	local max=$1 file lines
	shift
	for file in "$@"; do
		lines=$(wc -l <"$file")
		if [ "$lines" -gt "$max" ]; then
			wrong "$file: $lines lines ($max at most)"
		fi
	done
}

# What hides from the eye.
lint_bytes() {
	local file
	for file in "$@"; do
		if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then
			wrong "$file: no newline at the end"
		fi
	done
	grep -nE '[[:blank:]]+$' "$@" /dev/null >&2 && bad=1
	grep -nP '\r' "$@" /dev/null >&2 && bad=1
}

if [ "${1:-}" = tidy ]; then
	tidy "$2"
	exit
fi

shopt -s globstar nullglob
c=(app/**/*.c tests/**/*.c)
h=(app/**/*.h tests/**/*.h)
app=(app/**/*.c)
sh=(app/demo/*.sh tests/*.sh tests/*/*.sh .ci/run)
text=(sql/**/*.sql static/**/*.js static/**/*.css static/*.html nginx/*)
text+=(tests/*/*.js tests/*/*.mjs tests/sql/*.sql Makefile)
for name in c h text; do
	declare -n list=$name
	for i in "${!list[@]}"; do
		case ${list[$i]} in
		tests/node_modules/*) unset "list[$i]" ;;
		esac
		[ -f "${list[$i]:-.}" ] || unset "list[$i]"
	done
done
mkdir -p $STAMPS
started=$SECONDS
lint_shell
lint_format
lint_functions "${c[@]}"
lint_length 500 "${c[@]}" "${h[@]}" "${sh[@]}" static/js/*.js sql/api/*.sql
lint_bytes "${c[@]}" "${h[@]}" "${sh[@]}" "${text[@]}"
lint_cppcheck
lint_tidy
if [ $bad -ne 0 ]; then
	echo "lint: see above" >&2
	exit 1
fi
echo "lint: ${#c[@]} C files, ${#sh[@]} scripts, clean ($((SECONDS - started)) s)"
