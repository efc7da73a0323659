-- Whatever order the provider's news and our own acts come in, and however
-- often: the same end, nothing lost, nothing twice, no state backwards.
begin;
\ir lib/fixture.sql
\ir lib/history.sql
select plan(32);
-- As io/pg_session.c sets it; what was undone here is dead, but not gone.
set local enable_seqscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;

-- The setups. The page is asked for, and the provider has been called.
create procedure t.asked(units bigint, extra bigint default 0)
language plpgsql as $$
begin
    perform t.item(t.mine(), units, allowance => extra);
    perform t.take(t.me(), t.me(), t.mine());
    perform t.start(t.me(), t.me());
    perform 1 from t.claim();
end
$$;
-- It is open.
create procedure t.opened(units bigint, extra bigint default 0)
language plpgsql as $$
begin
    call t.asked(units, extra);
    perform t.happens('opened', '');
end
$$;
-- The hold has ended; a rival may have the unit.
create procedure t.over(units bigint, extra bigint default 0,
    rival boolean default false)
language plpgsql as $$
begin
    call t.opened(units, extra);
    perform t.age(t.me());
    if rival then
        perform t.take(t.me() + 1, t.me() + 1, t.mine());
    end if;
end
$$;

-- Paid in time.
select t.history('paid in time', 'call t.asked(1)',
    '{opened,paid,intent}', '{"paid, in 2500 back 0"}');
select t.history('paid, then looked after', 'call t.opened(1)',
    '{paid,intent,calls,sweep}', '{"paid, in 2500 back 0"}');
-- Paid late.
select t.history('late, a unit is free', 'call t.over(1)',
    '{paid,intent,sweep,expired}', '{"paid, retake, in 2500 back 0"}');
select t.history('late, the allowance has one', 'call t.over(1, 1, true)',
    '{paid,intent,ended,expired}', '{"paid, allowance, in 2500 back 0"}');
select t.history('late, no unit', 'call t.over(1, 0, true)',
    '{paid,intent,expired,calls}',
    '{"released refunded, in 2500 back 2500, pending",
        "released expired, in 2500 back 2500, pending"}');
select t.history('late, no unit, the money arrives',
    'call t.over(1, 0, true)',
    '{paid,calls,"ours pending","ours succeeded"}',
    '{"released refunded, in 2500 back 2500, succeeded"}');
select t.history('late, and the refund fails in the end',
    'call t.over(1, 0, true)',
    '{paid,calls,"ours pending","ours succeeded","ours failed"}',
    '{"released expired, in 2500 back 0, failed, refund_failed",
        "released refunded, in 2500 back 0, failed, refund_failed"}');
-- Given up.
select t.history('given up, and paid all the same', 'call t.opened(1)',
    '{drop,paid,intent,calls}',
    '{"paid, in 2500 back 0", "paid, retake, in 2500 back 0"}');
-- A bank payment.
select t.history('a bank pays', 'call t.asked(1)',
    '{opened,pending,paid,intent}', '{"paid, in 2500 back 0"}');
select t.history('a bank pays days later', 'call t.over(1)',
    '{pending,paid,expired,sweep}', '{"paid, retake, in 2500 back 0"}');
select t.history('a bank does not pay', 'call t.asked(1)',
    '{opened,pending,failed,calls}',
    '{"released payment_failed, in 0 back 0"}');
select t.history('a bank does not pay, and then it does', 'call t.opened(1)',
    '{pending,failed,paid,intent}',
    '{"paid, in 2500 back 0", "paid, retake, in 2500 back 0"}');
-- Paid twice.
select t.history('paid twice', 'call t.opened(1)',
    '{paid,intent,twin,calls}', '{"paid, in 5000 back 2500, pending"}');
select t.history('paid twice, late, no unit', 'call t.over(1, 0, true)',
    '{paid,twin,expired,calls}',
    '{"released expired, in 5000 back 5000, pending pending"}');
select t.history('paid twice, late, one unit', 'call t.over(1)',
    '{paid,twin,intent,calls}',
    '{"paid, retake, in 5000 back 2500, pending"}');
-- Given back by us.
select t.history('given back here', 'call t.opened(1)',
    '{paid,back,calls,"ours succeeded"}',
    '{"released refunded, in 2500 back 2500, succeeded"}', '{paid > back}');
-- Given back at the provider.
select t.history('a part given back there', 'call t.asked(1)',
    '{opened,paid,"hand pending 1000","hand succeeded 1000"}',
    '{"paid, in 2500 back 1000, succeeded"}');
select t.history('all given back there', 'call t.asked(1)',
    '{opened,paid,intent,"hand succeeded 2500"}',
    '{"released refunded, in 2500 back 2500, succeeded"}');
select t.history('all given back there, told with the order''s name',
    'call t.over(1)', '{paid,intent,"named succeeded 2500",sweep}',
    '{"released refunded, in 2500 back 2500, succeeded",
        "released refunded, retake, in 2500 back 2500, succeeded"}');
select t.history('the second money given back there', 'call t.opened(1)',
    '{paid,twin,"hand2 succeeded 2500",intent}',
    '{"paid, in 5000 back 2500, succeeded",
        "released refunded, in 5000 back 5000, pending succeeded"}');
select t.history('given back here and there', 'call t.opened(1)',
    '{paid,back,"hand succeeded 2500",calls}',
    '{"released refunded, in 2500 back 2500, succeeded"}',
    '{paid > back, "hand succeeded 2500 > calls"}');
select t.history('a part there, the rest here', 'call t.opened(1)',
    '{paid,back,"hand succeeded 1000",calls}',
    '{"released refunded, in 2500 back 2500, pending succeeded"}',
    '{paid > back, "hand succeeded 1000 > calls"}');
select t.history('a refund there fails', 'call t.opened(1)',
    '{paid,"hand pending 2500","hand succeeded 2500","hand failed 2500"}',
    '{"released refunded, in 2500 back 0, failed, refund_failed",
        "paid, in 2500 back 0, failed, refund_failed"}');
-- Disputes.
select t.history('a dispute, won', 'call t.opened(1)',
    '{paid,"dispute open","dispute won",intent}',
    '{"paid, in 2500 back 0, won"}');
select t.history('a dispute, lost', 'call t.opened(1)',
    '{paid,"dispute open","dispute lost",calls}',
    '{"paid, in 2500 back 0, lost, dispute_lost"}');
select t.history('a dispute of money that goes back',
    'call t.over(1, 0, true)',
    '{paid,"dispute open","dispute won",calls}',
    '{"released expired, in 2500 back 2500, pending, won"}');
select t.history('a dispute of money that goes back, lost',
    'call t.over(1, 0, true)',
    '{paid,"dispute open","dispute lost",calls}',
    '{"released expired, in 2500 back 0, lost, dispute_lost",
        "released expired, in 2500 back 2500, pending, lost, dispute_lost"}');
select t.history('an inquiry, and a dispute of another name',
    'call t.opened(1)', '{paid,"dispute inquiry du","dispute inquiry_closed du",
        "dispute open dv","dispute lost dv"}',
    '{"paid, in 2500 back 0, inquiry_closed lost, dispute_lost"}');
select t.history('an inquiry that becomes a dispute', 'call t.opened(1)',
    '{paid,"dispute inquiry du","dispute inquiry_closed du","dispute open du",
        "dispute won du"}', '{"paid, in 2500 back 0, won"}');
select t.history('money that goes back: a part disputed, another lost',
    'call t.over(1, 0, true)',
    '{paid,"dispute open du 1000","dispute won du 1000","dispute lost dv 700",
        calls}',
    '{"released expired, in 2500 back 1800, pending, lost won, dispute_lost",
        "released expired, in 2500 back 2500, pending, lost won, dispute_lost"}');
-- Nobody pays.
select t.history('the page ends', 'call t.over(1)',
    '{ended,expired,sweep,drop}', '{"released expired, in 0 back 0"}');
-- Another amount.
select t.history('another amount', 'call t.asked(1)',
    '{opened,short,pending,expired}',
    '{"held, in 2400 back 0, mismatch",
        "released expired, in 2400 back 0, mismatch"}');
select * from finish();
rollback;
