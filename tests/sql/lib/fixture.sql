-- What the tests share: short names for buyers, holds and calls, in a schema
-- that goes with the transaction. Numbers stand for things: buyer 7, hold 12
-- (its session is cs_12, its payment pi_12).
\set ON_ERROR_STOP 1
\set QUIET 1
set client_min_messages = warning;
create extension if not exists pgtap with schema public;
create schema t;

create function t.buyer(n integer) returns uuid language sql
return ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid;

create function t.hid(n integer) returns text language sql
return 'hld_' || lpad(n::text, 22, '0');

create function t.item(
    sku text, total bigint, per_buyer integer default 1,
    buckets integer default 1, allowance bigint default 0,
    price bigint default 2500, late text[] default '{retake,refund}',
    currency text default 'EUR')
returns text language sql
return api.item_add(sku, 'Title of ' || sku, price, currency, total,
    allowance, 600, per_buyer, buckets, null, null, late);

-- One request of one line, as a known buyer.
create function t.take(
    hold integer, by integer, sku text, qty bigint default 1,
    key text default null, known boolean default true)
returns text language sql
return (select outcome from api.hold_take(array[t.hid(hold)],
    array[t.buyer(by)], array[known], array[key], array[null::text],
    '{1}', array[sku], array[qty]));

-- The same, with what comes beside the outcome.
create function t.take_doc(hold integer, by integer, sku text, qty bigint)
returns json language sql
return (select document::json from api.hold_take(array[t.hid(hold)],
    array[t.buyer(by)], '{t}', array[null::text], array[null::text],
    '{1}', array[sku], array[qty]));

create function t.basket(hold integer, by integer, skus text[], qtys bigint[])
returns text language sql
return (select outcome from api.hold_take(array[t.hid(hold)],
    array[t.buyer(by)], '{t}', array[null::text], array[null::text],
    array_fill(1, array[cardinality(skus)]), skus, qtys));

create function t.doc(hold integer, viewer integer default null) returns json
language sql
return api.hold_show(t.hid(hold), t.buyer(viewer))::json;

-- state, reason and view of a hold, as the buyer's page shows them.
create function t.state(hold integer) returns text language sql
return concat_ws(' ', t.doc(hold)->>'state', t.doc(hold)->>'reason',
    '(' || (t.doc(hold)->>'view') || ')');

-- Lets time pass for one hold, or for those of these numbers.
create function t.age(holds integer[], by_time interval) returns void
language sql
begin atomic
    update data.hold
    set created_at = created_at - by_time, expires_at = expires_at - by_time
    where id in (select t.hid(n) from unnest(holds) n);
    update data.hold_line l set expires_at = h.expires_at
    from data.hold h
    where h.hold_id = l.hold_id and l.expires_at <> h.expires_at;
end;

create function t.age(hold integer, by_time interval default '601 seconds')
returns void language sql
return t.age(array[hold], by_time);

create function t.start(hold integer, by integer) returns text language sql
return (select outcome from api.payment_start(
    t.hid(hold), t.buyer(by), 'stripe', 'http://shop.test'));

-- The cashier's row of a kind for a hold.
create function t.call(hold integer, which text) returns bigint language sql
return (select o.outbox_id from data.outbox o
    join data.payment p using (payment_id) join data.hold h using (hold_id)
    where h.id = t.hid(hold) and o.kind = which
    order by o.outbox_id desc limit 1);

-- The pay page asked for and opened: session cs_<hold>.
create function t.open(hold integer, by integer) returns text
language plpgsql as $$
declare
    answer text;
begin
    perform t.start(hold, by);
    perform 1 from api.cashier_claim(1000, 60000);
    perform api.cashier_opened(
        t.call(hold, 'open'), 'cs_' || hold, 'http://pay.test/' || hold);
    answer := t.start(hold, by);
    return answer;
end
$$;

-- A webhook about a hold's payment; the amount is the hold's unless given.
create function t.event(
    id text, kind text, hold integer, amount bigint default null,
    currency text default 'EUR', session text default null,
    ref text default null)
returns text language sql
return api.payment_settle('stripe', id, 'type.' || kind, kind, t.hid(hold),
    coalesce(session, 'cs_' || hold), coalesce(ref, 'pi_' || hold), null,
    null, coalesce(amount,
        (select h.amount from data.hold h where h.id = t.hid(hold)), 2500),
    currency, null, 'body');

-- A webhook about a refund: by the provider's payment alone.
create function t.refund_event(
    id text, payment text, refund text, state text, amount bigint)
returns text language sql
return api.payment_settle('stripe', id, 'refund.updated', 'refund', null,
    null, payment, refund, state, amount, 'EUR', null, 'body');

-- total+allowance, held and sold of an item, over all of its buckets.
create function t.stock(sku text) returns text language sql
return (select format('%s+%s held %s sold %s', sum(total), sum(allowance),
        sum(held), sum(sold))
    from data.stock s join data.item i using (item_id)
    where i.sku = stock.sku);

-- What is free in each bucket.
create function t.free(sku text) returns text language sql
return (select string_agg(
        (total + allowance - held - sold)::text, ',' order by bucket)
    from data.stock s join data.item i using (item_id)
    where i.sku = free.sku);

create function t.shown(sku text) returns json language sql
return api.availability(array[sku])::json->'items'->0;

-- Every file ends with this: no promise was broken on the way.
create function t.clean() returns text language sql
return is_empty('select * from api.audit()', 'the audit finds nothing');
