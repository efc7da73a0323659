-- Items: what is on sale, for buyers and for the operator.

-- What pages show of these items, in the order asked for; unknown ones are
-- left out. Expired holds count as free from their second on.
create function api.availability(p_skus text[]) returns text
language plpgsql stable security definer set search_path = data, pg_temp
as $$
begin
    return (with asked as (
        select min(u.nr) as nr, u.sku
        from unnest(p_skus) with ordinality as u (sku, nr) group by u.sku),
    counted as (
        select a.nr, i.*, s.free + d.qty as free, s.held - d.qty as held,
            c.moment
        from asked a
        join data.item i using (sku)
        cross join (select clock_timestamp() as moment) c
        cross join lateral (
            select sum(total + allowance - held - sold)::bigint as free,
                sum(held)::bigint as held
            from data.stock where item_id = i.item_id) s
        cross join lateral (
            select coalesce(sum(qty), 0)::bigint as qty from data.hold_line
            where item_id = i.item_id and (state = 'held') is true
                and expires_at <= c.moment) d)
    select json_build_object(
        'now', api.iso(clock_timestamp()),
        'items', coalesce(json_agg(json_build_object(
            'item', sku, 'title', title, 'kind', kind,
            'state', case
                when status = 'closed' or closes_at <= moment then 'closed'
                when status = 'paused' then 'paused'
                when opens_at > moment then 'upcoming'
                when free > 0 then 'on_sale'
                when held > 0 then 'all_held'
                else 'sold_out' end,
            'free', free, 'held', held,
            'price', json_build_object(
                'amount', price, 'currency', currency),
            'opens_in_ms', case when opens_at > moment
                then api.ms_until(opens_at, moment) end,
            'closes_in_ms', case when closes_at > moment
                then api.ms_until(closes_at, moment) end,
            'hold_seconds', hold_seconds,
            'per_buyer', per_buyer,
            'room', false) order by nr), '[]'))::text
    from counted);
end
$$;

-- Adds an item with its units spread over p_buckets rows, what does not come
-- out even over the first of them, of an allowance over the next; an allowance
-- of NULL is none. added; exists (of that SKU), nothing changed.
create function api.item_add(
    p_sku text, p_title text, p_price bigint, p_currency text,
    p_total bigint, p_allowance bigint, p_hold_seconds integer,
    p_per_buyer integer, p_buckets integer, p_opens_at timestamptz,
    p_closes_at timestamptz, p_late text[])
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    new_id bigint;
begin
    p_allowance := coalesce(p_allowance, 0);
    insert into item (sku, title, price, currency, hold_seconds, per_buyer,
        opens_at, closes_at, late, buckets)
    values (p_sku, p_title, p_price, p_currency, p_hold_seconds, p_per_buyer,
        p_opens_at, p_closes_at, p_late, p_buckets)
    on conflict (sku) do nothing returning item_id into new_id;
    if new_id is null then
        return 'exists';
    end if;
    insert into stock (item_id, bucket, total, allowance)
    select new_id, b, api.stock_share(p_total, p_buckets, b, 0),
        api.stock_share(p_allowance, p_buckets, b, p_total)
    from generate_series(1, p_buckets) b;
    return 'added';
end
$$;

-- An item with its counts, as the operator sees it; NULL when there is none.
create function api.item_show(p_sku text) returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select json_build_object(
        'item', i.sku, 'title', i.title, 'kind', i.kind,
        'status', i.status,
        'price', json_build_object(
            'amount', i.price, 'currency', i.currency),
        'total', s.total, 'allowance', s.allowance,
        'free', s.total + s.allowance - s.held - s.sold + s.due,
        'held', s.held - s.due, 'sold', s.sold, 'buckets', i.buckets,
        'hold_seconds', i.hold_seconds, 'per_buyer', i.per_buyer,
        'opens_at', api.iso(i.opens_at), 'closes_at', api.iso(i.closes_at),
        'late', i.late, 'version', i.version)::text
    from data.item i
    cross join lateral (
        select sum(total)::bigint as total, sum(allowance)::bigint
                as allowance,
            sum(held)::bigint as held, sum(sold)::bigint as sold,
            (select coalesce(sum(qty), 0)::bigint from data.hold_line l
                where l.item_id = i.item_id and (l.state = 'held') is true
                    and l.expires_at <= clock_timestamp()) as due
        from data.stock where item_id = i.item_id) s
    where i.sku = p_sku;
end;

create function api.item_list() returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select coalesce(json_agg(api.item_show(sku)::json order by sku),
        '[]')::text
    from data.item;
end;

-- Changes what is given (NULL: leave it); p_version must be the version that
-- the operator saw. p_total moves units into or out of the buckets; never
-- below what is held and sold. Stock is only touched when p_total is given,
-- so that saving a title writes no old count back.
-- done, no-such-item, changed (by somebody else), short (too many are held
-- or sold for that total). Locks the stock, then the item.
create function api.item_set(
    p_sku text, p_version bigint, p_title text, p_price bigint,
    p_total bigint, p_status text, p_by text)
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target item;
    before_set jsonb;
begin
    select * into target from item where sku = p_sku;
    if target.item_id is null then
        return 'no-such-item';
    end if;
    perform api.stock_lock(array[target.item_id]);
    select * into target from item where sku = p_sku for update;
    before_set := api.item_show(p_sku)::jsonb;
    if p_version is distinct from target.version then
        return 'changed';
    end if;
    if p_total is not null then
        while not api.stock_lay(target.item_id, p_total, target.buckets) loop
            -- What has expired is not in the way.
            if api.hold_lapse(array[target.item_id], null, 1000,
                clock_timestamp()) = 0
            then
                return 'short';
            end if;
        end loop;
    end if;
    update item set title = coalesce(p_title, title),
        price = coalesce(p_price, price),
        status = coalesce(p_status, status), version = version + 1
    where item_id = target.item_id;
    insert into item_change (item_id, changed_by, before, after)
    values (target.item_id, p_by, before_set, api.item_show(p_sku)::jsonb);
    return 'done';
end
$$;

-- Spreads an item's free units over p_buckets buckets, whatever it has now,
-- while it sells; 1 merges them. No unit and no line of a hold moves between
-- states: total, allowance, held and sold stay what they are in the sum. A
-- bucket that is merged away gives what it has free to the others and keeps
-- its row, which counts the units that are out from it; one that comes back
-- is found by the next buyer, and the next split moves it.
-- done (document: the buckets, what is free in each), no-such-item, not-count
-- (its units are distinct). Again, it spreads again. Locks the stock, then
-- the item.
create function api.item_split(
    p_sku text, p_buckets integer, p_by text,
    out outcome text, out document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target item;
    before_split jsonb;
begin
    select * into target from item where sku = p_sku;
    if target.item_id is null then
        outcome := 'no-such-item';
        return;
    elsif target.kind <> 'count' then
        outcome := 'not-count';
        return;
    end if;
    perform api.stock_lock(array[target.item_id]);
    perform 1 from item where item_id = target.item_id for update;
    before_split := api.item_show(p_sku)::jsonb;
    update item set buckets = p_buckets, version = version + 1
    where item_id = target.item_id;
    perform api.stock_lay(target.item_id, sum(total)::bigint, p_buckets)
    from stock where item_id = target.item_id;
    insert into item_change (item_id, changed_by, before, after)
    values (target.item_id, p_by, before_split,
        api.item_show(p_sku)::jsonb);
    outcome := 'done';
    document := (select json_build_object('item', p_sku,
            'buckets', p_buckets, 'spread', json_agg(
                total + allowance - held - sold order by bucket))
        from stock where item_id = target.item_id and bucket <= p_buckets);
end
$$;
