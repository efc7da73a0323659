#!/bin/bash
# schema.sh [--write|--compare]: the tables of schema data as pg_dump prints
# them, without what depends on its version. The database is the one that
# PGHOST, PGPORT, PGUSER and PGDATABASE name, brought up to date by `lastpair
# migrate`. --write keeps it as sql/schema.sql; --compare says how the two
# differ, in the form of diff, and says nothing when they do not.
set -euo pipefail
FILE=$(cd "$(dirname "$0")/../.." && pwd)/sql/schema.sql

# Statements by kind, then by name: pg_dump's own order depends on what else is
# in the database.
in_order() {
	awk 'BEGIN { RS = ""; ORS = "\0" }
	/^CREATE SCHEMA/ { print "1 " $0; next }
	/^CREATE TABLE/ { print "2 " $0; next }
	/ADD GENERATED/ { print "3 " $0; next }
	/FOREIGN KEY/ { print "6 " $0; next }
	/ADD CONSTRAINT/ { print "4 " $0; next }
	{ print "5 " $0 }' | LC_ALL=C sort -z | sed -z 's/^. //; $!s/$/\n/' |
		tr '\0' '\n'
}

# The ledger of migrations belongs to the program, not to a migration.
schema() {
	echo '-- Made by tests/sql/schema.sh --write: do not edit.'
	echo
	PGOPTIONS='-c search_path=' pg_dump --schema-only --schema=data \
		--no-owner --no-privileges --exclude-table='data.migration' |
		sed -e '/^--/d' -e '/^SET /d' -e '/^\\/d' \
			-e '/^SELECT pg_catalog\.set_config/d' |
		in_order
}

case ${1:-} in
'') schema ;;
--write) schema >"$FILE" ;;
--compare) diff -u "$FILE" <(schema) || true ;;
*)
	echo 'usage: schema.sh [--write|--compare]' >&2
	exit 2
	;;
esac
