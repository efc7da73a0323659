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
    price bigint default 2500,
    late text[] default '{retake,allowance,refund}',
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
    t.hid(hold), t.buyer(by), 'stripe', 'http://shop.test', 1800, 86400));

-- What the cashier claims: up to so many of each kind.
create function t.claim(most integer default 1000, lease integer default 60000)
returns table (outbox_id bigint, kind text, try integer, key text,
    payment_key text, refund_key text, hold text, number bigint,
    session_id text, payment_ref text, refund_ref text, amount bigint)
language sql
begin atomic
    select c.outbox_id, c.kind, c.try, c.key, c.payment_key,
        c.refund_key, c.hold, c.number, c.session_id, c.payment_ref, c.refund_ref, c.amount
    from api.cashier_claim('stripe', most, most, most, most, lease) c;
end;

-- The cashier's row of a kind for a hold.
create function t.call(hold integer, which text) returns bigint language sql
return (select o.outbox_id from data.outbox o join data.hold h using (hold_id)
    where h.id = t.hid(hold) and o.kind = which
    order by o.outbox_id desc limit 1);

-- The pay page asked for and opened: session cs_<hold>.
create function t.open(hold integer, by integer) returns text
language plpgsql as $$
declare
    answer text;
begin
    perform t.start(hold, by);
    perform 1 from t.claim();
    perform api.cashier_opened(
        t.call(hold, 'open'), 'cs_' || hold, 'http://pay.test/' || hold);
    answer := t.start(hold, by);
    return answer;
end
$$;

-- A webhook that says this and no more.
create function t.settle(
    id text, kind text, hold text default null, session text default null,
    ref text default null, refund text default null, state text default null,
    amount bigint default null, currency text default null,
    key text default null, provider text default 'stripe',
    type text default 't', detail text default null, body bytea default 'x')
returns text language sql
return api.payment_settle(provider, id, type, kind, key, hold, session, ref,
    refund, state, amount, currency, detail, body);

-- A webhook about a hold's payment; the amount is the hold's unless given.
create function t.event(
    id text, kind text, hold integer, amount bigint default null,
    currency text default 'EUR', session text default null,
    ref text default null)
returns text language sql
return t.settle(id, kind, t.hid(hold), coalesce(session, 'cs_' || hold),
    coalesce(ref, 'pi_' || hold), null, null, coalesce(amount,
        (select h.amount from data.hold h where h.id = t.hid(hold)), 2500),
    currency);

-- Buyer n has bought the only unit of Sn, by hold n.
create function t.sold(n integer) returns text language plpgsql as $$
begin
    perform t.item('S' || n, 1);
    perform t.take(n, n, 'S' || n);
    perform t.open(n, n);
    return t.event('sold' || n, 'paid', n);
end
$$;

-- Or paid for it when hold n was over, and the unit somebody else's.
create function t.late(n integer, sku text default null) returns text
language plpgsql as $$
begin
    perform t.item('S' || n, 1) where sku is null;
    sku := coalesce(sku, 'S' || n);
    perform t.take(n, n, sku);
    perform t.open(n, n);
    perform t.age(n);
    perform t.take(n + 500, n + 500, sku);
    return t.event('late' || n, 'paid', n);
end
$$;

-- A webhook about a refund: by the provider's payment alone.
create function t.refund_event(
    id text, payment text, refund text, state text, amount bigint,
    key text default null)
returns text language sql
return t.settle(id, 'refund', null, null, payment, refund, state, amount,
    'EUR', key);

-- And about a dispute.
create function t.dispute_event(
    id text, payment text, state text, amount bigint default 2500,
    dispute text default null, currency text default 'EUR')
returns text language sql
return t.settle(id, 'dispute', null, null, payment, dispute, state, amount,
    currency);

-- The operator gives back: an order's money (NULL: what is left).
create function t.give_back(hold integer, amount bigint default null)
returns text language sql
return (select outcome from api.order_refund(t.hid(hold), amount, 'ann'));

-- What waits for a person: of what kind, the oldest first.
create function t.tasks() returns text language sql
return (select string_agg(task->>'kind', ',') from json_array_elements(
    api.task_list(false)::json) task);

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
