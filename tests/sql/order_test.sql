-- Orders, as the operator sees them, and money that the operator gives back.
begin;
\ir lib/fixture.sql
select plan(58);
create function t.ord(n integer) returns text language sql
return (select 'ord_' || hold_id from data.hold where id = t.hid(n));
-- What order_refund answers: outcome, refunded, left, currency.
create function t.said(name text, amount bigint default null) returns text
language sql
return (select concat_ws(' ', outcome, document::json->>'refunded',
        document::json->>'left', document::json->>'currency')
    from api.order_refund(name, amount, 'ann'));
create function t.refunds(n integer) returns text language sql
return (select string_agg(concat_ws(' ', r.state, r.amount, r.reason,
        r.asked_by, replace(r.key, t.hid(n), '')), ', ' order by r.refund_id)
    from data.refund r join data.payment p using (payment_id)
    join data.hold h using (hold_id) where h.id = t.hid(n));
-- The provider does all that the cashier asks of it.
create function t.send() returns bigint language sql
return (select count(api.cashier_refunded(c.outbox_id, 're_' || c.key,
    'succeeded')) from t.claim() c where c.kind = 'refund');

create function t.bought(n integer) returns text language plpgsql as $$
begin
    perform t.take(n, n, 'SHOE');
    perform t.open(n, n);
    return t.event('e' || n, 'paid', n);
end
$$;

-- Each refusal.
select t.item('SHOE', 20, per_buyer => 3);
select is(t.said('ord_0'), 'no-such-order', 'no-such-order');
select is(t.said('hld_nope'), 'no-such-order', 'by its hold''s id neither');
select t.take(1, 1, 'SHOE', 3);
select is(t.said(t.hid(1)), 'not-paid 0 0 EUR', 'not-paid: held');
select t.open(1, 1);
select is(t.said(t.ord(1)), 'not-paid 0 0 EUR', 'not-paid: the page is open');
select t.event('e1', 'paid', 1);
select is(t.said(t.ord(1), 7501), 'too-much 0 7500 EUR', 'too-much');
select is(t.refunds(1), null, 'none of these gave anything back');

-- A part, and another, and the rest.
select is(t.said(t.ord(1), 2500), 'done 2500 5000 EUR', 'a part is given back');
select is(t.refunds(1), 'owed 2500 asked_for ann refund-',
    'it is owed, and the books say who asked');
select is(t.state(1) || ', ' || t.stock('SHOE'),
    'paid (paid), 20+0 held 0 sold 3', 'C32: the order stands');
select is(t.doc(1)->>'refund', '{"state" : "owed", "reason" : "asked_for", '
    '"amount" : 2500}', 'its buyer sees it');
select is((select amount || ' ' || key || ' ' || payment_ref from t.claim()),
    '2500 refund-' || t.hid(1) || ' pi_1', 'the cashier is to send so much');
select api.cashier_refunded(t.call(1, 'refund'), 're_1', 'succeeded');
select is(t.said(t.hid(1), 5001), 'too-much 2500 5000 EUR',
    'too-much, after a part');
select is(t.said(t.hid(1), 1000), 'done 3500 4000 EUR', 'another part');
select is(t.said(t.hid(1), 1000), 'done 4500 3000 EUR',
    'each call gives back once more');
select is(t.send(), 2::bigint, 'both are sent');
select is(t.refunds(1), 'succeeded 2500 asked_for ann refund-, '
    'succeeded 1000 asked_for ann refund--2, '
    'succeeded 1000 asked_for ann refund--3', 'each by a key of its own');
select is(t.doc(1)->'refund'->>'amount', '4500', 'its buyer sees the sum');
select is(t.said(t.hid(1)), 'done 7500 0 EUR', 'then all that is left');
select is(t.state(1) || ', ' || t.stock('SHOE'),
    'released refunded (refund_owed), 20+0 held 0 sold 0',
    'which ends the order: its units are on sale again');
select is(t.said(t.hid(1)), 'nothing-left 7500 0 EUR', 'nothing-left');
select is(t.said(t.hid(1), 1), 'nothing-left 7500 0 EUR',
    'nothing-left, not a cent');
select is(t.send(), 1::bigint, 'the rest is sent');
select is(t.state(1), 'released refunded (refunded)', 'and has arrived');
select is((select string_agg(kind, ',' order by mail_id) from data.mail
    where kind not in ('task')), null, 'C22: who left no address gets no mail');

-- All at once, by the amount.
select t.bought(2);
update data.hold set email = 'b2@example.org' where id = t.hid(2);
select is(t.said(t.hid(2), 2500), 'done 2500 0 EUR', 'all, by the amount');
select is(t.state(2), 'released refunded (refund_owed)', 'ends it as well');
select t.send();
select is((select string_agg(kind, ',' order by mail_id) from data.mail
    where kind <> 'task'), 'refund_owed,refunded', 'the buyer is told twice');
-- The buyer may buy again.
select is(t.take(3, 2, 'SHOE', 3), 'created', 'promise 3: the limit is free');

-- A refund that failed is left to be given back another way, or again.
select t.open(3, 2); select t.event('e3', 'paid', 3);
select is(t.said(t.hid(3), 7500), 'done 7500 0 EUR', 'all of three');
select t.claim();
select api.cashier_refunded(t.call(3, 'refund'), 're_3', 'failed');
select is(t.tasks(), 'refund_failed', 'it fails: a person is told');
select is((select count(*) from t.claim()), 0::bigint,
    'and it is not tried again by itself');
select is(t.state(3) || ', ' || t.stock('SHOE'),
    'released refunded (refund_failed), 20+0 held 0 sold 0',
    'the order stays cancelled');
select is(t.said(t.hid(3), 500), 'done 500 7000 EUR',
    'the operator may send it again');
select is(t.stock('SHOE'), '20+0 held 0 sold 0', 'which moves no stock');

-- Disputed.
select t.bought(4);
select t.dispute_event('d4', 'pi_4', 'open');
select is(t.said(t.hid(4)), 'disputed 0 2500 EUR', 'disputed: open');
select is(t.said(t.hid(4), 1), 'disputed 0 2500 EUR', 'not even a part');
select t.dispute_event('d4b', 'pi_4', 'won');
select is(t.said(t.hid(4), 1000), 'done 1000 1500 EUR', 'won: ours again');
select t.bought(5);
select t.dispute_event('d5', 'pi_5', 'open');
select t.dispute_event('d5b', 'pi_5', 'lost');
select is(t.said(t.hid(5)), 'disputed 0 0 EUR',
    'lost: the bank has given it back, we do not as well');
select is(t.state(5), 'paid (paid)', 'no stock moves');
-- Owed when the dispute opens: kept back, then void.
select t.take(6, 6, 'SHOE', 2); select t.open(6, 6);
select t.event('e6', 'paid', 6);
select t.send();
select t.said(t.hid(6), 1000);
select t.dispute_event('d6', 'pi_6', 'open');
select is(t.send(), 0::bigint, 'what is owed is kept back');
select t.dispute_event('d6b', 'pi_6', 'lost');
select is(t.refunds(6), 'void 1000 asked_for ann refund-', 'and is void then');

-- Another amount than asked for.
select t.take(7, 7, 'SHOE'); select t.open(7, 7);
select t.event('e7', 'paid', 7, 2400);
select is(t.said(t.hid(7), 2500), 'too-much 0 2400 EUR',
    'mismatch: no more than came');
select is(t.said(t.hid(7)), 'done 2400 0 EUR', 'mismatch: what came');
select is(t.state(7), 'released refunded (refund_owed)', 'the hold is over');
-- Two payments of one order.
select t.bought(8);
select t.event('e8b', 'paid', 8, session => 'cs_8b', ref => 'pi_8b');
select is(t.said(t.hid(8), 2501), 'too-much 2500 2500 EUR',
    'paid twice: one goes back by itself');
select is(t.said(t.hid(8)), 'done 5000 0 EUR', 'the other when asked');
select is(t.state(8), 'released refunded (refund_owed)', 'which ends it');
select t.send();

-- order_list
select is((select string_agg(concat_ws(' ', o->>'order', o->>'state',
        o->>'captured', o->>'refunded'), ', ') from json_array_elements(
        api.order_list(null, null, 3)::json) o),
    format('%s released 5000 5000, %s released 2400 2400, %s paid 5000 0',
        t.ord(8), t.ord(7), t.ord(6)), 'order_list: the newest');
select is((select string_agg(o->>'order', ', ') from json_array_elements(
    api.order_list('paid', null, 9)::json) o), format('%s, %s, %s', t.ord(6),
    t.ord(5), t.ord(4)), 'order_list: of a state');
select is(api.order_list(null, 'nope', 9), '[]', 'order_list: of an item');
select is(json_array_length(api.order_list(null, 'SHOE', 99)::json), 8,
    'order_list: every order that money came for');

-- order_show
select is(api.order_show('ord_0'), null, 'order_show: none');
select is((select string_agg(concat_ws(' ', r->>'state', r->>'amount',
        r->>'asked_by'), ', ') from json_array_elements(
        api.order_show(t.ord(1))::json->'payments'->0->'refunds') r),
    'succeeded 2500 ann, succeeded 1000 ann, succeeded 1000 ann, '
    'succeeded 3000 ann', 'order_show: its refunds');
select is((select string_agg(task->>'kind' || coalesce(' ' ||
        (task->>'note'), ''), ', ') from json_array_elements(
        api.order_show(t.hid(6))::json->'tasks') task),
    'dispute lost, dispute_lost', 'order_show: its tasks');
select is(api.order_show(t.hid(4))::json->'payments'->0->>'dispute', 'won',
    'order_show: the dispute');
select is(api.order_show(t.hid(8)) ~ 'http://', false,
    'order_show: no pay page''s address');
select is(t.tasks(), 'refund_failed,dispute_lost,dispute_lost,mismatch',
    'what is left for a person');
select t.clean();
select * from finish();
rollback;
