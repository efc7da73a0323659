-- What a call may read at most, in a shop that has filled up since plans were
-- made. `then` is done before anything is measured.
set local plan_cache_mode = force_generic_plan;
set local enable_seqscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;
truncate data.item, data.stock, data.hold, data.hold_line, data.payment,
    data.refund, data.event, data.outbox, data.item_change, data.task,
    data.mail, data.dispute;
analyze data.hold, data.hold_line, data.payment, data.refund, data.outbox,
    data.event, data.task, data.mail, data.dispute;
select t.item('OLD', 2000); select t.item('NEW', 2000);

-- Rows that this transaction has read of these tables so far.
create function t.reads(tables text[]) returns bigint language sql volatile
return (select sum(seq_tup_read + idx_tup_fetch)
    from pg_stat_xact_user_tables
    where schemaname = 'data' and relname = any (tables));
create function t.cost(
    statement text, tables text[] default '{hold,hold_line}')
returns bigint language plpgsql as $$
declare
    before_it bigint := t.reads(tables);
begin
    execute statement;
    return t.reads(tables) - before_it;
end
$$;
-- Of the tables of money.
create function t.money(statement text) returns bigint language sql
return t.cost(statement, '{hold,payment,refund,event,outbox,task,mail,
    dispute}');

-- Deliveries of "paid" for holds, all at once.
create function t.all_paid(ids text[], holds integer[]) returns bigint
language plpgsql as $$
declare
    texts constant text[] := array_fill(null::text,
        array[cardinality(ids)]);
begin
    return (select count(*) from api.payment_settle_all(
        array_replace(texts, null, 'stripe'), ids,
        array_replace(texts, null, 't'), array_replace(texts, null, 'paid'),
        texts, array(select t.hid(n) from unnest(holds) n),
        array(select 'cs_' || n from unnest(holds) n),
        array(select 'pi_' || n from unnest(holds) n), texts, texts,
        array_fill(2500::bigint, array[cardinality(ids)]),
        array_replace(texts, null, 'EUR'), texts,
        array_fill('x'::bytea, array[cardinality(ids)])));
end
$$;

-- Each is planned now, on nothing.
select t.take(1, 1, 'OLD'), t.open(1, 1), t.event('e1', 'paid', 1);
select t.take(2, 2, 'OLD'), t.age(2), t.take(3, 2, 'OLD');
select api.sweep(10); select api.hold_drop(t.hid(3), t.buyer(2));
select t.take(7, 7, 'NEW'), t.open(7, 7), t.event('e7', 'paid', 7);
select t.event('e7b', 'paid', 7, session => 'cs_7b', ref => 'pi_7b');
select t.refund_event('r7', 'pi_7b', 're_7', 'pending', 2500);
select t.dispute_event('d7', 'pi_7', 'open');
select t.claim(); select api.payment_ahead(1);
select t.all_paid('{e1,e2}', '{1,2}'), t.all_paid('{e3,e8}', '{1,7}');
select count(*) from api.courier_claim(10, 60000);
select api.courier_wait(1000), api.courier_sent(0), api.courier_void(0),
    api.courier_retry(0, 'x', 0, 1), api.courier_refused(0, 'x');
select api.cashier_retry(0, 'x', 0, 1), api.cashier_refused(0, 'x'),
    api.cashier_expired(0), api.cashier_done(0),
    api.cashier_wait('stripe', 1000);
-- Then the shop fills up.
select count(t.take(100 + n, 100 + n, 'OLD')) from generate_series(1, 1500) n;

select is(t.take(4, 4, 'OLD'), 'created', 'one more');
select cmp_ok(t.cost($$select t.take(5, 5, 'OLD')$$), '<', 20::bigint,
    'a hold reads a few rows');
select cmp_ok(t.cost($$select t.take(6, 5, 'OLD')$$), '<', 20::bigint,
    'and so does its repeat');
select cmp_ok(t.cost($$select api.hold_drop(t.hid(5), t.buyer(5))$$), '<',
    30::bigint, 'giving up');
select cmp_ok(t.cost($$select api.sweep(10)$$), '<', 20::bigint,
    'a sweep that finds nothing');
select t.age(4);
select cmp_ok(t.cost($$select api.sweep(10)$$), '<', 40::bigint,
    'a sweep that finds one');

select t.take(9, 9, 'NEW');
-- Ten thousand pay pages wait to be opened, ten thousand events of somebody
-- else's shop are parked, and as many calls and tasks are done.
insert into data.hold (id, buyer, amount, currency, created_at, expires_at)
select 'hld_wait' || lpad(n::text, 18, '0'), t.buyer(n), 2500, 'EUR', now(),
    now() + interval '1 hour'
from generate_series(1, 10000) n;
insert into data.payment (hold_id, provider, key, amount, currency, title,
    return_url, session_expires_at)
select hold_id, 'stripe', 'cs-' || id, amount, currency, 'x', 'x', now()
from data.hold where id like 'hld_wait%';
insert into data.outbox (kind, payment_id, hold_id, key, next_try)
select 'open', payment_id, hold_id, key, now()
from data.payment where key like 'cs-hld_wait%';
insert into data.outbox (kind, payment_id, hold_id, key, next_try, done_at)
select 'expire', payment_id, hold_id, key, now(), now()
from data.payment where key like 'cs-hld_wait%';
insert into data.event (provider, event_id, type, kind, hold, session_id,
    payment_ref, outcome, body)
select 'stripe', 'alien' || n, 't', 'paid', 'alien' || n, 'alien' || n,
    'alien' || n, 'unmatched', 'x'
from generate_series(1, 10000) n;
insert into data.task (kind, subject, settled_at, settled_by)
select 'dispute', 'old ' || n, now(), 'x' from generate_series(1, 10000) n;
insert into data.refund (payment_id, amount, reason, refund_ref, state,
    ended_at)
select payment_id, 100, 'at_provider', 'old_' || payment_id, 'succeeded', now()
from data.payment where key like 'cs-hld_wait%';
insert into data.refund (payment_id, key, amount, reason, state, ended_at)
select payment_id, 'refund-' || key, 100, 'asked_for', 'succeeded', now()
from data.payment where key like 'cs-hld_wait%';
insert into data.outbox (kind, payment_id, hold_id, refund_id, key, next_try,
    done_at)
select 'refund', r.payment_id, p.hold_id, r.refund_id, r.key, now(), now()
from data.refund r join data.payment p using (payment_id)
where r.key like 'refund-cs-%';
insert into data.dispute (payment_id, ref, state)
select payment_id, 'du_' || payment_id, 'open'
from data.payment where key like 'cs-hld_wait%';
insert into data.mail (kind, hold_id, next_try, done_at)
select 'paid', hold_id, now(), now() from data.hold where id like 'hld_wait%';
select t.take(8, 8, 'NEW'), t.start(8, 8);
:then

select is((select ahead from api.payment_start(t.hid(8), t.buyer(8), 'stripe',
    'x', 1800, 86400)), 10000::bigint, 'ten thousand are before it');
select cmp_ok(t.money(format($$select api.payment_ahead(%s)$$, (
        select min(hold_id) from data.outbox
        where kind = 'open' and done_at is null))), '<', 10::bigint,
    'nobody is before the first, and nobody is counted');
select cmp_ok(t.money($$select api.cashier_claim('stripe', 10, 10, 10, 10,
    60000)$$), '<', 600::bigint, 'a claim of ten reads ten, and the newest '
    'events that wait');
select cmp_ok(t.money($$select api.cashier_claim('stripe', 10, 10, 10, 10,
    60000)$$), '<', 600::bigint, 'and so does the next');
select cmp_ok(t.money($$select api.cashier_claim('stripe', 500, 10, 10, 10,
    60000)$$), '<', 6000::bigint, 'five hundred read so many times as much');
select cmp_ok(t.money($$select api.cashier_wait('stripe', 1000)$$), '<',
    10::bigint, 'asking when a call is due');
select cmp_ok(t.money($$select t.start(9, 9)$$), '<', 30::bigint,
    'asking for a page: its own rows');
select cmp_ok(t.money($$select t.event('p9', 'paid', 9)$$), '<', 60::bigint,
    'an event reads its own order');
select cmp_ok(t.money($$select t.event('p9b', 'paid', 9)$$), '<', 40::bigint,
    'as does one that says the same');
select cmp_ok(t.money($$select t.refund_event('r9', 'pi_9', 're_9',
    'succeeded', 1000)$$), '<', 40::bigint, 'and a refund''s');
select cmp_ok(t.money($$select t.dispute_event('d9', 'pi_9', 'open')$$), '<',
    40::bigint, 'and a dispute''s');
select cmp_ok(t.money($$select t.event('alien', 'paid', 999)$$), '<',
    20::bigint, 'an event of somebody else''s');
select cmp_ok(t.money($$select api.cashier_opened(t.call(9, 'open'), 'cs_9',
    'http://p')$$), '<', 30::bigint, 'a page that is open now');
select t.take(10, 10, 'NEW'), t.open(10, 10);
select cmp_ok(t.money($$select api.hold_drop(t.hid(10), t.buyer(10))$$), '<',
    30::bigint, 'a hold that is given up, and its page');
select cmp_ok(t.money($$select api.cashier_expired(t.call(10, 'expire'))$$),
    '<', 20::bigint, 'a page that has ended');
select t.dispute_event('d9b', 'pi_9', 'won');
select cmp_ok(t.money($$select t.give_back(9)$$), '<', 60::bigint,
    'money that is given back');
select cmp_ok(t.money($$select api.cashier_retry(t.call(9, 'refund'), 'x', 0,
    99)$$), '<', 10::bigint, 'a call to make again');
select cmp_ok(t.money($$select api.cashier_refunded(t.call(9, 'refund'),
    're_9b', 'pending')$$), '<', 40::bigint, 'a refund that was taken');
select t.take(n, n, 'NEW'), t.open(n, n) from generate_series(20, 23) n;
update data.hold set email = 'a@b.example' where id = t.hid(20);
select cmp_ok(t.money($$select t.all_paid('{b1,b2,b3,b4}', '{20,21,22,23}')$$),
    '<', 200::bigint, 'four sales at once read four orders');
select cmp_ok(t.money($$select t.all_paid('{b5,b6,b7}', '{20,21,998}')$$),
    '<', 150::bigint, 'and so do news of them');
select is((select count(*) from api.courier_claim(10, 60000)), 1::bigint,
    'one mail is due');
select cmp_ok(t.money($$select api.courier_claim(10, 60000)$$), '<',
    20::bigint, 'asking for mail');
select cmp_ok(t.money($$select api.courier_wait(1000)$$), '<', 20::bigint,
    'asking when mail is due');
select t.take(30, 30, 'NEW'), t.open(30, 30), t.age(30);
update data.item set late = '{refund}' where sku = 'NEW';
select cmp_ok(t.money($$select t.event('p30', 'paid', 30)$$), '<', 120::bigint,
    'money that comes too late and is owed back');
select cmp_ok(t.money($$select t.dispute_event('d30', 'pi_30', 'open')$$),
    '<', 60::bigint, 'the bank looks into it');
select cmp_ok(t.money($$select t.dispute_event('d30b', 'pi_30', 'won')$$),
    '<', 60::bigint, 'and is done');
select cmp_ok(t.money($$select t.refund_event('r30', 'pi_30', 're_30',
    'succeeded', 1000)$$), '<', 80::bigint, 'a part goes back by hand');
select cmp_ok(t.money($$select api.cashier_refused(t.call(30, 'refund'),
    'x')$$), '<', 40::bigint, 'the rest is refused');
select cmp_ok(t.money($$select api.task_retry((select task_id from data.task
    where settled_at is null and kind = 'refused'), 'ann')$$), '<', 40::bigint,
    'and asked for again');
select * from finish();
rollback;
