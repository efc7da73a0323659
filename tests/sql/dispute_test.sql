-- Disputes: each by its own name, however its news comes; parts; what is owed
-- meanwhile; who is told.
begin;
\ir lib/fixture.sql
select plan(80);
select t.item('S' || n, 1) from generate_series(1, 20) n;

-- The news of a dispute of hold n's payment, under an event id never used.
create sequence t.ids;
create function t.news(n integer, dispute text, state text,
    amount bigint default 2500, currency text default 'EUR')
returns text language sql
return t.dispute_event('n' || nextval('t.ids'), 'pi_' || n, state, amount,
    dispute, currency);
-- The disputes of hold n; in a word; what a person has to do; what is owed.
create function t.disputes(n integer) returns text language sql
return (select concat_ws(': ', api.dispute_summary(p.payment_id),
        (select string_agg(concat_ws(' ', d.ref, d.state, d.amount), ', '
            order by d.dispute_id)
        from data.dispute d where d.payment_id = p.payment_id))
    from data.payment p where p.payment_ref = 'pi_' || n);
create function t.todo(n integer) returns text language sql
return (select string_agg(concat_ws(' ', k.kind, split_part(k.subject, ' ', 1),
        substring(k.detail from ': (.*)')), ', ' order by k.task_id)
    from data.task k join data.hold h using (hold_id)
    where h.id = t.hid(n) and k.settled_at is null);
create function t.owed(n integer) returns text language sql
return (select string_agg(r.amount || ' ' || r.state, ', '
        order by r.refund_id)
    from data.refund r join data.payment p using (payment_id)
    where p.payment_ref = 'pi_' || n);
create function t.sends() returns text language sql
return (select string_agg(hold || ' ' || amount, ', ' order by outbox_id)
    from t.claim() where kind = 'refund');
create function t.said(n integer, amount bigint default null) returns text
language sql
return (select concat_ws(' ', r.outcome, r.document::json->>'refunded',
        r.document::json->>'left')
    from api.order_refund(t.hid(n), amount, 'ann') r);

-- An inquiry that was closed, and a dispute of another name after it.
select t.sold(1);
select is(t.news(1, 'du_1', 'inquiry'), 'person', 'the bank asks');
select is(t.todo(1), 'dispute inquiry du_1', 'which is to be answered');
select is(t.said(1), 'disputed 0 2500', 'and nobody gives back meanwhile');
select is(t.news(1, 'du_1', 'inquiry'), 'repeat', 'its news once more');
select is(t.news(1, 'du_1', 'inquiry_closed'), 'applied', 'it asks no more');
select is(t.todo(1), null, 'nothing is left to do');
select is(t.disputes(1), 'won: du_1 inquiry_closed 2500', 'it cost nothing');
select is(t.news(1, 'du_1', 'inquiry'), 'repeat', 'an old one does not ask');
select is(t.news(1, 'du_1b', 'open'), 'person', 'then it takes the money');
select is(t.todo(1), 'dispute dispute du_1b', 'which is a task of its own');
select is(t.disputes(1), 'open: du_1 inquiry_closed 2500, du_1b open 2500',
    'a dispute of its own');
select is(t.news(1, 'du_1', 'inquiry_closed'), 'repeat',
    'the first one''s end does not end it');
select is(t.todo(1), 'dispute dispute du_1b', 'nor its task');
select is(t.news(1, 'du_1b', 'lost'), 'person', 'it is lost');
select is(t.todo(1), 'dispute_lost dispute du_1b', 'and a person hears of it');
select is(t.said(1), 'disputed 0 0', 'nothing is left to give back');
select is(t.state(1) || ', ' || t.stock('S1'),
    'paid (paid), 1+0 held 0 sold 1', 'no stock has moved');
select is((select count(*) from data.mail m join data.task using (task_id)),
    3::bigint, 'each was told');

-- An inquiry becomes a dispute under its own name, open or closed.
select t.sold(2); select t.sold(3);
select t.news(2, 'du_2', 'inquiry'), t.news(3, 'du_3', 'inquiry');
select t.news(3, 'du_3', 'inquiry_closed');
select is(t.news(2, 'du_2', 'open'), 'person', 'asking becomes taking');
select is(t.news(3, 'du_3', 'open'), 'person', 'even when it was closed');
select is(t.todo(2) || '; ' || t.todo(3),
    'dispute dispute du_2; dispute dispute du_3', 'to be answered anew');
select is(t.disputes(3), 'open: du_3 open 2500', 'one dispute still');
select is(t.news(2, 'du_2', 'inquiry'), 'repeat', 'it is past asking');
select is(t.news(3, 'du_3', 'inquiry_closed'), 'repeat', 'and past closing');
select is(t.news(2, 'du_2', 'won'), 'applied', 'won');
select is(t.news(2, 'du_2', 'open'), 'repeat', 'and not open again');
select is(t.disputes(2), 'won: du_2 won 2500', 'as its summary says');
select is(t.said(2, 1000), 'done 1000 1500', 'the money is ours again');

-- The end comes first; the beginning after it changes nothing.
select t.sold(4); select t.sold(5); select t.sold(6);
select is(t.news(4, 'du_4', 'inquiry_closed'), 'applied', 'closed first');
select is(t.news(4, 'du_4', 'inquiry'), 'repeat', 'then asked');
select is(t.news(5, 'du_5', 'lost'), 'person', 'lost first');
select is(t.news(5, 'du_5', 'open') || ' ' || t.news(5, 'du_5', 'inquiry')
    || ' ' || t.news(5, 'du_5', 'won'), 'repeat repeat repeat', 'then all');
select is(t.news(6, 'du_6', 'won'), 'applied', 'won first');
select is(concat_ws('; ', t.todo(4), t.todo(5), t.todo(6)),
    'dispute_lost dispute du_5', 'only what is lost is told');
-- Two ends of one dispute: that money is lost is told, whatever was before.
select is(t.news(6, 'du_6', 'lost'), 'person', 'and lost after all');
select is(t.todo(6), 'dispute_lost dispute du_6', 'which is told');

-- Two at once: each has its task, and nothing goes back while one is open.
select t.late(7);
select t.sends();
select t.news(7, 'du_7', 'open', 1000), t.news(7, 'du_7b', 'open', 700);
select is(t.todo(7), 'dispute dispute du_7, dispute dispute du_7b',
    'two disputes, two tasks');
select is(t.sends(), null, 'nothing is sent');
select t.news(7, 'du_7', 'won', 1000);
select is(t.todo(7), 'dispute dispute du_7b', 'one is left');
select is(t.sends(), null, 'nothing yet');
select t.news(7, 'du_7b', 'won', 700);
select is(t.sends(), t.hid(7) || ' 2500', 'none is open: it is sent');

-- A part is lost: the rest is still owed, and the buyer has not both.
select t.late(8);
select t.news(8, 'du_8', 'open', 1000);
select t.news(8, 'du_8', 'lost', 1000);
select is(t.owed(8), '2500 void, 1500 owed', 'a part is lost');
select is(t.sends(), t.hid(8) || ' 1500', 'the rest goes back');
-- Another is open meanwhile: the rest waits for it.
select t.late(9);
select t.news(9, 'du_9', 'open', 500), t.news(9, 'du_9b', 'inquiry', 2000);
select t.news(9, 'du_9', 'lost', 500);
select is(t.owed(9), '2500 void, 2000 owed', 'one lost, one open');
select is(t.sends(), null, 'so nothing is sent');
select is(t.disputes(9), 'lost: du_9 lost 500, du_9b inquiry 2000',
    'in a word: lost');
select t.news(9, 'du_9b', 'inquiry_closed', 2000);
select is(t.sends(), t.hid(9) || ' 2000', 'until it is closed');
-- Lost in parts: together it is all.
select t.late(10);
select t.news(10, 'du_10', 'lost', 1000), t.news(10, 'du_10b', 'lost', 1500);
select is(t.owed(10), '2500 void, 1500 void', 'the parts are all of it');
select is(t.sends(), null, 'nothing is left to send');
-- More than came in, as the rate has changed; or no amount that we can count.
select t.late(11); select t.late(12); select t.late(13);
select t.news(11, 'du_11', 'lost', 2600);
select t.news(12, 'du_12', 'lost', null);
select t.news(13, 'du_13', 'lost', 1000, 'USD');
select is(t.owed(11) || ', ' || t.owed(12) || ', ' || t.owed(13),
    '2500 void, 2500 void, 2500 void', 'all of it is lost');
select is(t.disputes(13), 'lost: du_13 lost', 'whatever that is in EUR');

-- A part of what was bought is lost: the order stands; the rest of its money
-- can be given back, and no more.
select t.sold(14);
select t.news(14, 'du_14', 'lost', 1000);
select is(t.state(14), 'paid (paid)', 'a part is lost: the order stands');
select is(t.said(14, 1501), 'too-much 0 1500', 'not more than is left');
select is(t.said(14, 500), 'done 500 1000', 'a part of it');
select is(t.state(14), 'paid (paid)', 'the order stands');
select is(t.said(14), 'done 1500 0', 'all that is left');
select is(t.state(14), 'released refunded (refund_owed)', 'which ends it');
select is(t.stock('S14'), '1+0 held 0 sold 0', 'it is on sale again');
select is(t.said(14), 'disputed 1500 0', 'then nothing is left');
-- All of it had gone back when the bank gave it back once more.
select t.sold(15);
select t.said(15), t.sends();
select api.cashier_refunded(t.call(15, 'refund'), 're_15', 'succeeded');
select is(t.news(15, 'du_15', 'lost'), 'person', 'given back twice');
select is(t.owed(15), '2500 succeeded', 'what has gone back stays so');

-- Known before the money: a part is served, all of it is not.
create function t.before(n integer, amount bigint) returns text
language plpgsql as $$
begin
    perform t.take(n, n, 'S' || n), t.open(n, n);
    perform t.event('way' || n, 'pending', n);
    perform t.news(n, 'du_' || n, 'lost', amount);
    return t.event('paid' || n, 'paid', n);
end
$$;
select is(t.before(16, 1000), 'applied', 'a part was lost before');
select is(t.state(16), 'paid (paid)', 'it is served: the same as after');
select is(t.before(17, null), 'applied', 'all was lost before');
select isnt(t.doc(17)->>'state', 'paid', 'it is not served for nothing');

-- Without a name a payment has one dispute, beside those that have.
select t.sold(18);
select is(t.news(18, null, 'open') || ' ' || t.news(18, null, 'won') || ' '
    || t.news(18, null, 'open'), 'person applied repeat', 'nameless: once');
select is(t.news(18, 'd_18', 'open'), 'person', 'one with a name');
select is(t.news(18, null, 'lost'), 'person', 'lost money is always told');
select is(t.todo(18), 'dispute dispute d_18, dispute_lost dispute',
    'each has its task');
select is(t.news(18, 'd_18', 'odd'), 'person', 'a state that is none');
select is(t.todo(18), 'dispute dispute d_18, dispute_lost dispute',
    'changes nothing');
select is((select kind || ' ' || detail from data.task
    where subject like 'event %'), 'unclear a dispute in a state that is none',
    'and a person is told');

-- The same name at two payments is two disputes.
select t.sold(19);
select is(t.news(19, 'du_1b', 'open'), 'person', 'another payment''s name');
select is(t.todo(19), 'dispute dispute du_1b', 'is another dispute');

-- A refund is on its way when the bank's say is heard of, and the provider says
-- no to it only then. That no is kept under its key, too.
select t.late(20);
select t.sends();
select t.news(20, 'du_20', 'open');
select api.cashier_refused(t.call(20, 'refund'), 'charge_disputed',
    'refund-' || t.hid(20));
select is(t.todo(20), 'dispute dispute du_20', 'the bank''s say is the task');
select t.news(20, 'du_20', 'won');
select is((select key || ' ' || refund_key from t.claim()
        where kind = 'refund'),
    format('refund-%s-again-2 refund-%1$s', t.hid(20)),
    'sent under a new key when it is over');

-- order_show, event_show
select is((select string_agg(concat_ws(' ', d->>'dispute', d->>'state',
        d->>'amount', (d->>'ended_at') is not null), ', ')
    from json_array_elements(api.order_show(t.hid(1))::json
        ->'payments'->0->'disputes') d),
    'du_1 inquiry_closed 2500 t, du_1b lost 2500 t',
    'order_show: its disputes');
select is(api.order_show(t.hid(1))::json->'payments'->0->>'dispute', 'lost',
    'order_show: in a word');
select is((select concat_ws(' ', e->>'dispute', e->>'refund', e->>'state')
    from (select api.event_show(event_id)::json as e from data.event
        where kind = 'dispute' order by event_seq limit 1) x),
    'du_1 inquiry', 'event_show: which one');
select t.clean();
select * from finish();
rollback;
