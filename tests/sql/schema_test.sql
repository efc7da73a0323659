-- The tables are those of sql/schema.sql; time and place do not matter.
begin;
\ir lib/fixture.sql
select plan(32);

-- The committed dump: run `tests/sql/schema.sh --write` after a migration.
\set diff `PGHOST=:'HOST' PGPORT=:'PORT' PGUSER=:'USER' PGDATABASE=:'DBNAME' tests/sql/schema.sh --compare 2>&1`
select is(:'diff'::text, '', 'sql/schema.sql is what the migrations make');

-- Every function is of plain names: no dynamic SQL, no trigger.
select is_empty($$select proname from pg_proc
    where pronamespace = 'api'::regnamespace
        and (prorettype = 'trigger'::regtype
            or prosrc ~* '\mexecute\M\s+(format|''|\$)')$$,
    'no function makes SQL of text');
select is_empty($$select tgname from pg_trigger join pg_class c
        on c.oid = tgrelid
    where c.relnamespace = 'data'::regnamespace and not tgisinternal$$,
    'no trigger stands in for a rule');
select is_empty($$select table_name, column_name
    from information_schema.columns
    where table_schema = 'data' and (data_type ~ 'without time zone'
        or data_type in ('real', 'double precision', 'money', 'numeric'))$$,
    'C55: every time has a zone; no amount is a fraction');
select is_empty($$select table_name, column_name
    from information_schema.columns
    where table_schema = 'data' and is_identity = 'YES'
        and data_type <> 'bigint'$$, 'C56: every id has 64 bits');
select is_empty($$select c.relname, a.attname
    from pg_constraint f join pg_class c on c.oid = f.conrelid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = f.conkey[1]
    where f.contype = 'f' and c.relnamespace = 'data'::regnamespace
        -- A task is asked for by its hold, a mail when it is due.
        and c.relname not in ('item_change', 'hold_line', 'task', 'mail')
        and not exists (select from pg_index i where i.indrelid = c.oid
            and i.indkey[0] = a.attnum)
        and not exists (select from pg_index i where i.indrelid = c.oid
            and i.indisunique and a.attnum = any (i.indkey))$$,
    'what refers to a row can be found by it');

-- Promise 2 and 5: what is unique for ever.
select col_is_unique('data', tab, cols,
    format('%s: one row per %s', tab, cols))
from (values ('item', '{sku}'::name[]), ('hold', '{id}'), ('hold', '{key}'),
    ('payment', '{key}'), ('payment', '{provider,session_id}'),
    ('payment', '{hold_id,attempt}'),
    ('refund', '{key}'), ('refund', '{refund_ref}'),
    ('event', '{provider,event_id}'), ('task', '{kind,subject}'),
    ('mail', '{task_id}'))
    u (tab, cols);

-- C55: the session's time zone changes no instant.
create function t.zone(zone text, n integer) returns interval
language plpgsql as $$
declare
    wait interval;
begin
    perform set_config('TimeZone', zone, true);
    perform t.take(n, n, 'ZONE');
    perform t.start(n, n);
    select h.expires_at - clock_timestamp() into wait
    from data.hold h where h.id = t.hid(n);
    return wait;
end
$$;
select t.item('ZONE', 9);
select ok(t.zone(zone, n::integer) between interval '598 seconds'
    and interval '600 seconds', 'C55: a hold lasts 600 s in ' || zone)
from unnest('{UTC,Asia/Kolkata,America/New_York,Europe/Berlin}'::text[])
    with ordinality z (zone, n);
set local timezone = 'Asia/Kolkata';
select is(t.doc(2)->>'expires_at', to_char((select expires_at
    from data.hold where id = t.hid(2)) at time zone 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'C55: shown in UTC all the same');
select cmp_ok((select max(abs(extract(epoch from p.session_expires_at
        - h.expires_at) - 1860)) from data.payment p
    join data.hold h using (hold_id)), '<', 5::numeric,
    'C55: every page ends 31 minutes after its hold');
select is(api.iso('2026-10-25 00:55:00+00'), '2026-10-25T00:55:00.000Z',
    'C55: before the clocks go back');
select is(api.iso(timestamptz '2026-10-25 00:55:00+00' + interval '600 s'),
    '2026-10-25T01:05:00.000Z', 'C55: and ten minutes later');
select api.item_add('BERLIN', 'Berlin', 100, 'EUR', 1, 0, 600, 1, 1,
    '2026-10-25T10:00:00 Europe/Berlin', null, '{refund}');
select is((select api.iso(opens_at) from data.item where sku = 'BERLIN'),
    '2026-10-25T09:00:00.000Z', 'C55: 10:00 in Berlin that day is 09:00 UTC');
select is(api.item_show('BERLIN')::json->>'opens_at',
    '2026-10-25T09:00:00.000Z', 'C55: and so it is shown');

-- What is left of a time.
select is(api.ms_until('2026-01-01 00:00:01Z', '2026-01-01Z'), 1000::bigint,
    'a second is left');
select is(api.ms_until('2026-01-01 00:00:00.0001Z', '2026-01-01Z'), 1::bigint,
    'a part of a millisecond counts as one');
select is(api.ms_until('2026-01-01Z', '2026-01-02Z'), 0::bigint,
    'the past is never negative');
select is(api.ms_until(null, '2026-01-02Z'), null, 'no time, no wait');
select t.clean();
select * from finish();
rollback;
