-- The inbox: every delivery is kept, in the provider's bytes and in our words.
begin;
\ir lib/fixture.sql
select plan(27);

select is(api.payment_settle('stripe', 'e1', 'foo.bar', 'ignore', null, null,
    null, null, null, null, null, 'a type that is not needed', '\x00ff7b'),
    'ignored', 'C34: an unknown type is ignored');
select is(api.payment_settle('stripe', 'e2', 'foo', 'unusable', null, null,
    null, null, null, null, null, 'no data.object', '\x7b7d'), 'unusable',
    'C34: a signed one that cannot be used is kept');
select results_eq(
    $$select event_id, type, outcome, detail, body, deliveries
        from data.event order by event_seq$$,
    $$values ('e1', 'foo.bar', 'ignored', 'a type that is not needed',
            '\x00ff7b'::bytea, 1::bigint),
        ('e2', 'foo', 'unusable', 'no data.object', '\x7b7d', 1)$$,
    'both stand with their bytes and why');
select is(api.payment_settle('stripe', 'e1', 'foo.bar', 'ignore', null, null,
    null, null, null, null, null, null, '\x00'), 'repeat', 'again');
select is((select body from data.event where event_id = 'e1'), '\x00ff7b',
    'the first bytes stay');
select throws_ok($$select api.payment_settle('stripe', 'e3', 't', 'odd', null,
    null, null, null, null, null, null, null, 'x')$$, '23514', null,
    'a kind that there is not');
select throws_ok($$select api.payment_settle('stripe', null, 't', 'ignore',
    null, null, null, null, null, null, null, null, 'x')$$, '23502', null,
    'an event without an id');

-- What an event is matched by: the session, else the hold, else the payment.
select t.item('I', 9);
select t.take(n, n, 'I') from generate_series(1, 5) n;
select t.open(n, n) from generate_series(1, 5) n;
select is(api.payment_settle('stripe', 'm1', 't', 'paid', null, 'cs_1', null,
    null, null, 2500, 'EUR', null, 'x'), 'applied', 'by the session');
select is(api.payment_settle('stripe', 'm2', 't', 'paid', t.hid(2), null,
    'pi_2', null, null, 2500, 'EUR', null, 'x'), 'applied', 'by the hold');
select is(api.payment_settle('stripe', 'm2b', 't', 'dispute', null, null,
    'pi_2', null, null, 2500, 'EUR', null, 'x'), 'person', 'by the payment');
select is(api.payment_settle('stripe', 'm3', 't', 'paid', t.hid(4), 'cs_3',
    null, null, null, 2500, 'EUR', null, 'x'), 'applied',
    'the session goes before the hold');
select is(t.state(3) || t.state(4), 'paid (paid)held (held)', 'the session''s');
select is(api.payment_settle('other', 'm4', 't', 'expired', null, 'cs_4',
    null, null, null, null, null, null, 'x'), 'unmatched',
    'a session of another provider');
select is(api.payment_settle('stripe', 'm5', 't', 'expired', t.hid(4), 'cs_9',
    null, null, null, null, null, null, 'x'), 'unmatched',
    'another session for a hold ends nothing');
select is(t.state(4), 'held (held)', 'it is still held');
select is(api.payment_settle('stripe', 'm6', 't', 'paid', null, null, null,
    null, null, 2500, 'EUR', null, 'x'), 'unmatched', 'by nothing');
-- A session that no page of ours has told us of yet.
select t.take(6, 6, 'I'); select t.start(6, 6);
select is(t.event('m7', 'pending', 6), 'applied', 'the session is new to us');
select is((select session_id from data.payment where key = 'cs-' || t.hid(6)),
    'cs_6', 'its name is kept');

-- Applying once more changes nothing.
select is(api.event_apply((select event_seq from data.event
    where event_id = 'm1')), 'repeat', 'promise 5: an event applied again');
select is((select outcome from data.event where event_id = 'm1'), 'applied',
    'promise 5: its outcome stays what it was');
select is(t.stock('I'), '9+0 held 3 sold 3', 'promise 5: as does the stock');

-- Lists.
select is((select string_agg(e->>'event_id', ',') from json_array_elements(
    api.event_list('unmatched', 10)::json) e), 'm6,m5,m4',
    'event_list: of an outcome, the newest first');
select is(json_array_length(api.event_list(null, 2)::json), 2, 'so many');
select is((select string_agg(e->>'event', ',') from json_array_elements(
    api.order_show(t.hid(2))::json->'events') e), 'm2', 'order_show: its events');
select is(api.order_show('ord_' || (select hold_id from data.hold
    where id = t.hid(2)))::json->'hold'->>'id', t.hid(2),
    'an order is found by its number');
select is(api.order_show('ord_0'), null, 'or is not');
select t.clean();
select * from finish();
rollback;
