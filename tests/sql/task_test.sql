-- What waits for a person: each matter once, until it is settled, by itself or
-- by somebody; and calls that are made once more.
begin;
\ir lib/fixture.sql
select plan(45);
grant usage on schema t to lastpair_operator;

-- A hold that is paid late, its unit gone: its refund is owed.
create function t.late(n integer) returns text language plpgsql as $$
begin
    perform t.item('L' || n, 1);
    perform t.take(n, n, 'L' || n);
    perform t.open(n, n);
    perform t.age(n);
    perform t.take(n + 500, n + 500, 'L' || n);
    return t.event('late' || n, 'paid', n);
end
$$;
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

-- What is no call cannot be called.
select t.take(10, 10, 'L1'), t.item('M', 1);
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
