-- What waits for a person: each matter once, until it is settled, by itself or
-- by somebody; and calls that are made once more.
begin;
\ir lib/fixture.sql
select plan(67);
grant usage on schema t to lastpair_operator;

-- The newest task, and one of its words.
create function t.task() returns bigint language sql
return (select max(task_id) from data.task);
create function t.word(which text) returns text language sql
return (select task->>which from json_array_elements(
    api.task_list(true)::json) task
    where (task->>'task')::bigint = t.task());

-- A call that the provider does not answer.
select is(api.task_list(true), '[]', 'nothing waits');
select t.late(1);
select is((select key from t.claim()), 'refund-' || t.hid(1),
    'a refund is due');
select is(api.cashier_retry(t.call(1, 'refund'), 'no answer', 0, 2), false,
    'no answer: once more');
select is(t.tasks(), null, 'which is nobody''s business');
select is((select try from t.claim()), 2, 'the second try');
select is(api.cashier_retry(t.call(1, 'refund'), 'no answer', 0, 2), true,
    'no answer: given up');
select is(t.tasks(), 'stuck', 'a person is told');
select is(t.word('subject'), 'call ' || t.call(1, 'refund'), 'of which call');
select is(t.word('hold') || ' ' || t.word('order'), t.hid(1) || ' ord_'
    || (select hold_id from data.hold where id = t.hid(1)), 'and which order');
select is(t.word('detail'), 'refund, 2 tries: no answer', 'and why');
select matches(t.word('created_at'), '^\d{4}-.*Z$', 'and since when');
select is(t.word('settled_at'), null, 'it is open');
select is((select count(*) from data.mail where kind = 'task'), 1::bigint,
    'by mail, too');
select is(api.cashier_retry(t.call(1, 'refund'), 'no answer', 0, 2), false,
    'what is given up is not given up again');
select is((select count(*) from t.claim()), 0::bigint, 'nor made');

-- Once more, by the same key.
set local role lastpair_operator;
select is(api.task_retry(0, 'ann'), 'no-such-task', 'task_retry: none');
select is(api.task_retry(t.task, 'ann'), 'done', 'task_retry: done')
from (select (task->>'task')::bigint as task from json_array_elements(
    api.task_list(false)::json) task) t;
select is(api.task_list(false), '[]', 'nothing waits any more');
reset role;
select is(t.word('settled_by') || ': ' || t.word('note'), 'ann: called again',
    'who did what');
select is(api.task_retry(t.task(), 'ann'), 'settled', 'task_retry: settled');
select is((select key || ' ' || try from t.claim()),
    'refund-' || t.hid(1) || ' 1', 'it is called under the same key');
select is(api.cashier_retry(t.call(1, 'refund'), 'timeout', 0, 1), true,
    'in vain');
select is((select count(*) from data.task), 1::bigint,
    'it is the same matter');
select is(t.word('settled_at'), null, 'which is open again');
select is(t.word('detail'), 'refund, 1 tries: timeout', 'with the new reason');

-- It settles itself: the refund has gone out after all.
select t.refund_event('r1', 'pi_1', 're_1', 'succeeded', 2500,
    'refund-' || t.hid(1));
select is(t.tasks(), null, 'the money has arrived: nobody is needed');
select is(t.word('settled_by') || ': ' || t.word('note'),
    'lastpair: not needed', 'it says so');
select is((select done_at is not null from data.outbox
    where outbox_id = t.call(1, 'refund')), true, 'the call is not made');

-- A call that the provider will not carry out.
select t.late(2); select t.claim();
select api.cashier_refused(t.call(2, 'refund'), 'no such payment');
select is(t.tasks(), 'refused', 'refused: a person is told at once');
select api.cashier_refused(t.call(2, 'refund'), 'no such payment');
select is((select count(*) from data.task), 2::bigint, 'once');
set local role lastpair_operator;
select is(api.task_settle(0, null, 'ann'), 'no-such-task',
    'task_settle: none');
select is(api.task_settle((task->>'task')::bigint, 'paid in cash', 'bob'),
    'done', 'task_settle: done')
from json_array_elements(api.task_list(false)::json) task;
reset role;
select is(t.word('settled_by') || ': ' || t.word('note'), 'bob: paid in cash',
    'who settled it, and how');
select is(api.task_settle(t.task(), 'again', 'eve'), 'settled',
    'task_settle: settled');
select is(t.word('note'), 'paid in cash', 'the first word stays');
select is(t.tasks(), null, 'it is off the list');
select is(json_array_length(api.task_list(true)::json), 2,
    'but still to be found');

-- What the provider has said no to is called again under a new key; the
-- refund has its name all the same.
create function t.due_key(n integer) returns text language sql
return (select concat_ws(' ', try, key, refund_key) from t.claim()
    where kind = 'refund' and hold = t.hid(n));
create function t.again(n integer) returns text language sql
return (select api.task_retry(task_id, 'ann') from data.task
    where outbox_id = t.call(n, 'refund') and settled_at is null);
create function t.no(n integer, key text) returns void language sql
return api.cashier_refused(t.call(n, 'refund'), 'no', key);
select t.late(4);
select is(t.due_key(4), format('1 refund-%s refund-%1$s', t.hid(4)),
    'a refund is due');
select t.no(4, 'refund-' || t.hid(4)), t.no(4, 'refund-' || t.hid(4));
select is(t.again(4), 'done', 'its no is kept under the key');
select is(t.due_key(4), format('1 refund-%s-again-2 refund-%1$s', t.hid(4)),
    'so the call has a new one; recorded twice, it has no third');
select t.no(4, 'refund-' || t.hid(4));
select is(t.again(4), 'done', 'a no that comes late, of the key before');
select is(t.due_key(4), format('1 refund-%s-again-2 refund-%1$s', t.hid(4)),
    'says nothing of this one');
select t.no(4, format('refund-%s-again-2', t.hid(4))), t.again(4);
select is(t.due_key(4), format('1 refund-%s-again-3 refund-%1$s', t.hid(4)),
    'one more no, one more key');
select t.no(4, null), t.again(4);
select is(t.due_key(4), format('1 refund-%s-again-3 refund-%1$s', t.hid(4)),
    'what was not asked under it leaves the key');
select api.cashier_retry(t.call(4, 'refund'), 'no answer', 0, 1), t.again(4);
select is(t.due_key(4), format('1 refund-%s-again-3 refund-%1$s', t.hid(4)),
    'and so does what is not known');
-- Not by a person's word alone: the bank was asked, and has decided.
select t.no(4, format('refund-%s-again-3', t.hid(4)));
select t.dispute_event('d0', 'pi_4', 'open');
select is(t.due_key(4), null, 'the bank looks into it');
select t.dispute_event('d0w', 'pi_4', 'won');
select is(t.due_key(4), format('1 refund-%s-again-4 refund-%1$s', t.hid(4)),
    'and leaves us the money: sent, under a new key');
select t.refund_event('r4', 'pi_4', 're_4', 'succeeded', 2500,
    'refund-' || t.hid(4));
select is((select state from data.refund where refund_ref = 're_4'
    and key is not null), 'succeeded', 'the event finds it by its name');
select api.task_settle(task_id, 'over', 'ann') from data.task
where kind = 'dispute' and settled_at is null;

-- What is no call cannot be called.
select t.take(10, 10, 'S1'), t.item('M', 1);
select t.take(11, 11, 'M'); select t.open(11, 11);
select t.event('e11', 'paid', 11, 2400);
select is(t.tasks(), 'mismatch', 'another amount');
select is(api.task_retry(t.task(), 'ann'), 'not-a-call',
    'task_retry: no call');
-- Nor a call that is not needed any more.
select t.late(3); select t.claim();
select api.cashier_refused(t.call(3, 'refund'), 'no');
update data.outbox set done_at = clock_timestamp()
where outbox_id = t.call(3, 'refund');
select is(api.task_retry(t.task(), 'ann'), 'not-a-call',
    'task_retry: it has been made');
update data.outbox set done_at = null
where outbox_id = t.call(3, 'refund');
-- A page for a hold that is over is nobody's matter, a page to be ended is.
select t.item('P', 2);
select t.take(20, 20, 'P'); select t.open(20, 20); select t.age(20);
update data.outbox set next_try = clock_timestamp()
where outbox_id = t.call(20, 'expire');
select t.claim();
select api.cashier_refused(t.call(20, 'expire'), 'wrong key');
select is(t.tasks(), 'mismatch,refused,refused',
    'a page that cannot be ended');
select t.event('e20', 'expired', 20);
select is(t.tasks(), 'mismatch,refused', 'has come to its end by itself');

-- Calls to a provider that is not set up any more, but for refunds.
create function t.unset() returns text language sql
return (select string_agg(subject || ': ' || detail, ',') from data.task
    where kind = 'not_set_up' and settled_at is null);
select is(api.cashier_stray('standard', false), 0::bigint, 'none waits');
select is(t.unset(), null, 'which is nobody''s matter');
select t.take(30 + n, 30 + n, 'U'), t.start(30 + n, 30 + n)
from (select t.item('U', 9)) i cross join generate_series(1, 3) n;
update data.payment p set provider = 'standard' from data.hold h
where h.hold_id = p.hold_id and h.id = any (array[t.hid(31), t.hid(32)]);
select is(api.cashier_stray('standard', false), 0::bigint,
    'what has just become due may be somebody''s');
update data.outbox set next_try = next_try - interval '61 s'
where kind = 'open';
select is(api.cashier_stray('standard', false), 2::bigint, 'two wait');
select is(t.unset(), 'provider standard: no settings for standard: 2 calls '
    'wait (open a page 2, end a page 0, look at a payment 0)',
    'a person is told');
update data.payment p set provider = 'standard' from data.hold h
where h.hold_id = p.hold_id and h.id = t.hid(33);
select api.cashier_stray('standard', false);
select matches(t.unset(), ': 3 calls', 'of as many as there are');
select api.task_settle(task_id, 'looked there', 'ann') from data.task
where kind = 'not_set_up';
select is(api.cashier_stray('standard', false), 3::bigint, 'they wait still');
select is(t.unset(), null, 'but somebody knows of them');
update data.outbox set created_at = clock_timestamp()
where outbox_id = t.call(31, 'open');
select api.cashier_stray('standard', false);
select matches(t.unset(), ': 3 calls', 'of a later one nobody does');
select is(api.cashier_stray('standard', true), 0::bigint,
    'set up again: they go out');
select is(t.unset(), null, 'and nobody is needed');
update data.outbox set done_at = clock_timestamp()
where outbox_id = any (array[t.call(31, 'open'), t.call(32, 'open'),
    t.call(33, 'open')]);

-- The same fact in several events is one matter.
select t.dispute_event('d1', 'pi_2', 'open');
select t.dispute_event('d2', 'pi_2', 'open');
select is(t.tasks(), 'mismatch,refused,dispute', 'a dispute');
select t.dispute_event('d3', 'pi_2', 'lost');
select t.dispute_event('d4', 'pi_2', 'lost');
select is(t.tasks(), 'mismatch,refused,dispute_lost', 'that is lost');
select t.clean();
select * from finish();
rollback;
