-- The provider's books against ours: pages and their cursor, what differs in
-- either direction, what is asked, what becomes of it.
begin;
\ir lib/fixture.sql
select plan(98);

-- A run begun by one who holds "a"; it looks back 30 days.
create function t.begin(
    repair boolean default false, holder text default 'a',
    back bigint default 2592000, restart boolean default false)
returns text language sql
return (select outcome from api.reconcile_begin('stripe', null, back, 0, 0,
    repair, restart, 'tester', holder, 60000));

create function t.run() returns bigint language sql
return (select max(run_id) from data.reconcile_run);

-- A page of things, each as text: 'kind,key,hold,session,payment,refund,
-- state,amount,currency', with nothing for NULL. Its id is its place.
create function t.page(
    which text, cursor text, next text, variadic things text[])
returns text language sql
return (select concat_ws(' ', case when not p.kept then 'lost' end, p.list,
        p.cursor)
    from (select array_agg('evt_' || f[10]) as ids, array_agg(f[1]) as kinds,
            array_agg(nullif(f[2], '')) as keys,
            array_agg(nullif(f[3], '')) as holds,
            array_agg(nullif(f[4], '')) as sessions,
            array_agg(nullif(f[5], '')) as payments,
            array_agg(nullif(f[6], '')) as refunds,
            array_agg(nullif(f[7], '')) as states,
            array_agg(nullif(f[8], '')::bigint) as amounts,
            array_agg(nullif(f[9], '')) as currencies
        from (select string_to_array(thing, ',') || coalesce(
                    nullif(split_part(thing, ',', 10), ''), nr::text)
                from unnest(things) with ordinality u (thing, nr)
                where thing <> '') u (f)) a
    cross join api.reconcile_page(t.run(), 'a', 60000, which, cursor, next,
        coalesce(a.ids, '{}'), coalesce(a.kinds, '{}'), a.keys, a.holds,
        a.sessions, a.payments, a.refunds, a.states, a.amounts,
        a.currencies) p);

-- Whole lists, and then the comparison.
create function t.listed(
    sessions text[], refunds text[] default '{}', events text[] default '{}')
returns void language plpgsql as $$
begin
    perform t.page('sessions', null, null, variadic sessions);
    perform t.page('refunds', null, null, variadic refunds);
    perform t.page('events', null, null, variadic events);
end
$$;

create function t.compare(grace bigint default 0) returns text language sql
return (select concat_ws(' ', case when not kept then 'lost' end, differ)
    from api.reconcile_compare(t.run(), 'a', 60000, grace));

create function t.found() returns setof text language sql
begin atomic
    select concat_ws(' | ', d.what, d.subject, d.here, d.there)
    from data.reconcile_difference d
    where d.run_id = t.run() and d.ended_at is null
    order by d.difference_id;
end;

-- What would be asked next.
create function t.next(grace bigint default 0) returns text language sql
return (select concat_ws(' ', event_id, refund_ref, session_id)
    from api.reconcile_next(t.run(), 'a', 60000, grace));

-- The provider says this of the next one.
create function t.heard(thing text, outcome text default null)
returns boolean language plpgsql as $$
declare
    f text[] := string_to_array(thing, ',');
    none text[] := '{}';
    target bigint := (select difference_id
        from api.reconcile_next(t.run(), 'a', 60000, 0));
begin
    if thing is null then
        return api.reconcile_heard(t.run(), 'a', 60000, target, outcome,
            none, none, none, none, none, none, none, none, '{}', none);
    end if;
    return api.reconcile_heard(t.run(), 'a', 60000, target, outcome,
        '{look}', array[f[1]], array[nullif(f[2], '')],
        array[nullif(f[3], '')], array[nullif(f[4], '')],
        array[nullif(f[5], '')], array[nullif(f[6], '')],
        array[nullif(f[7], '')], array[nullif(f[8], '')::bigint],
        array[nullif(f[9], '')]);
end
$$;

create function t.finish() returns text language sql
return (select concat_ws(' ', case when not kept then 'lost' end, differ,
    repaired) from api.reconcile_finish(t.run(), 'a', 60000));

-- Everything of ours happened some days ago.
create function t.past() returns void language sql
begin atomic
    update data.payment set created_at = created_at - interval '2 days',
        opened_at = opened_at - interval '2 days',
        paid_at = paid_at - interval '2 days';
    update data.refund set created_at = created_at - interval '2 days';
end;

create function t.session(hold integer, kind text default 'paid',
    amount bigint default 2500, currency text default 'EUR') returns text
language sql
return format('%s,cs-%s,%s,cs_%s,pi_%s,,,%s,%s', kind, t.hid(hold),
    t.hid(hold), hold, hold, amount, currency);

create function t.refund(name text, hold integer, state text,
    amount bigint default 2500, key text default '', currency text
    default 'EUR') returns text
language sql
return format('refund,%s,,,pi_%s,%s,%s,%s,%s', key, hold, name, state, amount,
    currency);

-- Pages.
select t.item('A', 100, 9);
select is(t.begin(), 'begun', 'a run begins');
select is(t.begin(holder => 'b'), 'busy', 'one at a time');
select ok((select lease_ms between 59000 and 60000
    from api.reconcile_begin('stripe', null, 1, 0, 0, false, false, 'x', 'b',
        60000)), 'and it says how long');
select is((select outcome from api.reconcile_begin('standard', null, 1, 0, 0,
    false, false, 'x', 'b', 60000)), 'begun', 'of each provider');
select api.reconcile_release(t.run(), 'b');
delete from data.reconcile_run where provider = 'standard';
select is(t.begin(), 'resumed', 'its own it may go on with');
select is(t.page('sessions', null, 'p2', t.session(901)), 'sessions p2',
    'a page, and where the next begins');
select is(t.page('sessions', null, 'p2', t.session(901)), 'sessions p2',
    'the same page again moves nothing');
select is((select sessions from data.reconcile_run
    where run_id = t.run()), 1::bigint, 'nor counts');
update data.reconcile_run set lease_until = clock_timestamp();
select is((select outcome from api.reconcile_begin('stripe', null, 2592000,
    0, 0, false, false, 'x', 'b', 60000)), 'resumed',
    'when its lease is over another goes on');
select is(t.page('sessions', 'p2', null, t.session(902)),
    'lost', 'and who was at it is told so');
select is(t.compare(), 'lost', 'at the comparison, too');
select is(t.finish(), 'lost', 'and at the end');
select is(api.reconcile_heard(t.run(), 'a', 1, 1, null, '{}', '{}', '{}',
    '{}', '{}', '{}', '{}', '{}', '{}', '{}'), false, 'and when it heard');
select is((select format('%s %s %s %s', outcome, list, cursor, listed)
    from api.reconcile_begin('stripe', null, 2592000, 0, 0, false, false, 'x',
        'b', 60000)), 'resumed sessions p2 1', 'where it was');
select api.reconcile_release(t.run(), 'b');
select is(t.begin(), 'resumed', 'who stops gives the lease back');
select is(t.page('sessions', 'p2', null, t.session(902)), 'refunds',
    'the last page of the sessions');
select is(t.page('refunds', null, null, ''), 'events', 'no refunds');
select is(t.page('events', null, null, ''), '', 'no events: all is read');
select is((select count(*) from data.reconcile_statement
    where run_id = t.run()), 2::bigint, 'the statement has both');
select is(t.begin(restart => true), 'begun', '--restart begins anew');
select is((select count(*) from data.reconcile_statement), 0::bigint,
    'and the old statement goes');
select is(t.begin(back => 2592000 + 86400), 'begun',
    'who wants to look back further begins anew');
select is(t.begin(back => 86400), 'resumed', 'less far: goes on');
update data.reconcile_run set started_at = started_at - interval '16 minutes'
where state = 'running';
select is(t.begin(back => 86400), 'begun', 'an old one is not gone on with');
select is((select count(*) from data.reconcile_run where state = 'running'),
    1::bigint, 'there is one');

-- How far back.
select t.listed('{}');
select t.compare();
select is(t.finish(), '0 0', 'nothing there, nothing here: they agree');
create function t.back(at_least bigint) returns interval language sql
return (select date_trunc('day', clock_timestamp() + interval '1 hour'
    - api.reconcile_since('stripe', null, null, at_least, clock_timestamp())));
select is(t.back(0), interval '1 day', 'a day before the last run');
select is(t.back(3 * 86400), interval '3 days', 'at least three at a start');
update data.reconcile_run set started_at = started_at - interval '20 days';
select is(t.back(3 * 86400), interval '21 days', 'after a pause: all of it');
update data.reconcile_run set started_at = started_at - interval '20 days';
select is(t.back(3 * 86400), interval '30 days', 'at most 30');
delete from data.reconcile_run;
select is(t.back(0), interval '30 days', 'the first time, too');
select is(api.reconcile_since('stripe', '2026-01-01Z', 5, 5, '2026-02-01Z'),
    '2026-01-01Z'::timestamptz, 'or from a moment on');

-- Both agree: 1 paid, 2 paid and given back, 3 not paid, 4 of another amount.
select t.take(n, n, 'A') from generate_series(1, 12) n;
select t.open(n, n) from generate_series(1, 12) n;
select t.event('evt_p1', 'paid', 1);
select t.event('evt_p2', 'paid', 2);
select t.refund_event('evt_r2', 'pi_2', 're_2', 'succeeded', 2500);
select t.past();
select t.begin();
select t.listed(array[t.session(1), t.session(2),
    'paid,,,cs_other,pi_other,,,999,USD'],
    array[t.refund('re_2', 2, 'succeeded'),
        'refund,,,,pi_other,re_other,succeeded,999,USD'],
    array['paid,,,cs_other,pi_other,,,999,USD', 'ignore,,,,,,,,']);
select is(t.compare(), '0', 'what is there is here; others'' things are not ours');
select is(t.finish(), '0 0', 'they agree');
select is(api.reconcile_show('stripe', null)::json->>'sessions', '3',
    'all that was listed is counted');
select is((select count(*) from data.reconcile_statement), 0::bigint,
    'the statement goes with the end');

-- Money there and not here.
select t.begin();
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(4, 'pending'), t.session(99)],
    array[t.refund('re_2', 2, 'succeeded')]);
select is(t.compare(60000), '3', 'three differ');
select set_eq('select t.found()', array[
    'paid_there | cs_3 | open | paid 2500 EUR',
    'pending_there | cs_4 | open | pending 2500 EUR',
    'paid_there | cs_99 | nothing | paid 2500 EUR'],
    'paid, on its way, and of no order of ours');
select is(t.next(60000), '', 'their news may be under way: not asked yet');
select ok((select wait_ms between 58000 and 60000
    from api.reconcile_compare(t.run(), 'a', 60000, 60000)),
    'and it says for how long');
update data.payment set session_expires_at = clock_timestamp()
    - interval '2 hours' where session_id = 'cs_3';
delete from data.reconcile_difference;
select t.compare(60000);
select is(t.next(60000), 'cs_3', 'of a page that ended long ago it is not');
select t.event('evt_p4', 'pending', 4);
select is(t.compare(), '2', 'the webhook came: no difference it was');
select is((select count(*) from data.reconcile_difference
    where subject = 'cs_4'), 0::bigint, 'and none is kept');
select is(t.next(), 'cs_3', 'the provider is asked for the session');
select ok(t.heard(t.session(3)), 'it says the same');
select is(t.next(), 'cs_99', 'each is asked for once');
select ok(t.heard(null), 'there is no such session any more');
select is(t.next(), '', 'then none is left to ask for');
select is(t.compare(), '2', 'without repair they differ');
select is(t.finish(), '2 0', 'and that is said');
select is_empty('select * from data.task', 'nobody has to settle it');

-- The same, repaired.
select t.begin(repair => true);
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(4, 'pending'), t.session(99)],
    array[t.refund('re_2', 2, 'succeeded')],
    array['paid,,' || t.hid(3) || ',cs_3,pi_3,,,2500,EUR,x3']);
select is(t.compare(), '3', 'money, and an event that did not reach us');
select ok(t.heard(t.session(3), t.event('look_3', 'paid', 3)),
    'applied like a webhook');
select is(t.state(3), 'paid (paid)', 'the order is paid');
select ok(t.heard(t.session(99), t.event('look_99', 'paid', 99)),
    'so is the other');
select is(t.next(), 'evt_x3', 'money first, then the news');
select ok(t.heard(null, t.event('evt_x3', 'paid', 3)), 'it is in the inbox');
select is(t.compare(), '1', 'one is left');
select is(t.finish(), '1 2', 'two are repaired');
select set_eq('select subject || '': '' || detail from data.task',
    array['paid_there cs_99: here: nothing; at the provider: paid 2500 EUR'],
    'what is left is a task');
select is((select count(*) from json_array_elements(
    api.reconcile_show('stripe', null)::json->'differences') d
    where d->>'state' = 'repaired'), 2::bigint, 'what was repaired is told');
select is(api.task_settle((select task_id from data.task), 'known', 'me'),
    'done', 'somebody settles it');
select t.begin(repair => true);
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(4, 'pending'), t.session(99)],
    array[t.refund('re_2', 2, 'succeeded')]);
select is(t.compare(), '0', 'what was settled as it is does not differ');
select t.finish();
select t.begin(repair => true);
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(4, 'pending'), t.session(99, amount => 2600)],
    array[t.refund('re_2', 2, 'succeeded')]);
select is(t.compare(), '1', 'unless it changed');
select t.finish();
select is((select settled_at from data.task), null, 'then it is open again');
delete from data.mail;
delete from data.task where kind = 'difference';

-- Amounts, and money here that is not there.
select t.event('evt_p5', 'paid', 5, 3000);
select t.event('evt_p6', 'paid', 6);
select t.event('evt_p7', 'paid', 7);
select t.past();
update data.payment set captured = 2400 where session_id = 'cs_1';
select t.begin(repair => true);
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(5, amount => 3000), t.session(6, currency => 'USD')],
    array[t.refund('re_2', 2, 'succeeded')]);
select is(t.compare(), '4', 'four differ');
select set_eq('select t.found()', array[
    'amount | cs_1 | paid 2400 of 2500 EUR | paid 2500 EUR',
    'amount | cs_5 | paid 3000 of 2500 EUR | paid 3000 EUR',
    'amount | cs_6 | paid 2500 of 2500 EUR | paid 2500 USD',
    'paid_here | cs_7 | paid 2500 EUR | nothing'],
    'in the amount, in the currency, and what is not there');
select is(t.next(), 'cs_1', 'it is asked for');
select t.heard(t.session(1), 'repeat');
select t.heard(t.session(5, amount => 3000), 'repeat');
select t.heard(t.session(6, currency => 'USD'), 'repeat');
select is(t.next(), 'cs_7', 'and what was not listed');
select t.heard(t.session(7), 'repeat');
select is(t.compare(), '3', 'it was paid after its page had gone by');
select is(t.finish(), '3 1', 'three are left');
select set_eq('select kind || '' '' || subject from data.task',
    array['mismatch ' || (select subject from data.task
        where kind = 'mismatch'), 'difference amount cs_1',
        'difference amount cs_6'], 'a mismatch is on the list once');
update data.payment set captured = 2500 where session_id = 'cs_1';
update data.hold set created_at = created_at - interval '2 minutes';
select t.begin(repair => true);
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(5, amount => 3000), t.session(6), t.session(7)],
    array[t.refund('re_2', 2, 'succeeded')]);
select is(t.compare(), '1', 'all but the mismatch agree');
select t.finish();
select is_empty($$select * from data.task where kind = 'difference'
    and settled_at is null$$, 'the tasks of those that agree are settled');
update data.payment set paid_at = clock_timestamp()
where session_id = 'cs_7';
select t.begin();
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(5, amount => 3000), t.session(6)],
    array[t.refund('re_2', 2, 'succeeded')]);
select is(t.compare(), '1', 'what was paid just now is not looked for');
select t.finish();
update data.payment set paid_at = clock_timestamp() - interval '40 days',
    opened_at = clock_timestamp() - interval '40 days'
where session_id = 'cs_7';
select t.begin();
select t.listed(array[t.session(1), t.session(2), t.session(3),
    t.session(5, amount => 3000), t.session(6)],
    array[t.refund('re_2', 2, 'succeeded')]);
select is(t.compare(), '1', 'nor what the lists do not go back to');
select t.finish();
delete from data.mail;
delete from data.task where kind = 'difference';

-- Refunds: 8 has one of ours that is owed, 9 one that is pending, 10 none,
-- 11 one that succeeded here. What was above lies before the lists.
update data.payment set paid_at = clock_timestamp() - interval '40 days',
    opened_at = clock_timestamp() - interval '40 days';
update data.refund set created_at = clock_timestamp() - interval '40 days';
select t.event('evt_p' || n, 'paid', n) from generate_series(8, 11) n;
select api.order_refund(t.hid(8), 2500, 'me');
select t.refund_event('evt_r9', 'pi_9', 're_9', 'pending', 1000);
select t.refund_event('evt_r11', 'pi_11', 're_11', 'succeeded', 2500);
update data.payment set paid_at = paid_at - interval '2 days',
    opened_at = clock_timestamp() - interval '2 days'
where session_id in ('cs_8', 'cs_9', 'cs_10', 'cs_11');
update data.refund set created_at = created_at - interval '2 days'
where created_at > clock_timestamp() - interval '1 day';
create function t.refunds(repair boolean, variadic things text[])
returns text language plpgsql as $$
begin
    perform t.begin(repair => repair, restart => true);
    perform t.listed(array[t.session(8), t.session(9), t.session(10),
        t.session(11)], things);
    return t.compare();
end
$$;
select is(t.refunds(false,
    t.refund('re_8', 8, 'succeeded', 2500, 'refund-' || t.hid(8)),
    t.refund('re_9', 9, 'succeeded', 1000),
    t.refund('re_10', 10, 'succeeded', 500),
    t.refund('re_12', 10, 'pending', 500, currency => 'USD'),
    t.refund('re_11', 11, 'pending')), '5', 'five refunds differ');
select set_eq('select t.found()', array[
    'refund_state | re_8 | owed | succeeded',
    'refund_state | re_9 | pending | succeeded',
    'refund_state | re_11 | succeeded | pending',
    'refund_there | re_10 | nothing | succeeded 500 EUR',
    'refund_there | re_12 | nothing | pending 500 USD'],
    'ours is known by its key, others by the payment');
select is((select count(*) from data.reconcile_difference
    where run_id = t.run() and fresh_since is null), 1::bigint,
    'of one ours is ahead, so the page is old; the news of four may come');
select is((select format('%s %s %s %s', refund_ref, payment_ref, key, hold)
    from api.reconcile_next(t.run(), 'a', 60000, 60000)),
    format('re_11 pi_11 cs-%s %s', t.hid(11), t.hid(11)),
    'the refund is asked for, by all its names');
select t.heard(t.refund('re_11', 11, 'succeeded'));
select is(t.compare(), '4', 'the page was old');
select is(t.refunds(true,
    t.refund('re_8', 8, 'succeeded', 2500, 'refund-' || t.hid(8)),
    t.refund('re_9', 9, 'succeeded', 1000),
    t.refund('re_10', 10, 'succeeded', 500),
    t.refund('re_11', 11, 'succeeded', 2600)), '4',
    'one agrees but for its amount');
create function t.apply(refund text, hold integer, amount bigint)
returns boolean language sql
return t.heard(t.refund(refund, hold, 'succeeded', amount), t.refund_event(
    'look_' || refund, 'pi_' || hold, refund, 'succeeded', amount));
select set_eq($$select d.subject from data.reconcile_difference d
    where run_id = t.run() and what = 'refund_amount'$$, '{re_11}'::text[],
    'that one');
select t.apply(t.next(), replace(t.next(), 're_', '')::integer, case t.next()
    when 're_8' then 2500 when 're_9' then 1000 when 're_10' then 500
    else 2600 end)
from generate_series(1, 4);
select is(t.compare(), '1', 'three are repaired');
select is(t.finish(), '1 3', 'and told');
select is((select string_agg(concat_ws(' ', r.refund_ref, r.state, r.reason),
        ', ' order by r.refund_ref) from data.refund r
    where r.refund_ref in ('re_8', 're_9', 're_10')),
    're_10 succeeded at_provider, re_8 succeeded asked_for, '
    || 're_9 succeeded at_provider', 'ours and the dashboard''s');
select set_eq($$select subject from data.task where kind = 'difference'$$,
    array['refund_amount re_11'], 'the amount is somebody''s task');
update data.refund set created_at = clock_timestamp() - interval '2 days'
where refund_ref = 're_10';
select is(t.refunds(false, t.refund('re_9', 9, 'succeeded', 1000),
    t.refund('re_8', 8, 'succeeded'), t.refund('re_11', 11, 'succeeded')),
    '1', 'one of ours is not there');
select set_eq('select t.found()',
    '{"refund_here | re_10 | succeeded 500 EUR | nothing"}'::text[],
    'it is said');
select is(t.next(), 're_10', 'and asked for');
select t.heard(null);
select is(t.compare(), '1', 'it is not there');
update data.reconcile_run set repair = true where run_id = t.run();
select is(t.finish(), '1 0', 'that is a task');
select is(t.refunds(false, t.refund('re_9', 9, 'succeeded', 1000),
    t.refund('re_8', 8, 'succeeded'), t.refund('re_11', 11, 'succeeded')),
    '1', 'the next time it still differs');
select is(t.next(), '', 'but it is not asked for again');
select t.finish();

-- A page that was opened twice, because no answer came: the money that came
-- through its twin is known by the provider's name for the payment.
update data.payment set session_id = null, key = 'found-pi_11'
where session_id = 'cs_11';
select is(t.refunds(false, t.refund('re_9', 9, 'succeeded', 1000),
    t.refund('re_8', 8, 'succeeded'), t.refund('re_10', 10, 'succeeded', 500),
    t.refund('re_11', 11, 'succeeded')), '0', 'a twin is known');
select t.finish();
update data.payment set session_id = 'cs_11', key = 'cs-' || t.hid(11)
where key = 'found-pi_11';

-- A second refund under our key is no refund of ours that is known.
select is(t.refunds(false, t.refund('re_9', 9, 'succeeded', 1000),
    t.refund('re_8', 8, 'succeeded', 2500, 'refund-' || t.hid(8)),
    t.refund('re_8x', 8, 'succeeded', 2500, 'refund-' || t.hid(8)),
    t.refund('re_10', 10, 'succeeded', 500),
    t.refund('re_11', 11, 'succeeded')), '1', 'sent twice');
select set_eq('select t.found()',
    '{"refund_there | re_8x | nothing | succeeded 2500 EUR"}'::text[],
    'is seen');
select t.finish();

select t.clean();
select * from finish();
rollback;
