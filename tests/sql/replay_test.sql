-- Reading events again: at any time, in any number, nothing is done twice.
begin;
\ir lib/fixture.sql
select plan(32);
grant usage on schema t to lastpair_operator;

-- All that there is, but how often an event came.
create view t.dump as
select 'stock' as what, to_jsonb(x) as line from data.stock x
union all select 'hold', to_jsonb(x) from data.hold x
union all select 'line', to_jsonb(x) from data.hold_line x
union all select 'payment', to_jsonb(x) from data.payment x
union all select 'refund', to_jsonb(x) from data.refund x
union all select 'event', to_jsonb(x) - 'deliveries' from data.event x
union all select 'outbox', to_jsonb(x) from data.outbox x
union all select 'task', to_jsonb(x) from data.task x
union all select 'mail', to_jsonb(x) from data.mail x;

-- One event is read again, as it was read before unless said otherwise.
create function t.replay(id text) returns text language sql
return (select api.event_replay(e.event_seq, e.event_id, e.type, e.kind, e.key,
        e.hold, e.session_id, e.payment_ref, e.refund_ref, e.state, e.amount,
        e.currency, e.detail)
    from data.event e where e.event_id = id);

-- Every kind of event, with every kind of end.
select t.item('I', 50, per_buyer => 3); select t.item('ONE', 1);
select t.take(n, n, 'I') from generate_series(1, 12) n;
update data.hold set email = 'b' || hold_id || '@example.org';
select t.open(n, n) from generate_series(1, 9) n;
select t.event('paid1', 'paid', 1);
select t.settle('intent1', 'paid', t.hid(1), ref => 'pi_1', amount => 2500,
    currency => 'EUR');
select t.event('pending2', 'pending', 2); select t.event('paid2', 'paid', 2);
select t.event('pending3', 'pending', 3);
select t.event('failed3', 'failed', 3);
select t.event('expired4', 'expired', 4);
select t.event('short5', 'paid', 5, 2400);
select t.event('paid6', 'paid', 6);
select t.event('twin6', 'paid', 6, session => 'cs_6b', ref => 'pi_6b');
select t.refund_event('hand6', 'pi_6', 're_6', 'succeeded', 1000);
select t.event('paid7', 'paid', 7);
select t.refund_event('hand7', 'pi_7', 're_7', 'succeeded', 2500);
select t.event('paid8', 'paid', 8);
select t.dispute_event('open8', 'pi_8', 'open');
select t.dispute_event('won8', 'pi_8', 'won');
select t.event('paid9', 'paid', 9);
select t.dispute_event('open9', 'pi_9', 'open');
select t.dispute_event('lost9', 'pi_9', 'lost');
select t.event('early10', 'paid', 10); select t.start(10, 10);
select t.event('alien', 'paid', 999);
select t.refund_event('stray', 'pi_999', 're_999', 'succeeded', 1);
select t.settle('foo', 'ignore', type => 'foo.bar');
select t.settle('bad', 'unusable', detail => 'no data.object');
select t.open(11, 11); select t.event('none11', 'paid', 11, 0);
-- Late, no unit; its refund fails.
select t.take(20, 20, 'ONE'); select t.open(20, 20); select t.age(20);
select t.take(21, 21, 'ONE');
select t.event('late20', 'paid', 20);
select t.claim();
select api.cashier_refunded(t.call(20, 'refund'), 're_20', 'pending');
select t.refund_event('re20', 'pi_20', 're_20', 'succeeded', 2500);
select t.refund_event('re20b', 'pi_20', 're_20', 'failed', 2500);
select t.clean();

create table t.was as select * from t.dump;
select is((select count(*) from data.event where t.replay(event_id) is null),
    0::bigint, 'every event is read again');
select set_eq('select * from t.dump', 'select * from t.was',
    'promise 5: and changes nothing');
select count(t.replay(event_id)) from (select event_id from data.event
    order by event_seq desc) e;
select set_eq('select * from t.dump', 'select * from t.was',
    'promise 5: in the other order neither');
select is(t.replay('paid1'), 'repeat', 'money that came is a repeat');
select is(t.replay('hand7'), 'repeat', 'as is money that went');
select is(t.replay('open9'), 'repeat', 'and a dispute that is over');
select is(t.replay('alien'), 'unmatched', 'what is not ours still is not');
select is(t.replay('bad'), 'unusable', 'what cannot be read stays so');
select is(api.event_replay(0, 'x', 't', 'paid', null, null, null, null, null,
    null, null, null, null), null, 'there is no such event');

-- A better reader reads what could not be read before.
select t.take(30, 30, 'I'); select t.open(30, 30);
select t.settle('hash-of-body', 'unusable', type => 'unknown',
    detail => 'no data.object', body => '{"paid": 30}');
select is(t.tasks() ~ 'unclear', true, 'what cannot be read is a person''s');
set local role lastpair_operator;
select results_eq(
    $$select provider, event_id, body from api.event_replay_list(
        'hash-of-body', null, 0, 10)$$,
    $$values ('stripe', 'hash-of-body', '{"paid": 30}'::bytea)$$,
    'event_replay_list: by id, with its bytes');
select is((select api.event_replay(seq, 'evt_30', 'session', 'paid', null,
        'hld_0000000000000000000030', 'cs_30', 'pi_30', null, null, 2500,
        'EUR', null) from api.event_replay_list('hash-of-body', null, 0, 1)),
    'applied', 'read again, it is money');
reset role;
select is(t.state(30), 'paid (paid)', 'for goods');
select results_eq($$select type, kind, outcome, session_id, amount, body
    from data.event where event_id = 'evt_30'$$,
    $$values ('session', 'paid', 'applied', 'cs_30', 2500::bigint,
        '{"paid": 30}'::bytea)$$, 'the inbox has the new words, and the bytes');
select is((select note from data.task where subject = 'event '
    || (select event_seq from data.event where event_id = 'evt_30')),
    'read again', 'the task is settled');
select is(t.event('evt_30', 'paid', 30), 'repeat',
    'the provider tries again, under its own id');
-- Unless that one has come meanwhile.
select t.settle('hash-2', 'unusable', body => '{"paid": 30}');
select is((select api.event_replay(event_seq, 'evt_30', 'session', 'paid',
        null, t.hid(30), 'cs_30', 'pi_30', null, null, 2500, 'EUR', null)
    from data.event where event_id = 'hash-2'), 'repeat',
    'what has come by itself is not acted on again');
select is((select count(*) from data.event where event_id = 'evt_30'),
    1::bigint, 'nor is it in the inbox twice');
-- And what was ignored.
select t.take(31, 31, 'I'); select t.open(31, 31);
select t.settle('new', 'ignore', type => 'new.kind');
select is((select api.event_replay(event_seq, 'new', 'new.kind', 'paid', null,
        t.hid(31), 'cs_31', 'pi_31', null, null, 2500, 'EUR', null)
    from data.event where event_id = 'new'), 'applied',
    'a type that was ignored is understood now');
select is(t.state(31), 'paid (paid)', 'for goods, too');
-- Not backwards: a reader that has forgotten something.
select is((select api.event_replay(event_seq, 'new', 'new.kind', 'unusable',
        null, null, null, null, null, null, null, null, 'x')
    from data.event where event_id = 'new'), 'applied',
    'a worse reading is not stored');
select is((select kind from data.event where event_id = 'new'), 'paid',
    'the better one stays');

-- What there is to read.
select is((select count(*) from api.event_replay_list(null, null, 0, 1000)),
    (select count(*) from data.event), 'event_replay_list: all');
select is((select string_agg(event_id, ',') from api.event_replay_list(null,
    'unmatched', 0, 10)), 'alien,stray', 'event_replay_list: of an outcome');
select is((select string_agg(event_id, ',') from api.event_replay_list(null,
    'unmatched', (select event_seq from data.event where event_id = 'alien'),
    10)), 'stray', 'event_replay_list: after one');
select is((select count(*) from api.event_replay_list(null, null, 0, 3)),
    3::bigint, 'event_replay_list: so many');
select is((select event_id from api.event_replay_list((select event_seq::text
    from data.event where event_id = 'new'), null, 0, 9)), 'new',
    'event_replay_list: by its number');

-- How the inbox looks to the operator.
select is((api.event_counts()::json->>'unmatched')::integer, 2,
    'event_counts: two of them wait');
select is(api.event_show('paid1')::json->>'body', 'x', 'event_show: its bytes');
select is(api.event_show('nope'), null, 'event_show: none');
select t.clean();
select * from finish();
rollback;
