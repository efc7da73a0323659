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
-- All lines of a request are taken or none is. All is looked up first, then
-- decided in memory, one request after the other, then written. Requests are served in their
-- order, but those that may mean the same hold: all but the first of them
-- come after the others.
--
-- Idempotent by id and by key; without one, by buyer and item while the hold
-- lives. Locks: stock rows of all items asked for, then expired holds,
-- ascending. A key used twice at once for different items ends in a unique
-- violation: run it again, and the second finds the first.
create function api.hold_take(
    p_ids text[], p_buyers uuid[], p_known boolean[], p_keys text[],
    p_emails text[], p_request integer[], p_skus text[], p_qtys bigint[])
returns table (request integer, outcome text, buyer uuid, document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    items bigint[];
    moment timestamptz;
    -- Requests of this round and of later ones.
    round integer[];
    later integer[] := array(select generate_subscripts(p_ids, 1));
    -- By line, by item, by bucket: see take_lines and take_goods.
    asked record;
    goods record;
    l_request integer[];
    l_sku text[];
    l_qty bigint[];
    l_paid bigint[];
    l_hold bigint[];
    g_item item[];
    g_sku text[];
    g_free bigint[];
    g_held bigint[];
    g_first integer[];
    g_last integer[];
    g_outcome text[];
    s_item bigint[];
    s_bucket integer[];
    s_free bigint[];
    s_taken bigint[];
    -- The request that is looked at.
    first integer;
    upto integer;
    g integer;
    h integer;
    b integer;
    good item;
    amount bigint;
    money text;
    seconds integer;
    shown json[];
    parts bigint[];
    leads boolean;
    number bigint;
    -- What is the same for most.
    moment_text text;
    lasts integer;
    expires timestamptz;
    expires_text text;
    left_ms bigint;
    line_qty bigint;
    line_json json;
    holds hold[];
    lines hold_line[];
begin
    select array_agg(distinct item_id order by item_id) into items
    from item where sku = any (p_skus);
    perform api.stock_lock(items);
    moment := clock_timestamp();
    moment_text := api.iso(moment);
    loop
        goods := api.take_goods(items, p_skus, p_qtys, moment);
        -- What has expired is free for whoever needs it.
        exit when goods.short is null
            or api.hold_lapse(goods.short, null, 1000, moment) = 0;
    end loop;
    g_item := goods.items;
    g_sku := goods.skus;
    g_outcome := goods.outcomes;
    g_first := goods.first_row;
    g_last := goods.last_row;
    g_free := goods.free;
    g_held := goods.held;
    s_item := goods.row_item;
    s_bucket := goods.row_bucket;
    s_free := goods.row_free;
    while later <> '{}' loop
        round := later;
        later := api.take_later(later, p_buyers, p_keys, p_request, p_skus);
        if later <> '{}' then
            round := array(select nr from unnest(round) nr
                where nr <> all (later) order by nr);
        end if;
        asked := api.take_lines(round, p_buyers, p_keys, items, g_sku,
            p_request, p_skus, p_qtys, moment);
        l_request := asked.requests;
        l_sku := asked.skus;
        l_qty := asked.qtys;
        l_paid := asked.paid;
        l_hold := asked.holds;
        upto := 0;
        holds := '{}';
        lines := '{}';
        s_taken := array_fill(0::bigint,
            array[coalesce(cardinality(s_item), 0)]);
        foreach request in array round loop
            first := upto + 1;
            upto := first;
            while l_request[upto + 1] = request loop
                upto := upto + 1;
            end loop;
            buyer := p_buyers[request];
            outcome := null;
            document := null;
            for line in first .. upto loop
                if l_hold[line] is not null then
                    select r.outcome, r.buyer, r.document
                    into outcome, buyer, document
                    from api.take_again(l_hold[line], p_ids[request], buyer,
                        p_known[request], p_keys[request], l_sku[first:upto],
                        l_qty[first:upto], moment) r;
                    return next;
                    exit;
                end if;
            end loop;
            continue when outcome is not null;

            amount := 0;
            money := null;
            seconds := null;
            shown := '{}';
            for line in first .. upto loop
                -- An item that was added after the locks does not exist yet.
                if l_sku[line] is distinct from good.sku then
                    g := array_position(g_sku, l_sku[line]);
                    good := g_item[g];
                    line_qty := null;
                end if;
                if g is null then
                    outcome := 'no-such-item';
                elsif g_outcome[g] is not null then
                    outcome := g_outcome[g];
                    document := goods.members[g];
                elsif (l_qty[line] between 1 and good.per_buyer - l_paid[line])
                    is not true
                then
                    outcome := 'limit';
                    document := api.take_limit(good, buyer, l_paid[line]);
                elsif l_qty[line] > g_free[g] then
                    outcome := 'sold-out';
                    document := json_build_object(
                        'free', g_free[g], 'held', g_held[g]);
                elsif money <> good.currency then
                    outcome := 'mixed-currencies';
                elsif amount + good.price * l_qty[line] > 99999999 then
                    outcome := 'limit';
                end if;
                if outcome is not null then
                    -- Of a basket, which one it was.
                    if upto > first and outcome <> 'mixed-currencies' then
                        document := coalesce(document::jsonb, '{}')
                            || jsonb_build_object('item', l_sku[line]);
                    end if;
                    return next;
                    exit;
                end if;
                amount := amount + good.price * l_qty[line];
                money := good.currency;
                seconds := least(seconds, good.hold_seconds);
                if line_qty is distinct from l_qty[line] then
                    line_qty := l_qty[line];
                    line_json := json_build_object('item', good.sku,
                        'title', good.title, 'qty', line_qty,
                        'units', json_build_array());
                end if;
                shown := shown || line_json;
            end loop;
            continue when outcome is not null;

            if seconds is distinct from lasts then
                lasts := seconds;
                expires := moment + make_interval(secs => seconds);
                expires_text := api.iso(expires);
                left_ms := api.ms_until(expires, moment);
            end if;
            number := nextval('data.hold_hold_id_seq');
            outcome := 'created';
            document := api.hold_json(p_ids[request], number, 'held', null,
                array_to_json(shown), amount, money, moment_text,
                expires_text, left_ms, false, null, null, null, 'held');
            return next;
            holds := holds || row (number, p_ids[request], p_keys[request],
                buyer, p_emails[request], amount, money, 'held', null, moment,
                expires, null)::hold;
            for line in first .. upto loop
                h := case when first = upto then g
                    else array_position(g_sku, l_sku[line]) end;
                g_free[h] := g_free[h] - l_qty[line];
                g_held[h] := g_held[h] + l_qty[line];
                if g_first[h] = g_last[h] then
                    parts := l_qty[line:line];
                else
                    parts := api.stock_allot(s_free[g_first[h]:g_last[h]],
                        l_qty[line], api.stock_start(buyer));
                end if;
                leads := true;
                for k in 1 .. cardinality(parts) loop
                    continue when parts[k] = 0;
                    b := g_first[h] + k - 1;
                    s_free[b] := s_free[b] - parts[k];
                    s_taken[b] := s_taken[b] + parts[k];
                    lines := lines || row (number, s_item[b], s_bucket[b],
                        parts[k], g_item[h].price, buyer, 'held', expires,
                        leads)::hold_line;
                    leads := false;
                end loop;
            end loop;
        end loop;
        if cardinality(holds) > 0 then
            -- The conditional update: never_more stands behind it.
            perform api.stock_move(s_item, s_bucket, s_taken, null);
            insert into hold overriding system value
            select * from unnest(holds);
            insert into hold_line select * from unnest(lines);
        end if;
    end loop;
end
$$;

-- Of the requests p_nrs, those that must wait for others: of several by one
-- key, or for one item by one buyer, all but the first.
create function api.take_later(
    p_nrs integer[], p_buyers uuid[], p_keys text[], p_request integer[],
    p_skus text[])
returns integer[]
language plpgsql stable as $$
begin
    if cardinality(p_nrs) = 1 or (
        select count(distinct key) = count(key)
            and count(distinct buyer) = count(buyer)
        from (select p_keys[a.request] collate "C" as key,
                p_buyers[a.request] as buyer
            from unnest(p_request) as a (request)
            where a.request = any (p_nrs)) q)
    then
        return '{}';
    end if;
    return array(select distinct l.request
        from (select a.request, p_keys[a.request] as key,
                row_number() over (partition by p_buyers[a.request], a.sku
                    order by a.request) as nr_by_buyer,
                dense_rank() over (partition by p_keys[a.request]
                    order by a.request) as nr_by_key
            from unnest(p_request, p_skus) as a (request, sku)
            where a.request = any (p_nrs)) l
        where l.nr_by_buyer > 1 or (l.nr_by_key > 1 and l.key is not null));
end
$$;

-- What is known of the lines of the requests p_nrs, by request and SKU; p_names
-- are the SKUs of p_items. `paid`:
-- units that the buyer has bought; `hold`, the one that the request's key or
-- the buyer's live hold of the item leads to. A buyer's own that has expired
-- would stand in the way and is returned.
create function api.take_lines(
    p_nrs integer[], p_buyers uuid[], p_keys text[], p_items bigint[],
    p_names text[], p_request integer[], p_skus text[], p_qtys bigint[],
    p_now timestamptz, out requests integer[], out skus text[], out qtys bigint[],
    out paid bigint[], out holds bigint[])
language plpgsql as $$
declare
    some_expired boolean;
begin
    select array_agg(q.request), array_agg(q.sku), array_agg(q.qty),
        array_agg(q.paid), array_agg(coalesce(q.keyed,
            case when (q.own).expires_at > p_now then (q.own).hold_id end)),
        bool_or((q.own).expires_at <= p_now)
    into requests, skus, qtys, paid, holds, some_expired
    -- Scalar subqueries: as joins, they would be planned with other indexes.
    from (select a.request, a.sku, a.qty,
            (select h.hold_id from data.hold h
                where h.key = p_keys[a.request]) as keyed,
            (select l from data.hold_line l
                where l.buyer = p_buyers[a.request]
                    and l.item_id = i.item_id
                    and l.state = 'held' and l.lead) as own,
            (select coalesce(sum(l.qty), 0)::bigint from data.hold_line l
                where l.buyer = p_buyers[a.request]
                    and l.item_id = i.item_id and l.state = 'paid') as paid
        from unnest(p_request, p_skus, p_qtys) as a (request, sku, qty)
        cross join lateral (select
            p_items[array_position(p_names, a.sku)] as item_id) i
        where a.request = any (p_nrs)
        order by a.request, a.sku) q;
    if some_expired then
        perform api.hold_lapse(p_items,
            array(select p_buyers[nr] from unnest(p_nrs) nr), 0, p_now);
    end if;
end
$$;

-- What is known of the items, by item: the item, its SKU, why it cannot be
-- bought now, with members; what is free and held of it, and which have less
-- free than the lines ask for together. And the buckets that have units free:
-- an item's stand at first_row to last_row of all of them.
create function api.take_goods(
    p_items bigint[], p_skus text[], p_qtys bigint[], p_now timestamptz,
    out items data.item[], out skus text[], out outcomes text[],
    out members json[], out free bigint[], out held bigint[],
    out first_row integer[], out last_row integer[], out short bigint[],
    out row_item bigint[], out row_bucket integer[], out row_free bigint[])
language plpgsql stable as $$
begin
    select array_agg(b.item_id), array_agg(b.bucket), array_agg(b.free)
    into row_item, row_bucket, row_free
    from (select item_id, bucket, total + allowance - s.held - sold as free
        from data.stock s where item_id = any (p_items)
            and total + allowance > s.held + sold
        order by item_id, bucket) b;
    select array_agg(g.item), array_agg((g.item).sku), array_agg(g.outcome),
        array_agg(g.members), array_agg(g.free), array_agg(g.held),
        array_agg(g.first_row), array_agg(g.first_row + g.rows - 1),
        -- Who asks for more than one may have gets nothing, whatever is free.
        array_agg((g.item).item_id) filter (where g.free < (
            select sum(least(u.qty, (g.item).per_buyer))
            from unnest(p_skus, p_qtys) as u (sku, qty)
            where u.sku = (g.item).sku))
    into items, skus, outcomes, members, free, held, first_row, last_row,
        short
    from (select i as item, r.outcome, r.members, s.free, s.held, s.rows,
            array_position(row_item, i.item_id) as first_row
        from data.item i
        cross join lateral (select sum(b.held)::bigint as held,
                sum(b.total + b.allowance - b.held - b.sold)::bigint as free,
                (count(*) filter (where b.total + b.allowance
                    > b.held + b.sold))::integer as rows
            from data.stock b where b.item_id = i.item_id) s
        cross join lateral api.item_refusal(i, p_now) r
        where i.item_id = any (p_items)
        order by i.item_id) g;
end
$$;

-- The answer to a request that leads to the hold p_hold_id. A hold of the
-- request's own id was made by it: its answer was lost.
create function api.take_again(
    p_hold_id bigint, p_id text, p_buyer uuid, p_known boolean, p_key text,
    p_skus text[], p_qtys bigint[], p_now timestamptz,
    out outcome text, out buyer uuid, out document text)
language plpgsql stable as $$
declare
    found_hold data.hold;
begin
    select * into found_hold from data.hold where hold_id = p_hold_id;
    buyer := p_buyer;
    if found_hold.key = p_key
        and ((p_known and found_hold.buyer <> p_buyer)
            or not api.hold_has_lines(p_hold_id, p_skus, p_qtys))
    then
        outcome := 'key-reused';
        return;
    end if;
    outcome := case when found_hold.id = p_id
        then 'created' else 'existing' end;
    buyer := found_hold.buyer;
    document := api.hold_document(
        p_hold_id, outcome = 'existing', found_hold.buyer, p_now);
end
$$;

-- The members of a refusal because of the limit for one buyer, who has bought
-- p_have already.
create function api.take_limit(
    p_item data.item, p_buyer uuid, p_have bigint)
returns json
language plpgsql stable as $$
begin
    return json_build_object('limit', p_item.per_buyer, 'have', p_have,
        'hold', (select h.id
            from data.hold_line l join data.hold h using (hold_id)
            where l.buyer = p_buyer and l.item_id = p_item.item_id
                and l.state = 'paid'
            order by h.hold_id desc limit 1));
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
