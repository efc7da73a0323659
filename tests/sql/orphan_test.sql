-- Calls of a cashier that is gone are due at once; those of one that lives,
-- when their lease is over; and those that wait for their next try, then.
begin;
\ir lib/fixture.sql
select plan(8);

select t.item('O', 10);
select t.take(n, n, 'O') from generate_series(1, 3) n;
select t.start(n, n) from generate_series(1, 3) n;
select is((select count(*) from t.claim()), 3::bigint, 'all are claimed');
select is((select count(*) from t.claim()), 0::bigint,
    'and nobody''s who asks again');
select is(api.cashier_wait('stripe', 60000) > 1000, true,
    'until their lease is over');

-- No session has this number.
update data.outbox set claimed_by = 2147483647
where outbox_id = t.call(1, 'open');
select is((select string_agg(hold || ' ' || try, ',') from t.claim()),
    t.hid(1) || ' 2', 'whose cashier is gone is claimed at once');

update data.outbox set claimed_by = 2147483647
where outbox_id = t.call(2, 'open');
select is(api.cashier_retry(t.call(2, 'open'), 'no answer', 60000, 9), false,
    'a call without an outcome');
select is((select count(*) from t.claim()), 0::bigint,
    'waits for its next try, whoever made it');

select is(api.cashier_wait('standard', 1000), 1000,
    'calls to another provider keep nobody awake');
select t.clean();
rollback;
