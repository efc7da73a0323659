-- The stand-in provider: its clock, and money that moves late or back.
begin;
\ir lib/sandbox.sql
select plan(82);

-- The clock ----------------------------------------------------------------

select is(sandbox.clock_show()::jsonb ->> 'ahead_ms', '0', 'the real time');
select pg_temp.open() as id \gset
select is(sandbox.tick(10), 0, 'nothing is due');
select is(sandbox.clock_forward(86400000)::jsonb ->> 'ahead_ms', '86400000',
    'a day on');
select ok(sandbox.now() - clock_timestamp() between '23 h 59 m' and '24 h',
    'it is now');
select is(sandbox.tick(10), 1, 'a session is over');
select is(pg_temp.events(:'id'), 'checkout.session.expired', 'and says so');
select ok((select (body::jsonb ->> 'created')::bigint
    - extract(epoch from clock_timestamp()) > 86000 from sandbox_data.event),
    'its event is of that time');

select pg_temp.open(jsonb_build_object('expires_at',
    (extract(epoch from clock_timestamp())::bigint + 1860)::text)) as id \gset
select is((pg_temp.get(:'id') ->> 'expires_at')::bigint / 10,
    (extract(epoch from clock_timestamp())::bigint + 1860) / 10,
    'a shop of the real time opens sessions, and sees its own time');
select is(sandbox.tick(10), 0, 'which do not lapse at once');
select is((select left_ms / 60000 between 30 and 31
    from sandbox.session_page(:'id')), true, 'they live as long as wanted');
select sandbox.clock_forward(1900000) as now \gset
select is(sandbox.tick(10), 1, 'and no longer');
select is(pg_temp.refused(jsonb_build_object('expires_at',
    (sandbox.epoch(sandbox.now()) + 1860)::text)), '200',
    'or by the clock here');
select is(pg_temp.refused(jsonb_build_object('expires_at',
    (extract(epoch from clock_timestamp())::bigint + 1700)::text)),
    '400 expires_at', 'not under 30 minutes of either');
select pg_temp.open('{}', 'day') as first \gset
select sandbox.clock_forward(86400001) as now \gset
select isnt(pg_temp.open('{}', 'day'), :'first'::text,
    'keys are forgotten after a day of this clock');
delete from sandbox_data.delivery;
select is(sandbox.tick(100) > 0, true, 'old sessions end');

-- Debits --------------------------------------------------------------------

select pg_temp.open() as bank \gset
select is(sandbox.session_bank(:'bank', 'succeeded', 5000), 'bank',
    'a debit under way');
select is(sandbox.book_counts() ->> 'money_waiting', '1', 'is waited for');
delete from sandbox_data.delivery;
select ok(sandbox.wait(60000) between 1 and 5000, 'the sender wakes for it');
select is(sandbox.tick(10), 0, 'not yet');
select sandbox.clock_forward(5000) as now \gset
select is(sandbox.wait(60000), 0, 'now something is due');
select is(sandbox.tick(10), 1, 'it comes');
select is(pg_temp.events(:'bank'), 'checkout.session.completed '
    'payment_intent.succeeded checkout.session.async_payment_succeeded',
    'and says so');
select pg_temp.open() as bank \gset
select sandbox.session_bank(:'bank', 'failed', 5000) as view \gset
select is(sandbox.session_bank(:'bank', 'succeeded', 0), 'paid',
    'the bank decides at once after all');
select sandbox.clock_forward(5000) as now \gset
select is(sandbox.tick(10), 0, 'and only once');

-- Refunds -------------------------------------------------------------------

select pg_temp.paid('paid') as intent \gset
select pg_temp.fault('refund', 'refund_pending', 100, 1, 1000) as fault \gset
select is(pg_temp.refund(:'intent', '98', 'slow'), 'pending', 'a slow refund');
select is((select pg_temp.get(s.id) ->> 'status' from sandbox_data.session s
    where origin = 'paid'), 'complete', 'of a paid session');
select is(sandbox.books()::jsonb -> 'refund_pending', '{"EUR": 98}',
    'is on its way');
select is(sandbox.tick(10), 0, 'not yet');
select sandbox.clock_forward(1000) as now \gset
select is(sandbox.tick(10), 1, 'it gets there');
select is((select (body::jsonb ->> 'type', body::jsonb
        #>> '{data,object,status}', body::jsonb
        #>> '{data,previous_attributes,status}')::text
    from sandbox_data.event order by event_seq desc limit 1),
    '(refund.updated,succeeded,pending)', 'and says what it was before');
select is(sandbox.books()::jsonb -> 'refunded', '{"EUR": 98}', 'is gone');

select pg_temp.fault('refund', 'refund_fails', 100, 1, 1000) as fault \gset
select is(pg_temp.refund(:'intent', '900', 'fails'), 'succeeded',
    'one that succeeds');
select sandbox.clock_forward(1000) as now \gset
select is(sandbox.tick(10), 1, 'but turns');
select is((select (body::jsonb ->> 'type', body::jsonb
        #>> '{data,object,failure_reason}')::text
    from sandbox_data.event order by event_seq desc limit 1),
    '(refund.failed,expired_or_canceled_card)', 'has failed');
select is(sandbox.books()::jsonb -> 'refunded', '{"EUR": 98}',
    'the money is back');
select pg_temp.fault('refund', 'refund_pending_fails', 100, 1, 0) as fault \gset
select is(pg_temp.refund(:'intent', '900', 'both'), 'pending', 'a slow one');
select is(sandbox.tick(10), 1, 'that fails, too');
select is((sandbox.books()::jsonb ->> 'refunds_failed'), '2', 'both did');
select is((select answer::jsonb ->> 'status' from sandbox.refund_get(
    (select id from sandbox_data.refund where origin = 'both'))), 'failed',
    'it can be looked at');
select is((select http_status from sandbox.refund_get('re_x')), 404,
    'an unknown one');
select ok(sandbox.refund_fail((select id from sandbox_data.refund
    where origin = 'both')), 'a failed one stays as it is');
select is((select refunded from sandbox_data.payment where id = :'intent'),
    98::bigint, 'and is not counted twice');

-- At the dashboard -----------------------------------------------------------

select matches((select refund from sandbox.payment_refund(:'intent', 1000)),
    '^re_', 'somebody refunds a part');
select is((select (body::jsonb -> 'request', body::jsonb
        #> '{data,object,metadata}')::text from sandbox_data.event
    where type = 'refund.created' order by event_seq desc limit 1),
    ('{"id": null, "idempotency_key": null}'::jsonb, '{}'::jsonb)::text,
    'without a key or metadata of the shop');
select is((select problem from sandbox.payment_refund(:'intent', 9999)),
    'Refund amount (9999) is greater than unrefunded amount on charge (8900)',
    'not too much');
select is((select r::text from sandbox.payment_refund('pi_x', null) r), '(,)',
    'of an unknown payment');
select sandbox.payment_refund(:'intent', null) as rest \gset
select is((select refunded from sandbox_data.payment where id = :'intent'),
    9998::bigint, 'all that is left');

-- Disputes -------------------------------------------------------------------

select is((select problem from sandbox.payment_dispute(:'intent', false)),
    'all of it has been refunded', 'nothing left to dispute');
select is((select d::text from sandbox.payment_dispute('pi_x', false) d), '(,)',
    'an unknown payment');
select pg_temp.open() as id \gset
select sandbox.session_decline(:'id') as view \gset
select is((select problem from sandbox.payment_dispute(
    pg_temp.intent(:'id'), false)), 'it is not paid', 'not paid');
select pg_temp.paid('disputed') as intent \gset
select pg_temp.refund(:'intent', '98') as status \gset
select dispute from sandbox.payment_dispute(:'intent', false) \gset
select matches(:'dispute'::text, '^du_', 'a payment is disputed');
select is((select (body::jsonb ->> 'type', body::jsonb
        #>> '{data,object,amount}', body::jsonb
        #>> '{data,object,payment_intent}')::text
    from sandbox_data.event order by event_seq desc limit 1),
    format('(charge.dispute.created,9900,%s)', :'intent'::text),
    'what has not gone back of it');
select is((select problem from sandbox.payment_dispute(:'intent', false)),
    'it has been disputed already', 'once');
select is(pg_temp.refund(:'intent'), 'charge_disputed', 'no refund meanwhile');
select is((select sandbox.charge_json(session_id) ->> 'disputed'
    from sandbox_data.payment where id = :'intent'), 'true',
    'the charge says so');
select is(sandbox.books()::jsonb ->> 'disputes_open', '1', 'it is open');
select is((select dispute from sandbox.dispute_close(:'dispute', 'lost')),
    :'dispute'::text, 'the bank decides');
select is((select (body::jsonb ->> 'type', body::jsonb
        #>> '{data,object,status}')::text
    from sandbox_data.event order by event_seq desc limit 1),
    '(charge.dispute.closed,lost)', 'and says so');
select is((select problem from sandbox.dispute_close(:'dispute', 'won')),
    'it has been closed already', 'for good');
select is((select d::text from sandbox.dispute_close('du_x', 'won') d), '(,)',
    'an unknown one');
select is(sandbox.books()::jsonb -> 'disputed_lost', '{"EUR": 9900}',
    'the money is lost');
select is(pg_temp.refund(:'intent'), 'charge_disputed',
    'and does not go back once more');

-- The bank asks first: it may be content, or go on.
create function pg_temp.newest() returns text language sql
return (select body::jsonb ->> 'type' || ' '
        || (body::jsonb #>> '{data,object,status}')
    from sandbox_data.event order by event_seq desc limit 1);
select pg_temp.paid('asked') as intent \gset
select dispute from sandbox.payment_dispute(:'intent', true) \gset
select is(pg_temp.newest(), 'charge.dispute.created warning_needs_response',
    'the bank asks');
select is((select dispute from sandbox.payment_dispute(:'intent', true)),
    :'dispute'::text, 'once');
select is((select count(*) from sandbox_data.event
    where body::jsonb #>> '{data,object,id}' = :'dispute'), 1::bigint,
    'and says it once');
select is(pg_temp.refund(:'intent', '98'), 'succeeded',
    'it has taken nothing: a refund goes');
select is((select problem from sandbox.dispute_close(:'dispute', 'lost')),
    'it is only an inquiry', 'so nothing is lost');
select is((select dispute from sandbox.payment_dispute(:'intent', false)),
    :'dispute'::text, 'it goes on, under that name');
select is(pg_temp.newest(), 'charge.dispute.updated needs_response',
    'and says so');
select is(pg_temp.refund(:'intent', '98'), 'charge_disputed',
    'now it has the money');
select sandbox.dispute_close(:'dispute', 'won') as won \gset
select is((select dispute <> :'dispute' from sandbox.payment_dispute(
    :'intent', true)), true, 'another one asks');
select id as dispute from sandbox_data.dispute where closed_at is null \gset
select is(sandbox.books()::jsonb ->> 'disputes_open', '1', 'that is open');
select is((select dispute from sandbox.dispute_close(:'dispute', 'won')),
    :'dispute'::text, 'it is content');
select is(pg_temp.newest(), 'charge.dispute.closed warning_closed',
    'and says so');
select is((select problem from sandbox.dispute_close(:'dispute', 'won')),
    'it has been closed already', 'once');
select is((select dispute <> :'dispute' from sandbox.payment_dispute(
    :'intent', false)), true, 'a dispute after it has a name of its own');
select sandbox.dispute_close(id, 'won') as won from sandbox_data.dispute
where closed_at is null \gset

select pg_temp.fault('payment', 'dispute', 100, 1, 1000) as fault \gset
select pg_temp.paid() as intent \gset
select is(sandbox.tick(10), 0, 'a buyer who will call the money back');
select sandbox.clock_forward(1000) as now \gset
select is(sandbox.tick(10), 1, 'does');
select is((select count(*) from sandbox_data.dispute
    where status = 'needs_response'), 1::bigint, 'it is disputed');
select sandbox.dispute_close(id, 'won') as won from sandbox_data.dispute
where status = 'needs_response' \gset
select is(pg_temp.refund(:'intent'), 'succeeded',
    'won, the money is the shop''s to give back');
select pg_temp.fault('payment', 'dispute', 100, 1, 1000) as fault \gset
select pg_temp.paid() as intent \gset
select pg_temp.refund(:'intent') as status \gset
select sandbox.clock_forward(1000) as now \gset
select is(sandbox.tick(10), 1, 'who got it back by then');
select is(sandbox.books()::jsonb ->> 'disputes_open', '0',
    'does not dispute it');
select * from finish();
rollback;
