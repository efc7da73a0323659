-- Promises 4 and 5, in every order: what the provider tells, what the buyer,
-- the bank, a rival and the operator do, and when the cashier makes its calls.
-- Each story is one order's; the ends that are listed are all there are.
begin;
\ir lib/fixture.sql
\ir lib/history.sql
\ir lib/book.sql
\ir lib/every.sql
select plan(31);
-- As io/pg_session.c sets it; what was undone here is dead, but not gone.
set local enable_seqscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;

-- One unit and a rival for it.
select t.story('in time', $$call t.begin(1); select t.book('{2500}')$$,
    '{opened,paid,intent,expired}',
    '{"paid, in 2500 back 0",
        "paid, retake, in 2500 back 0"}');
select t.story('the hold ends, a rival comes',
    $$call t.page(1); select t.book('{2500}')$$,
    '{lapse,rival,paid,calls}',
    '{"paid, in 2500 back 0",
        "paid, retake, in 2500 back 0",
        "released expired, in 2500 back 2500, pending"}');
select t.story('the same, and late money always goes back',
    $$call t.page(1, 0, '{refund}'); select t.book('{2500}')$$,
    '{lapse,rival,paid,calls}',
    '{"paid, in 2500 back 0",
        "released expired, in 2500 back 2500, pending"}');
select t.story('the same, and there is an allowance',
    $$call t.gone(1, 1, '{allowance,refund}'); select t.book('{2500}')$$,
    '{rival,paid,intent,calls}',
    '{"paid, allowance, in 2500 back 0"}');
select t.story('given up before the page was opened',
    $$call t.begin(1); select t.book('{2500}')$$,
    '{drop,opened,paid,rival}',
    '{"paid, in 2500 back 0",
        "paid, retake, in 2500 back 0",
        "released dropped, in 2500 back 2500, pending"}');
select t.story('a page that was refused is paid',
    $$call t.begin(1); select t.book('{2500}')$$,
    '{unopened,paid,lapse,calls}',
    '{"paid, in 2500 back 0",
        "paid, in 2500 back 0, refused",
        "paid, retake, in 2500 back 0",
        "paid, retake, in 2500 back 0, refused"}');
-- A bank takes its time.
select t.story('a bank pays', $$call t.page(1); select t.book('{2500}')$$,
    '{pending,paid,lapse,rival}',
    '{"paid, in 2500 back 0",
        "paid, retake, in 2500 back 0",
        "released expired, in 2500 back 2500, pending"}');
select t.story('a bank does not pay', $$call t.page(1)$$,
    '{pending,failed,lapse,rival}',
    '{"released expired, in 0 back 0",
        "released payment_failed, in 0 back 0"}');
select t.story('a bank does not pay, another page is paid',
    $$call t.page(1); select t.book('{"2500 b"}')$$,
    '{pending,failed,twin,expired}',
    '{"paid, in 2500 back 0",
        "paid, retake, in 2500 back 0"}');
-- Two pages.
select t.story('paid twice', $$call t.begin(1);
    select t.book('{2500,2500 b}')$$,
    '{opened,paid,twin,twin-intent}',
    '{"paid, in 5000 back 2500, pending"}');
select t.story('paid twice, the hold ends, a rival comes',
    $$call t.page(1); select t.book('{2500,2500 b}')$$,
    '{lapse,rival,paid,twin}',
    '{"paid, in 5000 back 2500, pending",
        "paid, retake, in 5000 back 2500, pending",
        "released expired, in 5000 back 5000, pending pending"}');
select t.story('asked for again after a refusal, both pages are paid',
    $$call t.second(1); select t.book('{2500,2500 b -2}')$$,
    '{paid,twin,lapse,calls}',
    '{"paid, in 5000 back 2500, pending, refused",
        "paid, retake, in 5000 back 2500, pending, refused"}');
select t.story('asked for again after a refusal, the first page is paid',
    $$call t.second(1); select t.book('{2500}')$$,
    '{paid,intent,calls}', '{"paid, in 2500 back 0, refused"}');
select t.story('paid twice, the first is given back there',
    $$call t.page(1); select t.book('{2500,2500 b}',
        '{re_hand 2500 succeeded}')$$,
    '{paid,twin,"hand succeeded",calls}',
    '{"paid, in 5000 back 2500, succeeded",
        "released refunded, in 5000 back 5000, pending succeeded"}');
select t.story('paid twice, all is given back here',
    $$call t.page(1); select t.book('{2500,2500 b}')$$,
    '{paid,twin,back,calls}',
    '{"released refunded, in 5000 back 5000, pending pending"}',
    '{paid > back}');
select t.story('another amount, and then the right one',
    $$call t.page(1); select t.book('{2400,2500 b}')$$,
    '{paid,twin,lapse,rival}',
    '{"paid, in 4900 back 0, mismatch",
        "paid, retake, in 4900 back 0, mismatch",
        "released expired, in 4900 back 2500, pending, mismatch"}');
select t.story('another amount is given back',
    $$call t.page(1); select t.book('{2400}', '{re_hand 2400 succeeded}')$$,
    '{paid,intent,"hand succeeded",lapse}',
    '{"released refunded, in 2400 back 2400, succeeded, mismatch"}');
-- Given back there.
select t.story('all of it, which fails', $$call t.page(1);
    select t.book('{2500}', '{re_hand 2500 failed}')$$,
    '{paid,"hand succeeded","hand failed",calls}',
    '{"paid, in 2500 back 0, failed, refund_failed",
        "released refunded, in 2500 back 0, failed, refund_failed"}');
select t.story('a part of what is owed', $$call t.gone(1);
    select t.book('{2500}', '{re_hand 1000 succeeded}')$$,
    '{paid,"hand pending","hand succeeded",calls}',
    '{"released refunded, in 2500 back 2500, pending succeeded"}');
select t.story('all that is owed, in parts', $$call t.gone(1);
    select t.book('{2500}', '{re_hand 1000 succeeded,
        re_hand2 1500 succeeded}')$$,
    '{paid,"hand succeeded","hand2 succeeded",calls}',
    '{"released refunded, in 2500 back 2500, succeeded succeeded"}');
select t.story('all of it, a part is asked for here', $$call t.page(1);
    select t.book('{2500}', '{re_hand 2500 succeeded}')$$,
    '{paid,"part 1500","hand succeeded",calls}',
    '{"released refunded, in 2500 back 2500, succeeded"}',
    '{paid > part 1500}');
select t.story('a part of it, the rest here in two', $$call t.page(1);
    select t.book('{2500}', '{re_hand 1000 succeeded}')$$,
    '{paid,"part 700",back,"hand succeeded",calls}',
    '{"released refunded, in 2500 back 2500, pending pending succeeded"}',
    '{paid > part 700, part 700 > back}');
-- Calls without an answer.
select t.story('a refund is sent, the answer lost, and it fails',
    $$call t.gone(1); select t.book('{2500}')$$,
    '{paid,sent,"ours succeeded","ours failed",calls}',
    '{"released expired, in 2500 back 0, failed, refund_failed",
        "released refunded, in 2500 back 0, failed, refund_failed"}',
    '{paid > sent, sent > ours succeeded, sent > ours failed}');
select t.story('a refund is given up, and a part is given back there',
    $$call t.gone(1); select t.book('{2500}', '{re_hand 1000 succeeded}')$$,
    '{paid,stuck,"hand succeeded",retry,calls}',
    '{"released refunded, in 2500 back 2500, pending succeeded"}',
    '{paid > stuck, stuck > retry}');
-- The bank has its say.
select t.story('a dispute of what goes back, won', $$call t.gone(1);
    select t.book('{2500}', '{re_hand 1000 succeeded}')$$,
    '{paid,"dispute open","dispute won","hand succeeded"}',
    '{"released refunded, in 2500 back 2500, pending succeeded, won"}');
select t.story('a dispute of what goes back, lost', $$call t.gone(1);
    select t.book('{2500}')$$,
    '{paid,"dispute open","dispute lost",calls}',
    '{"released expired, in 2500 back 0, lost, dispute_lost",
        "released expired, in 2500 back 2500, pending, lost, dispute_lost"}');
select t.story('a dispute of the first of two payments, lost',
    $$call t.page(1); select t.book('{2500,2500 b}')$$,
    '{paid,twin,"dispute lost",calls}',
    '{"paid, in 5000 back 0, lost, dispute_lost",
        "paid, in 5000 back 2500, pending, lost, dispute_lost"}');
-- A provider that keeps no names of ours.
select t.story('known by the page and the payment only: in time',
    $$call t.begin(1); select t.book('{2500}'), t.bare()$$,
    '{opened,pending,paid,intent}',
    '{"paid, in 2500 back 0"}');
select t.story('known so: given back there', $$call t.begin(1);
    select t.book('{2500}', '{re_hand 2500 succeeded}'), t.bare()$$,
    '{opened,paid,intent,"hand succeeded"}',
    '{"released refunded, in 2500 back 2500, succeeded"}');
select t.story('known so: late, a part given back there',
    $$call t.gone(1);
    select t.book('{2500}', '{re_hand 1000 succeeded}'), t.bare()$$,
    '{pending,paid,"hand succeeded",calls}',
    '{"released refunded, in 2500 back 2500, pending succeeded"}');
select t.story('known so: disputed', $$call t.begin(1);
    select t.book('{2500}'), t.bare()$$,
    '{opened,paid,"dispute open","dispute won"}',
    '{"paid, in 2500 back 0, won"}');
select * from finish();
rollback;
