-- The audit finds each kind of damage, made here by hand one at a time.
begin;
\ir lib/fixture.sql
select plan(44);
select t.item('A', 10, per_buyer => 2);
select t.item('B', 10);
select t.take(1, 1, 'A');                            -- held
select t.take(2, 2, 'A', 2); select t.open(2, 2);
select t.event('e2', 'paid', 2);                     -- paid
select t.take(3, 3, 'B'); select t.open(3, 3); select t.age(3);
update data.item set late = '{refund}';
select t.event('e3', 'paid', 3);                     -- refund owed
select t.take(4, 4, 'B'); select api.hold_drop(t.hid(4), t.buyer(4));
select t.clean();

-- What the audit says after a statement, which is undone.
create function t.damage(statement text) returns text language plpgsql as $$
declare
    found_rows text;
begin
    set local session_replication_role = replica;
    begin
        execute statement;
        select string_agg(promise || ' ' || what || ': ' || which, '; '
            order by promise, what)
        into found_rows from api.audit();
        raise exception using errcode = 'LP001', message
            = coalesce(found_rows, 'nothing');
    exception when sqlstate 'LP001' then
        found_rows := sqlerrm;
    end;
    set local session_replication_role = origin;
    return found_rows;
end
$$;
create function t.of(n integer) returns bigint language sql
return (select hold_id from data.hold where id = t.hid(n));
create function t.pay(n integer) returns bigint language sql
return (select payment_id from data.payment where hold_id = t.of(n)
    and attempt = 1);

select is(t.damage('select 1'), 'nothing', 'no damage, no rows');
-- Promise 1
alter table data.stock drop constraint never_more;
select is(t.damage($$update data.stock set total = 2 where item_id
    = (select item_id from data.item where sku = 'A')$$),
    '1 held 1 + sold 2 is more than total 2 + allowance 0: A bucket 1',
    'more held and sold than there is');
select is(t.damage($$update data.stock set held = 0 where item_id
    = (select item_id from data.item where sku = 'A')$$),
    '1 stock says 0 held, the holds say 1: A bucket 1', 'held is lost');
select is(t.damage($$update data.stock set held = held + 1 where item_id
    = (select item_id from data.item where sku = 'B')$$),
    '1 stock says 1 held, the holds say 0: B bucket 1', 'held by nobody');
select is(t.damage($$update data.stock set sold = 1 where item_id
    = (select item_id from data.item where sku = 'A')$$),
    '1 stock says 1 sold, the orders say 2: A bucket 1', 'sold is lost');
select is(t.damage($$delete from data.stock where item_id
    = (select item_id from data.item where sku = 'B')$$),
    '1 an item without a stock row: B', 'no stock row');
select is(t.damage($$update data.hold_line set bucket = 7 where hold_id
    = t.of(1)$$), format('1 a line without its stock row: hold %s, item %s; '
    '1 stock says 1 held, the holds say 0: A bucket 1', t.of(1),
    (select item_id from data.item where sku = 'A')), 'units from nowhere');
select is(t.damage($$delete from data.hold where hold_id = t.of(4)$$),
    format('2 a line without its hold: hold %s, item %s', t.of(4),
    (select item_id from data.item where sku = 'B')), 'units of nobody');
select is(t.damage($$update data.item set buckets = 2 where sku = 'B'$$),
    '1 an item without a stock row: B', 'one of two is missing');
-- Promise 2
select is(t.damage($$update data.hold set amount = 1 where id = t.hid(1)$$),
    '2 the lines do not add up to the hold''s amount: ' || t.hid(1),
    'an amount that is not its lines''');
select is(t.damage($$update data.hold_line set price = 1
    where hold_id = t.of(1)$$),
    '2 the lines do not add up to the hold''s amount: ' || t.hid(1),
    'a line of another price');
select matches(t.damage($$update data.hold_line set state = 'released'
    where hold_id = t.of(1)$$), '2 a held hold with a line that is released',
    'a live hold that holds nothing');
select matches(t.damage($$update data.hold_line set state = 'released'
    where hold_id = t.of(2)$$), '2 a paid hold with a line that is released',
    'an order without its units');
select matches(t.damage($$update data.hold_line set state = 'paid'
    where hold_id = t.of(1)$$), '2 a held hold with a line that is paid',
    'a line that is sold before it is paid');
select matches(t.damage($$delete from data.hold_line where hold_id = t.of(4)$$),
    '2 the lines do not add up to the hold''s amount: ' || t.hid(4),
    'a hold without lines');
-- Promise 3
drop index data.hold_line_one_live;
select matches(t.damage($$update data.hold_line set state = 'held',
        buyer = t.buyer(1), item_id = (select item_id from data.item
            where sku = 'A'), expires_at = now() + interval '1 hour'
    where hold_id = t.of(4)$$),
    '3 2 live holds of one buyer for one item: A', 'two live holds of a buyer');
select matches(t.damage($$update data.item set per_buyer = 1
    where sku = 'A'$$), '3 2 units for one buyer, the limit is 1: A',
    'more than a buyer may have');
select is(t.damage($$update data.hold_line set buyer = t.buyer(2)
    where hold_id = t.of(1)$$), '3 3 units for one buyer, the limit is 2: A',
    'over a hold and an order together');
-- Promise 4
select is(t.damage($$delete from data.refund$$),
    '4 2500 EUR came in, and are neither goods nor on their way back nor '
    'anybody''s task: cs-' || t.hid(3),
    'money that was neither served nor given back');
select is(t.damage($$insert into data.refund (payment_id, key, amount, reason,
        state) select payment_id, 'x', captured, 'asked_for', 'pending'
    from data.payment where payment_id = t.pay(2)$$),
    '4 served, and all the money has gone back: ' || t.hid(2),
    'served and given back');
select is(t.damage($$insert into data.refund (payment_id, key, amount, reason,
        state) select payment_id, 'x', captured - 1, 'asked_for', 'pending'
    from data.payment where payment_id = t.pay(2)$$), 'nothing',
    'a part may go back');
select is(t.damage($$insert into data.payment (hold_id, attempt, provider, key,
        amount, currency, title, return_url, session_expires_at, state,
        captured) select hold_id, 2, provider, 'x', amount, currency, title,
        return_url, session_expires_at, 'paid', captured
    from data.payment where payment_id = t.pay(2)$$),
    '4 served and paid for more than once: ' || t.hid(2),
    'money that came twice');
select is(t.damage($$update data.payment set captured = captured - 1
    where payment_id = t.pay(2)$$),
    '4 served without a payment of its amount: ' || t.hid(2),
    'served for less');
select is(t.damage($$update data.payment set currency = 'JPY'
    where payment_id = t.pay(2)$$),
    '4 served without a payment of its amount: ' || t.hid(2),
    'served for another currency');
select is(t.damage($$update data.payment set state = 'open', captured = 0
    where payment_id = t.pay(2)$$),
    format('4 served without a payment of its amount: %1$s; '
    '4 served, and all the money has gone back: %1$s', t.hid(2)),
    'served for nothing');
select is(t.damage($$update data.refund set amount = amount + 1$$),
    '4 2501 goes back of a payment of 2500: cs-' || t.hid(3),
    'more given back than came');
select is(t.damage($$delete from data.outbox where kind = 'refund'$$),
    '4 a refund is owed, and nobody is told to send it: refund-' || t.hid(3),
    'a refund that nobody sends');
select is(t.damage($$update data.outbox set done_at = now()
    where kind = 'refund'$$),
    '4 a refund is owed, and nobody is told to send it: refund-' || t.hid(3),
    'a refund that was sent, it is said, and is still owed');
select is(t.damage($$update data.refund set state = 'succeeded'$$), 'nothing',
    'one that has arrived is in order');
-- Promise 5
select is(t.damage($$update data.event set outcome = 'received'
    where event_id = 'e2'$$), '5 an event without an outcome: stripe e2',
    'an event that did not act');
select is(t.damage($$insert into data.dispute (payment_id, ref, state)
        values (t.pay(3), 'du', 'open');
    insert into data.task (kind, subject) select 'dispute',
        'dispute ' || dispute_id from data.dispute;
    delete from data.outbox where kind = 'refund'$$), 'nothing',
    'one that the bank keeps back, too');
select matches(t.damage($$insert into data.dispute (payment_id, ref, state)
    values (t.pay(3), 'du', 'open')$$), '^4 a dispute is open, and it is '
    'nobody''s task: dispute [0-9]+ du$', 'a dispute that nobody answers');
select matches(t.damage($$insert into data.dispute (payment_id, ref, state)
        values (t.pay(3), 'du', 'inquiry');
    insert into data.task (kind, subject) select 'dispute',
        'dispute ' || dispute_id from data.dispute$$), '^4 a dispute is '
    'inquiry, and it is nobody''s task', 'an inquiry that nobody answers');
select matches(t.damage($$insert into data.dispute (payment_id, state,
        ended_at) values (t.pay(2), 'lost', now());
    insert into data.task (kind, subject) select 'dispute',
        'dispute ' || dispute_id from data.dispute$$), '^4 a dispute is lost, '
    'and it is nobody''s task', 'money lost at the bank that nobody heard of');
-- A dispute that was won is no excuse for what the money was for.
select is(t.damage($$insert into data.dispute (payment_id, state, ended_at)
        values (t.pay(3), 'won', now());
    insert into data.task (kind, subject, payment_id) select 'dispute',
        'dispute ' || dispute_id, payment_id from data.dispute;
    delete from data.outbox where kind = 'refund';
    delete from data.refund$$),
    '4 2500 EUR came in, and are neither goods nor on their way back nor '
    'anybody''s task: cs-' || t.hid(3), 'a dispute that was won');
select is(t.damage($$update data.refund set state = 'failed'$$),
    format('4 2500 EUR came in, and are neither goods nor on their way back '
    'nor anybody''s task: cs-%1$s; 4 a refund failed, and it is nobody''s '
    'task: refund-%1$s', t.hid(3)), 'one that failed');
select is(t.damage($$update data.payment set state = 'mismatch'
    where payment_id = t.pay(2)$$),
    format('4 another amount was paid, and it is nobody''s task: cs-%1$s; '
    '4 served without a payment of its amount: %1$s', t.hid(2)),
    'a mismatch that nobody knows of');
select is(t.damage($$update data.outbox set stuck = true
    where kind = 'refund'$$),
    '4 a call is given up, and it is nobody''s task: refund-' || t.hid(3),
    'a call that nobody will make');
select is(t.damage($$update data.outbox set stuck = true
    where kind = 'refund'; insert into data.task (kind, subject, outbox_id)
    select 'stuck', 'x', outbox_id from data.outbox
    where kind = 'refund'$$), 'nothing', 'one that is a person''s');
select is(t.damage($$update data.event set outcome = 'unmatched'
    where event_id = 'e2'$$), 'nothing', 'an event that has just come');
select is(t.damage($$update data.event set outcome = 'unmatched',
        received_at = received_at - interval '2 minutes'
    where event_id = 'e2'$$),
    '5 an event waits though its payment is known: stripe e2',
    'an event that nobody applied');

-- As the operator, who sees no table.
set local role lastpair_operator;
select is((select count(*) from api.audit()), 0::bigint, 'the operator may ask');
select is(api.task_list(true), '[]', 'nobody is needed');
reset role;
select * from finish();
rollback;
