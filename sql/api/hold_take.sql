-- Taking units: the one way in which a hold comes to be.

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
--    nothing was taken; of a basket, `item` is the one that stood in the way
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
            p_known[i], p_keys[i], p_emails[i], item_ids,
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

-- One request of hold_take; the stock rows of p_items are locked, the SKUs are
-- ascending.
create function api.hold_take_one(
    p_id text, p_buyer uuid, p_known boolean, p_key text, p_email text,
    p_items bigint[], p_skus text[], p_qtys bigint[], p_now timestamptz,
    out outcome text, out buyer uuid, out document text)
language plpgsql as $$
declare
    found_hold data.hold;
    goods data.item;
    total bigint := 0;
    money text;
    which text; -- the SKU under consideration
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
        which := p_skus[k];
        -- One that was added after the locks were taken does not exist yet.
        select * into goods from data.item
        where sku = which and item_id = any (p_items);
        select r.outcome, r.members::text into outcome, document
        from api.hold_refusal(goods, p_buyer, p_qtys[k], p_now) r;
        exit when outcome is not null;
        total := total + goods.price * p_qtys[k];
        if money <> goods.currency then
            outcome := 'mixed-currencies';
        elsif total > 99999999 then
            outcome := 'limit';
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
        -- Of a basket, which one it was.
        if cardinality(p_skus) > 1 and outcome <> 'mixed-currencies' then
            document := coalesce(document::jsonb, '{}')
                || jsonb_build_object('item', which);
        end if;
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
