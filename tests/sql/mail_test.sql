-- Mail: who is owed which, when it is over, and what the courier does with it.
begin;
\ir lib/fixture.sql
select plan(78);

-- A hold of somebody who left an address, with an open pay page; buyer n.
create function t.mailed(n integer, sku text, qty bigint default 1)
returns text language sql
begin atomic
    select outcome from api.hold_take(array[t.hid(n)], array[t.buyer(n)],
        '{t}', array[null::text], array['b' || n || '@buyer.test'], '{1}',
        array[sku], array[qty]);
    select t.open(n, n);
end;
-- The kinds of mail that a hold's buyer is owed or was; those done in brackets.
create function t.mails(n integer) returns text language sql
return (select string_agg(case when m.done_at is null then m.kind
        else '(' || m.kind || ')' end, ' ' order by m.mail_id)
    from data.mail m join data.hold h using (hold_id) where h.id = t.hid(n));
-- What the courier claims.
create function t.carry(most integer default 100)
returns table (mail_id bigint, kind text, try integer, recipient text,
    doc json)
language sql
begin atomic
    select c.mail_id, c.kind, c.try, c.recipient, c.document::json
    from api.courier_claim(most, 60000) c;
end;
-- Claims and sends all that is owed; which.
create function t.sent() returns text language plpgsql as $$
declare
    kinds text := '';
    m record;
begin
    for m in select * from t.carry() loop
        perform api.courier_sent(m.mail_id);
        kinds := concat_ws(' ', nullif(kinds, ''), m.kind);
    end loop;
    return kinds;
end
$$;

select t.item('I', 90, per_buyer => 5);
select t.item('S' || n, 1) from generate_series(1, 9) n;

-- A purchase.
select t.mailed(1, 'I', 2);
select is(t.mails(1), null, 'nothing is said before it is paid');
select is(t.event('e1', 'paid', 1), 'applied', 'paid');
select is(t.mails(1), 'paid', 'the buyer is told');
select is(t.event('e1', 'paid', 1), 'repeat', 'C22: the event again');
select is(t.event('e1b', 'paid', 1), 'repeat', 'and under another id');
select api.mail_buyer(hold_id, 'paid', null) from data.hold
where id = t.hid(1);
select is(t.mails(1), 'paid', 'C22: is told once');
select is(api.courier_wait(1000), 0, 'there is something to do');
create table t.claimed as select * from t.carry();
select is((select format('%s %s %s', kind, try, recipient) from t.claimed),
    'paid 1 b1@buyer.test', 'the courier gets it');
select is((select doc->>'order' from t.claimed), 'ord_' || (select hold_id
    from data.hold where id = t.hid(1)), 'it says which order');
select is((select doc->>'hold' from t.claimed), t.hid(1), 'and its page');
select is((select doc->'lines'->0->>'title' from t.claimed), 'Title of I',
    'what');
select is((select doc->'lines'->0->>'qty' from t.claimed), '2', 'how many');
select is((select doc->'price'->>'amount' from t.claimed), '5000',
    'how much');
select is((select doc->'price'->>'currency' from t.claimed), 'EUR',
    'in what');
select is((select doc->>'refund' from t.claimed), null, 'no refund');
select is((select doc::text ~ 'pay.test|cs_1|pi_1' from t.claimed), false,
    'no pay page, no name of the provider''s');
select is_empty('select * from t.carry()', 'nobody else gets it');
select cmp_ok(api.courier_wait(100000), '>', 55000, 'until its lease is over');
update data.mail set next_try = clock_timestamp();
select is((select doc->>'mail' || try from t.carry()),
    (select doc->>'mail' || 2 from t.claimed),
    'then it comes back under the same name');
select api.courier_sent(mail_id) from t.claimed;
select is(t.mails(1), '(paid)', 'sent');
select is(api.courier_wait(1000), 1000, 'nothing is left to do');
select is((select api.courier_retry(mail_id, 'x', 0, 1) from t.claimed), null,
    'what is done stays done');
select api.courier_refused(mail_id, 'x') from t.claimed;
select is(t.mails(1), '(paid)', 'also for a courier that comes late');

-- Nobody without an address.
select t.take(2, 2, 'I'); select t.open(2, 2); select t.event('e2', 'paid', 2);
select is(t.mails(2), null, 'who left no address is not written to');

-- A bank that takes its time.
select t.mailed(3, 'I');
select t.event('e3', 'pending', 3);
select is(t.mails(3), 'pending', 'money is on its way');
select t.event('e3b', 'paid', 3);
select is(t.mails(3), 'pending paid', 'it has come');
select is(t.sent(), 'paid', 'what is over is not sent');
select is(t.mails(3), '(pending) (paid)', 'but done');
select t.mailed(4, 'I');
select t.event('e4', 'pending', 4);
select is(t.sent(), 'pending', 'in time, it is sent');
select t.event('e4b', 'failed', 4);
select is(t.sent(), 'payment_failed', 'the bank says no');

-- Late, and there is something; late, and there is nothing.
select t.mailed(5, 'S5'); select t.age(5); select t.event('e5', 'paid', 5);
select is(t.mails(5), 'paid_late', 'late, but served');
select is((select doc->>'late' from t.carry() where kind = 'paid_late'),
    'retake', 'it says how');
update data.mail set done_at = clock_timestamp() where done_at is null;
select t.mailed(6, 'S6'); select t.age(6); select t.take(66, 66, 'S6');
select is(t.event('e6', 'paid', 6), 'refund', 'late, and nothing is left');
select is(t.mails(6), 'refund_owed', 'the buyer is told');
select is((select format('%s %s %s', doc->'refund'->>'reason',
        doc->'refund'->>'amount', doc->'refund'->>'currency') from t.carry()),
    'paid_late 2500 EUR', 'why, and how much');
update data.mail set next_try = clock_timestamp();
select * from t.claim();
select api.cashier_refunded(t.call(6, 'refund'), 're_6', 'succeeded');
select is(t.mails(6), 'refund_owed refunded', 'sent back');
select is(t.sent(), 'refunded', 'only that is said');
select is(t.refund_event('r6', 'pi_6', 're_6', 'failed', 2500), 'person',
    'the bank did not take it');
select is(t.mails(6), '(refund_owed) (refunded) refund_failed',
    'the buyer is told that, too');

-- The operator is told of it, until somebody has dealt with it.
create table t.told as select * from t.carry();
select is((select format('%s %s', recipient, doc->'task'->>'kind')
    from t.told where kind = 'task'), ' refund_failed',
    'a task goes to the operator');
select is((select doc->'task'->>'order' from t.told where kind = 'task'),
    (select doc->>'order' from t.told where kind = 'refund_failed'),
    'with its order');
update data.mail set next_try = clock_timestamp() where done_at is null;
select api.task_settle((doc->'task'->>'task')::bigint, 'paid by hand', 'ann')
from t.told where kind = 'task';
select is(t.sent(), 'refund_failed', 'a task that is settled is not told');

-- Each refund of an order is told; a part leaves the order as it is.
select is(t.give_back(1, 1000), 'done', 'a part goes back');
select is(t.give_back(1, 500), 'done', 'one more');
select is((select string_agg(concat_ws(' ', kind, doc->>'state',
        doc->'refund'->>'reason', doc->'refund'->>'amount'), ', '
        order by mail_id) from t.carry()),
    'refund_owed paid asked_for 1000, refund_owed paid asked_for 500',
    'each is told');
update data.mail set next_try = clock_timestamp() where done_at is null;
select is(t.give_back(1), 'done', 'the rest');
select is((select string_agg(doc->>'state', ',') from t.carry()),
    'released,released,released', 'closes the order');
update data.mail set done_at = clock_timestamp() where done_at is null;
-- Paid, and all given back before the mail was out.
select t.mailed(7, 'I'); select t.event('e7', 'paid', 7);
select t.give_back(7);
select is(t.sent(), 'refund_owed', 'paid is not true any more');

-- Tries.
select t.mailed(8, 'I'); select t.event('e8', 'paid', 8);
create table t.tried as select * from t.carry();
select is(api.courier_retry(mail_id, 'no server', 5000, 2), false,
    'it is tried again') from t.tried;
select cmp_ok(api.courier_wait(100000), '>', 4000, 'later');
update data.mail set next_try = clock_timestamp() where done_at is null;
select is((select try from t.carry()), 2, 'once more');
select is(api.courier_retry(mail_id, repeat('x', 600), 0, 2), true,
    'that was the last') from t.tried;
select is((select string_agg(concat_ws(' ', kind, doc->'task'->>'kind',
        doc->'task'->>'subject'), ',') from t.carry()),
    'task mail mail to buyers', 'it is not claimed any more: a person is told');
select is((select length(last_error) || ' ' || stuck from data.mail
    join t.tried using (mail_id)), '500 true', 'what it said is kept');

-- Refused; void.
select t.mailed(9, 'I'); select t.event('e9', 'paid', 9);
select api.courier_refused(mail_id, 'no such person') from t.carry();
select t.mailed(10, 'I'); select t.event('e10', 'paid', 10);
select api.courier_void(mail_id) from t.carry();
select is((select string_agg(concat_ws(' ', stuck, m.done_at is not null,
        last_error), ', ' order by m.mail_id) from data.mail m
    join data.hold h using (hold_id) where h.id in (t.hid(9), t.hid(10))),
    't f no such person, f t no mail is set up', 'refused, and void');

-- Mail that is given up waits for a person.
create function t.matters() returns text language sql
return (select string_agg(subject || ': ' || detail, ', ' order by task_id)
    from data.task where kind = 'mail' and settled_at is null);
create function t.matter(which text) returns bigint language sql
return (select task_id from data.task where subject = which);
select is(t.matters(), format('mail to buyers: of ord_%s, perhaps of others, '
        'too: %s', hold_id, repeat('x', 500)), 'all mail to buyers is one')
from data.hold where id = t.hid(8);
select is((select count(*) from data.mail m join data.task t using (task_id)
    where t.kind = 'mail'), 1::bigint, 'which is told once');
select is(api.task_retry(t.matter('mail to buyers'), 'ann'), 'mail',
    'task_retry: mail');
select is(t.matters(), null, 'nothing waits');
select is((select string_agg(recipient || ' ' || try, ',' order by mail_id)
    from t.carry()), 'b8@buyer.test 1,b9@buyer.test 1',
    'all that was given up is tried again, from the first try');
select api.courier_sent(mail_id) from data.mail m join data.hold h
    using (hold_id) where h.id = t.hid(8);
select api.courier_refused(mail_id, 'no such person') from data.mail m
    join data.hold h using (hold_id) where h.id = t.hid(9);
select is(t.matters(), format('mail to buyers: of ord_%s, perhaps of others, '
    'too: no such person', hold_id), 'in vain: it is open again')
from data.hold where id = t.hid(9);
create table t.retold as select * from t.carry();
select is((select doc->'task'->>'kind' from t.retold), 'mail',
    'and told again');
-- The operator's own mail fails: on the list, and not by mail.
select api.courier_retry(mail_id, 'no server', 0, 1) from t.retold;
select matches(t.matters(), '^mail to buyers: .*, mail to the operator: of '
    'task [0-9]+, perhaps of others, too: no server$', 'it is on the list');
select is_empty('select * from t.carry()', 'and no mail tells of it');
select is(api.task_retry(t.matter('mail to the operator'), 'ann'), 'mail',
    'that is sent again');
select is((select string_agg(doc->'task'->>'subject', ',') from t.carry()),
    'mail to buyers', 'and not what buyers are owed');
select api.courier_refused(mail_id, 'unknown') from t.retold;
select is(api.task_settle(t.matter('mail to the operator'), 'n', 'ann'),
    'done', 'settled');
select is(api.task_settle(t.matter('mail to buyers'), 'wrote a letter', 'ann'),
    'done', 'by hand');
select t.mailed(11, 'I'); select t.event('e11', 'paid', 11);
select api.courier_refused(mail_id, 'full') from t.carry();
select is(api.task_retry(t.matter('mail to buyers'), 'ann'), 'mail',
    'another one, later');
select is((select string_agg(coalesce(recipient, kind), ',') from t.carry()),
    'b11@buyer.test', 'what was settled before is not sent');
update data.mail set done_at = clock_timestamp() where done_at is null;
select is(api.task_settle(t.matter('mail to buyers'), 'n', 'ann'), 'settled',
    'all is over');

-- A matter that comes up again is told again.
select api.task_add('difference', 'books 1', null, null, null, null, 'a');
select api.task_add('difference', 'books 1', null, null, null, null, 'b');
create table t.first as select * from t.carry();
select is((select count(*) from t.first), 1::bigint, 'a matter is told once');
select api.courier_sent(mail_id) from t.first;
select api.task_settle((doc->'task'->>'task')::bigint, 'n', 'ann')
from t.first;
select api.task_add('difference', 'books 1', null, null, null, null, 'c');
create table t.second as select * from t.carry();
select is((select doc->'task'->>'detail' from t.second), 'c', 'and again');
select isnt((select doc->>'mail' from t.second),
    (select doc->>'mail' from t.first), 'as another mail');
-- Also while it is being sent.
select api.task_settle((doc->'task'->>'task')::bigint, 'n', 'ann')
from t.second;
select api.task_add('difference', 'books 1', null, null, null, null, 'd');
select api.courier_sent(mail_id) from t.second;
select api.courier_refused(mail_id, 'no') from t.second;
create table t.third as select * from t.carry();
select is((select doc->'task'->>'detail' from t.third), 'd',
    'the news is not taken for what was being sent');
select isnt((select doc->>'mail' from t.third),
    (select doc->>'mail' from t.second), 'but is another mail');
select api.courier_sent(mail_id) from t.third;
select is_empty('select * from t.carry()', 'which is sent once');
select t.clean();
select * from finish();
rollback;
