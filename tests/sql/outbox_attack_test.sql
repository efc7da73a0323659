-- Attacks by what the provider answers.
begin;
\ir lib/fixture.sql
select plan(10);
select t.item('S' || n, 1) from generate_series(1, 9) n;
select t.take(1, 1, 'S1'), t.open(1, 1);

-- The page of another order.
select t.take(2, 2, 'S2'), t.start(2, 2);
select kind from t.claim();
select lives_ok($$select api.cashier_opened(t.call(2, 'open'), 'cs_1',
    'http://pay.test/1')$$, 'one page for two orders is no fault of ours');
select is(t.start(2, 2), 'refused', 'the second has none');
select is(t.tasks(), 'refused', 'and a person is told');
select is((select string_agg(coalesce(session_id, 'none'), ' '
    order by payment_id) from data.payment), 'cs_1 none',
    'the first keeps its own');
select is(t.event('e1', 'paid', 1), 'applied', 'which buys the first');
select is(t.doc(2)->>'state', 'held', 'and not the second');
-- Under a new key it has a page of its own.
update data.payment set created_at = created_at - interval '6 s';
select is(t.open(2, 2), 'ready', 'asked for anew, it has one');
select is(t.event('e2', 'paid', 2), 'applied', 'that can be paid');

-- Refused, and then an earlier try turns out to have opened the page.
select t.take(3, 3, 'S3'), t.start(3, 3);
select kind from t.claim();
select api.cashier_refused(t.call(3, 'open'), 'no');
select api.cashier_opened(t.call(3, 'open'), 'cs_3', 'http://pay.test/3');
select is((select kind || ' ' || session_id from t.claim()), 'expire cs_3',
    'a page that was given up is ended at once');
select t.clean();
select * from finish();
rollback;
