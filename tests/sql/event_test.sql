-- The inbox: every delivery is kept, in the provider's bytes and in our words.
begin;
\ir lib/fixture.sql
select plan(33);

select is(t.settle('e1', 'ignore', type => 'foo.bar',
    detail => 'a type that is not needed', body => '\x00ff7b'),
    'ignored', 'C34: an unknown type is ignored');
select is(t.settle('e2', 'unusable', type => 'foo', detail => 'no data.object',
    body => '\x7b7d'), 'unusable',
    'C34: a signed one that cannot be used is kept');
select results_eq(
    $$select event_id, type, outcome, detail, body, deliveries
        from data.event order by event_seq$$,
    $$values ('e1', 'foo.bar', 'ignored', 'a type that is not needed',
            '\x00ff7b'::bytea, 1::bigint),
        ('e2', 'foo', 'unusable', 'no data.object', '\x7b7d', 1)$$,
    'both stand with their bytes and why');
select is(t.settle('e1', 'ignore', type => 'foo.bar', body => '\x00'),
    'repeat', 'again');
select is((select body from data.event where event_id = 'e1'), '\x00ff7b',
    'the first bytes stay');
select is(t.tasks(), 'unclear', 'what cannot be used is a person''s');
select throws_ok($$select t.settle('e3', 'odd')$$, '23514', null,
    'a kind that there is not');
select throws_ok($$select t.settle(null, 'ignore')$$, '23502', null,
    'an event without an id');

-- What an event is matched by: the session, else the hold, else the payment.
select t.item('I', 9);
select t.take(n, n, 'I') from generate_series(1, 5) n;
select t.open(n, n) from generate_series(1, 5) n;
select is(t.settle('m1', 'paid', session => 'cs_1', amount => 2500,
    currency => 'EUR'), 'applied', 'by the session');
select is(t.settle('m2', 'paid', t.hid(2), ref => 'pi_2', amount => 2500,
    currency => 'EUR'), 'applied', 'by the hold');
select is(t.dispute_event('m2b', 'pi_2', 'open'), 'person', 'by the payment');
select is(t.settle('m3', 'paid', t.hid(4), 'cs_3', amount => 2500,
    currency => 'EUR'), 'applied', 'the session goes before the hold');
select is(t.state(3) || t.state(4), 'paid (paid)held (held)', 'the session''s');
select is(t.settle('m4', 'expired', session => 'cs_4', provider => 'other'),
    'unmatched', 'a session of another provider');
select is(t.settle('m5', 'expired', t.hid(4), 'cs_9'), 'ignored',
    'another session for a hold ends nothing');
select is(t.state(4), 'held (held)', 'it is still held');
select is(t.settle('m6', 'paid', amount => 2500, currency => 'EUR'),
    'unmatched', 'by nothing');
select is(t.settle('m7', 'paid', amount => 2500, currency => 'EUR',
    key => 'cs-' || t.hid(5)), 'applied', 'by our key');
select is(t.settle('m8', 'look', session => 'cs_4'), 'applied',
    'a hint that there is news');
select is((select kind || ' ' || key || ' ' || session_id from t.claim()),
    'fetch fetch-cs-' || t.hid(4) || ' cs_4', 'makes the cashier look it up');
select api.cashier_done(t.call(4, 'fetch'));
select is(t.settle('m9', 'look', session => 'cs_4'), 'applied', 'another');
select is((select count(*) from t.claim()), 1::bigint, 'makes it look again');
select api.cashier_done(t.call(4, 'fetch'));
-- A session that no page of ours has told us of yet.
select t.take(6, 6, 'I'); select t.start(6, 6);
select is(t.event('m10', 'pending', 6), 'applied', 'the session is new to us');
select is((select session_id from data.payment where key = 'cs-' || t.hid(6)),
    'cs_6', 'its name is kept');

-- Applying once more changes nothing.
select is(api.event_apply((select event_seq from data.event
    where event_id = 'm1')), 'repeat', 'promise 5: an event applied again');
select is((select outcome from data.event where event_id = 'm1'), 'applied',
    'promise 5: its outcome stays what it was');
select is(t.stock('I'), '9+0 held 2 sold 4', 'promise 5: as does the stock');

-- Lists.
select is((select string_agg(e->>'event_id', ',') from json_array_elements(
    api.event_list('unmatched', 10)::json) e), 'm6,m4',
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
