-- Attacks by events: money that no list would have, news while the last is
-- being looked up, one event of ours among thousands of another shop's.
begin;
\ir lib/fixture.sql
select plan(20);
select t.item('S' || n, 1) from generate_series(1, 9) n;
create function t.unclear() returns bigint language sql
return (select count(*) from data.task where kind = 'unclear');

-- Money without an amount is nobody's page, and nobody's money.
select t.take(1, 1, 'S1'), t.open(1, 1);
select is(t.settle('a1', 'paid', t.hid(1), 'cs_x', 'pi_x'), 'person',
    'money of no amount');
select is((select count(*) from data.payment p join data.hold h
    using (hold_id) where h.id = t.hid(1)), 1::bigint, 'makes no page');
select is(t.start(1, 1), 'ready', 'the buyer''s page stays');
select is(t.unclear(), 1::bigint, 'a person is told');

-- An order has a task already, and more money than it can have comes.
select t.take(2, 2, 'S2'), t.open(2, 2);
select t.event('m2', 'paid', 2, 2400);
select t.event('m2-' || n, 'paid', 2, 2400, 'EUR', 'cs_2' || n, 'pi_2' || n)
from generate_series(1, 8) n;
select is(t.event('m2-9', 'paid', 2, 2400, 'EUR', 'cs_2', 'pi_29'), 'person',
    'a tenth payment, through the first one''s page');
select is(t.unclear(), 2::bigint, 'is on the list, beside the mismatches');

-- Money of the order through a page that is not known, told by the payment and
-- then by the page: the provider's books list it by its page.
select t.sold(5);
select is(t.settle('i5', 'paid', t.hid(5), null, 'pi_5b', amount => 2500,
    currency => 'EUR'), 'refund', 'the payment''s own news');
select is(t.event('s5', 'paid', 5, session => 'cs_5b', ref => 'pi_5b'),
    'repeat', 'and its page''s');
select is((select session_id from data.payment where payment_ref = 'pi_5b'),
    'cs_5b', 'is how it is found there');

-- News of the second page's money that carries the key of the first page, as
-- both were asked for under it.
select t.sold(6);
select t.event('s6b', 'paid', 6, session => 'cs_6b', ref => 'pi_6b');
select is(t.settle('d6', 'dispute', t.hid(6), null, 'pi_6b', null, 'open',
    2500, 'EUR', 'cs-' || t.hid(6)), 'person', 'one is disputed');
select is((select string_agg(p.payment_ref, ',') from data.payment p
    where api.dispute_summary(p.payment_id) = 'open'), 'pi_6b', 'the one that its news names');

-- Money that is known by its own name only, before anybody has said whose page
-- that name belongs to. What says so acts on it, and waits for no cashier.
select t.take(7, 7, 'S7'), t.open(7, 7);
select is(t.settle('i7', 'paid', ref => 'pi_7', amount => 2500,
    currency => 'EUR'), 'unmatched', 'nobody knows whose money it is');
select t.settle('p7', 'pending', session => 'cs_7', ref => 'pi_7');
select is(t.state(7), 'paid (paid)', 'until its page is named');

-- "Something has changed", again, while the first look is under way.
select t.sold(3);
select t.settle('l3a', 'look', null, 'cs_3');
select is((select kind || ' ' || try from t.claim() where kind = 'fetch'),
    'fetch 1', 'it is looked up');
select t.settle('l3b', 'look', null, 'cs_3');
select api.cashier_done(t.call(3, 'fetch'));
select is((select kind || ' ' || try from t.claim() where kind = 'fetch'),
    'fetch 1', 'the answer was older than the news: looked up again');
select api.cashier_done(t.call(3, 'fetch'));
select is((select count(*) from t.claim() where kind = 'fetch'), 0::bigint,
    'and done');
-- After the last try, too.
select t.settle('l3c', 'look', null, 'cs_3');
select kind from t.claim();
select api.cashier_retry(t.call(3, 'fetch'), 'x', 0, 1);
select t.settle('l3d', 'look', null, 'cs_3');
select is((select count(*) from t.claim() where kind = 'fetch'), 1::bigint,
    'what was given up is tried again when there is news');
select api.cashier_done(t.call(3, 'fetch'));

-- An event was being written at the same moment as what it is about, so that
-- neither saw the other, and then another shop's by the hundred.
select t.sold(4);
insert into data.event (provider, event_id, type, kind, payment_ref,
    refund_ref, state, amount, currency, outcome, body)
values ('stripe', 'raced', 't', 'refund', 'pi_4', 're_4', 'succeeded', 2500,
    'EUR', 'unmatched', 'x');
insert into data.event (provider, event_id, type, kind, session_id, outcome,
    body)
select 'stripe', 'alien' || n, 't', 'paid', 'alien' || n, 'unmatched', 'x'
from generate_series(1, 300) n;
create function t.claims(most integer) returns boolean language plpgsql as $$
begin
    for n in 1 .. most loop
        perform t.claim();
        if (select outcome = 'applied' from data.event
            where event_id = 'raced') then
            return true;
        end if;
    end loop;
    return false;
end
$$;
select ok(t.claims(2000), 'it has its turn');
select is(t.state(4), 'released refunded (refunded)', 'and is acted on');
select t.clean();
select * from finish();
rollback;
