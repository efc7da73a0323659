-- Plans are made once a session, at worst on tables that were analyzed when
-- they were empty. What a call reads must not grow with what is there all the
-- same. The settings are those of io/pg_session.c.
begin;
\ir lib/fixture.sql
select plan(6);
set local plan_cache_mode = force_generic_plan;
set local enable_seqscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;
truncate data.item, data.stock, data.hold, data.hold_line, data.payment,
    data.refund, data.event, data.outbox, data.item_change, data.task,
    data.mail;
analyze data.hold, data.hold_line, data.payment, data.outbox, data.event;
select t.item('OLD', 2000); select t.item('NEW', 2000);

-- Rows that this transaction has read of holds and lines so far.
create function t.reads() returns bigint language sql volatile
return (select sum(seq_tup_read + idx_tup_fetch)
    from pg_stat_xact_user_tables
    where schemaname = 'data' and relname in ('hold', 'hold_line'));
create table t.seen (n bigint);
create function t.cost(statement text) returns bigint language plpgsql as $$
declare
    before_it bigint := t.reads();
begin
    execute statement;
    return t.reads() - before_it;
end
$$;

-- Each is planned now, on nothing.
select t.take(1, 1, 'OLD'), t.open(1, 1), t.event('e1', 'paid', 1);
select t.take(2, 2, 'OLD'), t.age(2), t.take(3, 2, 'OLD');
select api.sweep(10); select api.hold_drop(t.hid(3), t.buyer(2));
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
select * from finish();
rollback;
