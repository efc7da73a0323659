#!/bin/bash
# upgrade_test.sh: a shop that has sold under the tables before money got its
# own states is brought up to date: what waited for a person is a task, and the
# audit finds nothing. The database server is the one that PGHOST, PGPORT and
# PGUSER name, a superuser; the database is this script's own.
set -euo pipefail
cd "$(dirname "$0")/../../sql"
export PGOPTIONS='-c client_min_messages=warning' PGDATABASE=postgres
DB=upgrade_$$

ask() {
	psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"
}
trap 'ask -d postgres -c "drop database if exists $DB"' EXIT
ask -c "create database $DB"
export PGDATABASE=$DB

{
	echo 'create schema data;'
	cat migrations/000[1-4]_*.sql
	cat <<-'SQL'
		insert into data.item (sku, title, price, currency, hold_seconds,
		    per_buyer) values ('U', 'U', 2500, 'EUR', 600, 1);
		insert into data.stock (item_id, bucket, total, sold)
		values (1, 1, 5, 1);
		insert into data.hold (id, buyer, amount, currency, state, reason,
		    created_at, expires_at, ended_at)
		select 'hld_' || lpad(n::text, 22, '0'), gen_random_uuid(), 2500,
		    'EUR', case n when 1 then 'paid' else 'released' end,
		    case when n > 1 then 'expired' end, now() - interval '1 h',
		    now() - interval '50 min', now()
		from generate_series(1, 5) n;
		insert into data.hold_line (hold_id, item_id, bucket, qty, price,
		    buyer, state, expires_at, lead)
		select hold_id, 1, 1, 1, 2500, buyer, state, expires_at, true
		from data.hold;
		insert into data.payment (hold_id, provider, key, amount, currency,
		    title, return_url, session_expires_at, state, session_id,
		    payment_ref, captured)
		select hold_id, 'stripe', 'cs-' || id, 2500, 'EUR', 'U', 'x', now(),
		    case hold_id when 1002 then 'mismatch' else 'paid' end,
		    'cs_' || hold_id, 'pi_' || hold_id,
		    case hold_id when 1002 then 5 else 2500 end
		from data.hold;
		insert into data.refund (payment_id, key, amount, reason, state,
		    refund_ref)
		select payment_id, 'refund-' || hold_id, 2500, 'paid_late',
		    case hold_id when 1004 then 'failed' else 'owed' end,
		    case hold_id when 1004 then 're_4' end
		from data.payment where hold_id > 1002;
		insert into data.outbox (kind, payment_id, key, next_try, stuck)
		select 'refund', payment_id, key, now(), key = 'refund-1003'
		from data.refund where state = 'owed';
		insert into data.event (provider, event_id, type, kind, hold,
		    session_id, payment_ref, refund_ref, amount, outcome, body)
		values
		('stripe', 'e1', 'x', 'dispute', null, null, 'pi_1001', null, 2500,
		    'person', '{"id": "evt_1", "type": "charge.dispute.created",
		    "object": {"id": "du_1", "status": "needs_response"}}'),
		('stripe', 'e1b', 'x', 'dispute', null, null, 'pi_1001', null, 900,
		    'person', '{"id":"evt_2","object":{"id":"dp_2",'
		    '"status":"warning_needs_response"}}'),
		('stripe', 'e1c', 'x', 'dispute', null, null, 'pi_1001', null, 900,
		    'person', '{"id":"dp_2","status":"warning_needs_response"}'),
		('stripe', 'e1e', 'x', 'dispute', null, null, 'pi_1005', null, 2500,
		    'person', '{"id":"dp_5","status":"needs_response"}'),
		('standard', 'e1d', 'x', 'dispute', null, null, 'pi_1001', null, 0,
		    'person', '{}'),
		('stripe', 'e2', 'x', 'paid', null, 'cs_1002', null, null, 5,
		    'person', 'x'),
		('stripe', 'e4', 'x', 'refund', null, null, 'pi_1004', 're_4', 2500,
		    'person', 'x'),
		('stripe', 'e5', 'x', 'refund', null, null, 'pi_9', 're_9', 1,
		    'person', 'x');
	SQL
	cat migrations/000[5-9]_*.sql
	echo 'create schema api; set check_function_bodies = off;'
	cat api/*.sql
} | ask

found=$(ask -c "select string_agg(kind || ' ' || coalesce(payment_id::text,
	'-'), ', ' order by kind, payment_id) from data.task" \
	-c 'select * from api.audit()' \
	-c "select key, stuck from data.outbox where done_at is null" \
	-c 'select late from data.item' \
	-c 'select ref, state, amount from data.dispute order by dispute_id' \
	-c "select subject from data.task where kind = 'dispute' order by 1" \
	-c "select api.event_replay(event_seq, 'e1', 't', 'dispute', null, null,
		null, 'pi_1001', 'du_1', 'lost', 2500, 'EUR', null)
		from data.event where event_id = 'e1'" \
	-c "select api.event_replay(event_seq, 'e1e', 't', 'dispute', null, null,
		null, 'pi_1005', 'dp_5', 'won', 2500, 'EUR', null)
		from data.event where event_id = 'e1e'" \
	-c "select key, stuck from data.outbox where done_at is null order by 1" \
	-c 'select * from api.audit()')
wanted='dispute 1, dispute 1, dispute 5, mismatch 2, refund_failed 4, stuck 3, unclear -, unclear -
refund-1003|t
{retake,allowance,refund}
dp_2|inquiry|900
du_1|open|2500
dp_5|open|2500
dispute 2
dispute 3
inquiry 1
person
applied
refund-1003|t
refund-1005|f'
if [ "$found" != "$wanted" ]; then
	diff <(echo "$wanted") <(echo "$found") >&2
	exit 1
fi
