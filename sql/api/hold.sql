-- Holds: taking units, looking, giving up, and returning what has expired.
--
-- Locks, everywhere in this order: the stock rows of the items in question
-- (item, then bucket, ascending), then holds (ascending), then payments.
-- Whoever changes a line holds the lock on its stock row. The clock is
-- clock_timestamp(), read after the locks: a wait never shortens a hold.
--
-- What a request runs is PL/pgSQL, whose plans a session keeps. A function in
-- plain SQL is planned at each call unless it can be inlined; those here can.

-- RFC 3339 in UTC with milliseconds.
create function api.iso(t timestamptz) returns text
language sql stable parallel safe
return to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- Never below 0; NULL when there is no such moment.
create function api.ms_until(t timestamptz, p_now timestamptz)
returns bigint
language sql immutable parallel safe
return case when t <= p_now then 0
    else ceil(extract(epoch from t - p_now) * 1000)::bigint end;

-- The one place that says what a hold looks like outside. `view` names the
-- section of the order page: one word for all that the buyer must know.
create function api.hold_json(
    p_id text, p_number bigint, p_state text, p_reason text, p_lines json,
    p_amount bigint, p_currency text, p_now timestamptz,
    p_expires_at timestamptz, p_existing boolean, p_payment json,
    p_refund json, p_view text)
returns text
language sql stable parallel safe
return json_build_object(
    'id', p_id,
    'order', 'ord_' || p_number,
    'state', p_state,
    'reason', p_reason,
    'view', p_view,
    'lines', p_lines,
    'price', json_build_object('amount', p_amount, 'currency', p_currency),
    'now', api.iso(p_now),
    'expires_at', api.iso(p_expires_at),
    'expires_in_ms', case when p_state = 'held'
        then api.ms_until(p_expires_at, p_now) else 0 end,
    'existing', p_existing,
    'payment', p_payment,
    'refund', p_refund)::text;

create function api.hold_view(
    p_state text, p_reason text, p_payment text, p_refund text)
returns text
language sql immutable parallel safe
return case
    -- Money that came a second time goes back; the goods stay.
    when p_state = 'paid' then 'paid'
    when p_refund = 'failed' then 'refund_failed'
    when p_refund = 'succeeded' then 'refunded'
    when p_refund is not null then 'refund_owed'
    when p_payment in ('checking', 'mismatch') then 'checking'
    when p_state = 'held' and p_payment = 'opening' then 'opening'
    when p_state = 'held' then 'held'
    else p_reason end;

-- A hold as it stands at p_now. The pay page's address is only for p_viewer
-- when that is the hold's buyer.
create function api.hold_document(
    p_hold_id bigint, p_existing boolean, p_viewer uuid, p_now timestamptz)
returns text
language plpgsql stable as $$
begin
    return (select api.hold_json(
        h.id, h.hold_id, s.state, s.reason,
        (select json_agg(json_build_object('item', i.sku, 'title', i.title,
                'qty', l.qty, 'units', json_build_array()) order by i.sku)
            from (select item_id, sum(qty) as qty from data.hold_line
                where hold_id = h.hold_id group by item_id) l
            join data.item i using (item_id)),
        h.amount, h.currency, p_now, h.expires_at, p_existing,
        case when p.payment_id is not null then json_build_object(
            'state', p.state,
            'url', case when p.state = 'open' and s.state = 'held'
                and h.buyer = p_viewer then p.url end) end,
        case when r.refund_id is not null then json_build_object(
            'state', r.state, 'reason', r.reason) end,
        api.hold_view(s.state, s.reason, p.state, r.state))
    from data.hold h
    cross join lateral (select
        case when h.state = 'held' and h.expires_at <= p_now
            then 'released' else h.state end as state,
        case when h.state = 'held' and h.expires_at <= p_now
            then 'expired' else h.reason end as reason) s
    left join lateral (select * from data.payment
        where payment.hold_id = h.hold_id
        order by attempt desc limit 1) p on true
    left join data.refund r on r.payment_id = p.payment_id
    where h.hold_id = p_hold_id);
end
$$;

-- How many of p_qty units to take from each bucket, given what is free in
-- each; starts at a bucket picked by p_start and goes on to the others. NULL
-- when all of them together have too few.
create function api.stock_allot(p_free bigint[], p_qty bigint, p_start integer)
returns bigint[]
language plpgsql immutable parallel safe as $$
declare
    n constant integer := coalesce(cardinality(p_free), 0);
    amounts bigint[] := array_fill(0::bigint, array[n]);
    rest bigint := p_qty;
    b integer;
begin
    for k in 0 .. n - 1 loop
        exit when rest = 0;
        b := 1 + (p_start % n + k) % n;
        amounts[b] := least(rest, greatest(p_free[b], 0));
        rest := rest - amounts[b];
    end loop;
    return case when rest = 0 then amounts end;
end
$$;

-- Which bucket a buyer starts at, from 0.
create function api.stock_start(p_buyer uuid) returns integer
language sql immutable parallel safe
return hashtextextended(p_buyer::text, 0) & 2147483647;

-- Locks all buckets of these items, in the order that everybody keeps to.
create function api.stock_lock(p_items bigint[]) returns void
language plpgsql as $$
begin
    perform 1 from data.stock where item_id = any (p_items)
    order by item_id, bucket for update;
end
$$;

-- Moves units of lines into or out of their stock rows: p_held and p_sold
-- are added to what each counts; NULL for an array of zeroes.
create function api.stock_move(
    p_items bigint[], p_buckets integer[], p_held bigint[], p_sold bigint[])
returns void
language plpgsql as $$
begin
    update data.stock s
    set held = s.held + d.held, sold = s.sold + d.sold,
        version = s.version + 1
    from (select u.item_id, u.bucket,
            coalesce(sum(u.held), 0) as held,
            coalesce(sum(u.sold), 0) as sold
        from unnest(p_items, p_buckets, p_held, p_sold)
            as u (item_id, bucket, held, sold)
        group by u.item_id, u.bucket) d
    where s.item_id = d.item_id and s.bucket = d.bucket
        and (d.held <> 0 or d.sold <> 0);
end
$$;

-- Ends the hold p_hold_id, whose stock rows and own row are locked: every
-- line that is still counted as held goes back to free.
create function api.hold_release(
    p_hold_id bigint, p_reason text, p_now timestamptz)
returns void
language plpgsql as $$
declare
    items bigint[];
    buckets integer[];
    qtys bigint[];
begin
    with gone as (
        update data.hold_line set state = 'released'
        where hold_id = p_hold_id and state = 'held'
        returning item_id, bucket, qty)
    select array_agg(item_id), array_agg(bucket), array_agg(-qty)
    into items, buckets, qtys from gone;
    perform api.stock_move(items, buckets, qtys, null);
    update data.hold
    set state = 'released', reason = p_reason, ended_at = p_now
    where hold_id = p_hold_id and state = 'held';
end
$$;

-- Returns expired lines of items whose stock rows are locked: of each item the
-- oldest, up to p_limit, and those of these buyers (NULL: nobody's) that would
-- stand in the way of a new hold. How many it was. What it reads does not grow
-- with the number that have expired.
create function api.hold_lapse(
    p_items bigint[], p_buyers uuid[], p_limit integer, p_now timestamptz)
returns integer
language plpgsql as $$
declare
    holds bigint[];
    items bigint[];
    buckets integer[];
    qtys bigint[];
begin
    select array_agg(hold_id), array_agg(item_id), array_agg(bucket),
        array_agg(-qty)
    into holds, items, buckets, qtys
    from (select due.* from unnest(p_items) i (item_id)
        cross join lateral (
            select l.hold_id, l.item_id, l.bucket, l.qty from data.hold_line l
            where l.item_id = i.item_id and (l.state = 'held') is true
                and l.expires_at <= p_now
            order by l.expires_at limit p_limit) due
        union
        select own.hold_id, own.item_id, own.bucket, own.qty
        from unnest(p_buyers) b (buyer)
        cross join unnest(p_items) i (item_id)
        cross join lateral (select * from data.hold_line l
            where l.buyer = b.buyer and l.item_id = i.item_id
                and l.state = 'held' and l.lead limit 1) own
        where own.expires_at <= p_now) l;
    if holds is null then
        return 0;
    end if;
    -- A basket's other item may be lapsing it at this moment.
    perform 1 from data.hold where hold_id = any (holds)
    order by hold_id for update;
    update data.hold_line l set state = 'released'
    from unnest(holds, items, buckets) as u (hold_id, item_id, bucket)
    where l.hold_id = u.hold_id and l.item_id = u.item_id
        and l.bucket = u.bucket;
    update data.hold
    set state = 'released', reason = 'expired', ended_at = p_now
    where hold_id = any (holds) and state = 'held';
    perform api.stock_move(items, buckets, qtys, null);
    return cardinality(holds);
end
$$;

-- Units of one item that a buyer has, in live holds and paid orders, without
-- those of the hold p_but (0: none).
create function api.buyer_units(
    p_buyer uuid, p_item_id bigint, p_but bigint, p_now timestamptz)
returns bigint
language plpgsql stable as $$
begin
    return (select coalesce(sum(qty), 0)::bigint from (
        select qty from data.hold_line
        where buyer = p_buyer and item_id = p_item_id and state = 'paid'
            and hold_id <> p_but
        union all
        -- All parts of the live hold, found by its leading part.
        select part.qty from data.hold_line lead
        join data.hold_line part using (hold_id, item_id)
        where lead.buyer = p_buyer and lead.item_id = p_item_id
            and lead.state = 'held' and lead.lead and part.state = 'held'
            and lead.expires_at > p_now and lead.hold_id <> p_but) u);
end
$$;

-- Whether the item can be bought now: nothing, or the refusal's name and
-- members.
create function api.item_refusal(
    p_item data.item, p_now timestamptz, out outcome text, out members json)
language plpgsql stable as $$
begin
    if p_item.status = 'closed' or p_item.closes_at <= p_now then
        outcome := 'closed';
    elsif p_item.status = 'paused' then
        outcome := 'paused';
    elsif p_item.opens_at > p_now then
        outcome := 'not-open';
        members := json_build_object(
            'opens_in_ms', api.ms_until(p_item.opens_at, p_now));
    end if;
end
$$;

-- Takes units, for one request or many in one transaction.
--
-- One element per request: p_ids, the names that new holds get; p_buyers, who
-- asks; p_known, whether a cookie says so (else the buyer was made up for
-- this request); p_keys, the order key or NULL; p_emails, or NULL. One element
-- per line: p_request (index of its request), p_skus, p_qtys.
--
-- One row per request. `document` is the hold, or the members of the problem.
--   created    the units are held until expires_at
--   existing   the key's hold, or the buyer's live hold of one of the items
--   sold-out (free, held)  limit (limit, have, hold)  not-open (opens_in_ms)
--   paused  closed  no-such-item  mixed-currencies  key-reused:
--    nothing was taken
-- All lines of a request are taken or none is.
--
-- Idempotent by key; without one, by buyer and item while the hold lives.
-- Locks: stock rows of all items asked for, then expired holds, ascending. A
-- key used twice at once for different items ends in a unique violation: run
-- it again, and the second finds the first.
create function api.hold_take(
    p_ids text[], p_buyers uuid[], p_known boolean[], p_keys text[],
    p_emails text[], p_request integer[], p_skus text[], p_qtys bigint[])
returns table (request integer, outcome text, buyer uuid, document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    item_ids bigint[];
    moment timestamptz;
    got record;
begin
    select array_agg(distinct item_id) into item_ids
    from item where sku = any (p_skus);
    perform api.stock_lock(item_ids);
    moment := clock_timestamp();
    -- A buyer's own hold, if it has expired, would stand in the way of a new
    -- one.
    perform api.hold_lapse(item_ids, p_buyers, 100, moment);
    for i in 1 .. cardinality(p_ids) loop
        request := i;
        select * into got from api.hold_take_one(p_ids[i], p_buyers[i],
            p_known[i], p_keys[i], p_emails[i],
            (select array_agg(u.sku order by u.sku)
                from unnest(p_request, p_skus) as u (request, sku)
                where u.request = i),
            (select array_agg(u.qty order by u.sku)
                from unnest(p_request, p_skus, p_qtys)
                    as u (request, sku, qty)
                where u.request = i), moment);
        outcome := got.outcome;
        buyer := got.buyer;
        document := got.document;
        return next;
    end loop;
end
$$;

-- One request of hold_take; the stock rows are locked, the SKUs ascending.
create function api.hold_take_one(
    p_id text, p_buyer uuid, p_known boolean, p_key text, p_email text,
    p_skus text[], p_qtys bigint[], p_now timestamptz,
    out outcome text, out buyer uuid, out document text)
language plpgsql as $$
declare
    found_hold data.hold;
    goods data.item;
    number bigint;
    total bigint := 0;
    money text;
    lines json[] := '{}';
    line record;
    items bigint[] := '{}';
    buckets integer[] := '{}';
    qtys bigint[] := '{}';
    prices bigint[] := '{}';
    leads boolean[] := '{}';
begin
    buyer := p_buyer;
    select * into found_hold
    from api.hold_existing(p_buyer, p_key, p_skus, p_now);
    if found_hold.hold_id is not null then
        if found_hold.key = p_key and (
            (p_known and found_hold.buyer <> p_buyer)
            or not api.hold_has_lines(found_hold.hold_id, p_skus, p_qtys))
        then
            outcome := 'key-reused';
            return;
        end if;
        outcome := 'existing';
        buyer := found_hold.buyer;
        document := api.hold_document(
            found_hold.hold_id, true, found_hold.buyer, p_now);
        return;
    end if;

    for k in 1 .. cardinality(p_skus) loop
        select * into goods from data.item where sku = p_skus[k];
        select r.outcome, r.members::text into outcome, document
        from api.hold_refusal(goods, p_buyer, p_qtys[k], p_now) r;
        exit when outcome is not null;
        total := total + goods.price * p_qtys[k];
        if money <> goods.currency then
            outcome := 'mixed-currencies';
        elsif total > 99999999 then
            outcome := 'limit';
            document := json_build_object('item', goods.sku);
        end if;
        exit when outcome is not null;
        money := goods.currency;
        for line in select bucket, amount
            from api.stock_pick(goods.item_id, p_qtys[k], p_buyer)
            with ordinality as u (bucket, amount, nr)
        loop
            leads := leads || (items = '{}'
                or items[cardinality(items)] <> goods.item_id);
            items := items || goods.item_id;
            buckets := buckets || line.bucket;
            qtys := qtys || line.amount;
            prices := prices || goods.price;
        end loop;
        lines := lines || json_build_object('item', goods.sku,
            'title', goods.title, 'qty', p_qtys[k],
            'units', json_build_array());
    end loop;
    if outcome is not null then
        return;
    end if;

    -- The conditional update: never_more stands behind it.
    perform api.stock_move(items, buckets, qtys, null);
    insert into data.hold (id, key, buyer, email, amount, currency,
        created_at, expires_at)
    select p_id, p_key, p_buyer, p_email, total, money, p_now,
        p_now + make_interval(secs => min(hold_seconds))
    from data.item where item_id = any (items)
    returning * into found_hold;
    insert into data.hold_line (hold_id, item_id, bucket, qty, price, buyer,
        expires_at, lead)
    select found_hold.hold_id, u.item_id, u.bucket, u.qty, u.price, p_buyer,
        found_hold.expires_at, u.lead
    from unnest(items, buckets, qtys, prices, leads)
        as u (item_id, bucket, qty, price, lead);
    outcome := 'created';
    document := api.hold_json(p_id, found_hold.hold_id, 'held', null,
        array_to_json(lines), total, money, p_now, found_hold.expires_at,
        false, null, null, 'held');
end
$$;

-- The hold that a repeat leads to: the key's, else the buyer's live one of
-- any of these items.
create function api.hold_existing(
    p_buyer uuid, p_key text, p_skus text[], p_now timestamptz)
returns data.hold
language plpgsql stable as $$
declare
    found_hold data.hold;
begin
    if p_key is not null then
        select * into found_hold from data.hold where key = p_key;
        if found then
            return found_hold;
        end if;
    end if;
    select h.* into found_hold
    from data.item i
    join data.hold_line l on l.item_id = i.item_id
    join data.hold h using (hold_id)
    where i.sku = any (p_skus) and l.buyer = p_buyer and l.state = 'held'
        and l.lead and h.state = 'held' and h.expires_at > p_now
    order by i.sku limit 1;
    return found_hold;
end
$$;

-- Whether a hold is for exactly these goods.
create function api.hold_has_lines(
    p_hold_id bigint, p_skus text[], p_qtys bigint[])
returns boolean
language plpgsql stable as $$
begin
    return not exists (
        select from (select i.sku, sum(l.qty) as qty
            from data.hold_line l join data.item i using (item_id)
            where l.hold_id = p_hold_id group by i.sku) has
        full join unnest(p_skus, p_qtys) as asked (sku, qty)
            on asked.sku = has.sku
        where asked.qty is distinct from has.qty::bigint);
end
$$;

-- Why this buyer cannot have p_qty of the item: NULL when nothing speaks
-- against it. The item's stock rows are locked.
create function api.hold_refusal(
    p_item data.item, p_buyer uuid, p_qty bigint, p_now timestamptz,
    out outcome text, out members json)
language plpgsql as $$
declare
    have bigint;
    free bigint;
    held_now bigint;
begin
    if p_item.item_id is null then
        outcome := 'no-such-item';
        return;
    end if;
    select r.outcome, r.members into outcome, members
    from api.item_refusal(p_item, p_now) r;
    if outcome is not null then
        return;
    end if;
    have := api.buyer_units(p_buyer, p_item.item_id, 0, p_now);
    if (p_qty between 1 and p_item.per_buyer - have) is not true then
        outcome := 'limit';
        members := json_build_object('limit', p_item.per_buyer,
            'have', have, 'hold', (select h.id
                from data.hold_line l join data.hold h using (hold_id)
                where l.buyer = p_buyer and l.item_id = p_item.item_id
                    and l.state = 'paid'
                order by h.hold_id desc limit 1));
        return;
    end if;
    loop
        select sum(total + allowance - held - sold), sum(held)
        into free, held_now from data.stock where item_id = p_item.item_id;
        exit when free >= p_qty;
        exit when api.hold_lapse(array[p_item.item_id], null,
            1000, p_now) = 0;
    end loop;
    if free < p_qty then
        outcome := 'sold-out';
        members := json_build_object('free', free, 'held', held_now);
    end if;
end
$$;

-- Which buckets p_qty units of an item come from, the stock rows being
-- locked: rows of bucket and amount. None when there are too few.
create function api.stock_pick(
    p_item_id bigint, p_qty bigint, p_buyer uuid)
returns table (bucket integer, amount bigint)
language plpgsql stable as $$
begin
    return query
    select r.bucket, r.amount
    from (select array_agg(s.bucket order by s.bucket) as buckets,
            api.stock_allot(array_agg(
                s.total + s.allowance - s.held - s.sold order by s.bucket),
                p_qty, api.stock_start(p_buyer)) as amounts
        from data.stock s where s.item_id = p_item_id) a
    cross join unnest(a.buckets, a.amounts) as r (bucket, amount)
    where r.amount > 0;
end
$$;

-- The hold's document for whoever knows its id; p_viewer may be NULL. NULL
-- when there is no such hold.
create function api.hold_show(p_id text, p_viewer uuid) returns text
language plpgsql stable security definer set search_path = data, pg_temp
as $$
begin
    return (select api.hold_document(
            hold_id, true, p_viewer, clock_timestamp())
        from data.hold where id = p_id);
end
$$;

-- Locks a hold by its outside name, its stock rows first. A row of NULLs when
-- there is none.
create function api.hold_lock(p_id text) returns data.hold
language plpgsql as $$
declare
    locked data.hold;
begin
    perform api.stock_lock((select array_agg(l.item_id)
        from data.hold h join data.hold_line l using (hold_id)
        where h.id = p_id));
    select * into locked from data.hold where id = p_id for update;
    return locked;
end
$$;

-- The buyer gives a hold up. done (also when it was given up before),
-- no-such-hold, not-yours, ended (paid or over: `document` says which).
-- Idempotent. A pay page that is open is ended at once by the cashier.
create function api.hold_drop(
    p_id text, p_buyer uuid, out outcome text, out document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target data.hold := api.hold_lock(p_id);
    moment timestamptz := clock_timestamp();
begin
    if target.hold_id is null then
        outcome := 'no-such-hold';
        return;
    elsif target.buyer is distinct from p_buyer then
        outcome := 'not-yours';
        return;
    elsif target.state = 'held' and target.expires_at > moment then
        perform api.hold_release(target.hold_id, 'dropped', moment);
        perform api.outbox_expire_now(target.hold_id);
        outcome := 'done';
    else
        outcome := case when target.reason = 'dropped'
            then 'done' else 'ended' end;
    end if;
    document := api.hold_document(target.hold_id, true, p_buyer, moment);
end
$$;

-- Returns up to p_limit expired lines, for the first item whose stock rows
-- nobody holds at the moment: several sweepers share the work, and a buyer
-- who is taking units returns expired ones himself. `next_in_ms` says when to
-- come back: 0 when more is due, at most a second.
create function api.sweep(
    p_limit integer, out returned integer, out next_in_ms bigint)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    due bigint;
    moment timestamptz;
    soonest timestamptz;
begin
    returned := 0;
    for due in
        select i.item_id from item i
        where exists (select from hold_line l
            where l.item_id = i.item_id and (l.state = 'held') is true
                and l.expires_at <= clock_timestamp())
    loop
        if (select count(*) from (select from stock where item_id = due
                order by bucket for update skip locked) mine)
            = (select count(*) from stock where item_id = due)
        then
            moment := clock_timestamp();
            returned := api.hold_lapse(array[due], null, p_limit, moment);
        end if;
        exit when returned > 0;
    end loop;
    if returned > 0 then
        next_in_ms := 0;
        return;
    end if;
    select min(first) into soonest from item i
    cross join lateral (select expires_at as first from hold_line l
        where l.item_id = i.item_id and (l.state = 'held') is true
        order by expires_at limit 1) l;
    next_in_ms := least(1000, greatest(20, coalesce(
        api.ms_until(soonest, clock_timestamp()), 1000)));
end
$$;

-- The newest holds, for the command line. p_state and p_sku may be NULL.
create function api.hold_list(p_state text, p_sku text, p_limit integer)
returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select coalesce(json_agg(r.document order by r.hold_id desc), '[]')::text
    from (select h.hold_id, api.hold_document(
            h.hold_id, true, null, clock_timestamp())::json as document
        from data.hold h
        where (p_state is null or case
                when h.state = 'held' and h.expires_at <= clock_timestamp()
                then 'released' else h.state end = p_state)
            and (p_sku is null or exists (select from data.hold_line l
                join data.item i using (item_id)
                where l.hold_id = h.hold_id and i.sku = p_sku))
        order by h.hold_id desc limit p_limit) r;
end;
