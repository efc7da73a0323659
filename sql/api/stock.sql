-- The stock rows: locking, counting and moving units over buckets.

-- Locks the stock of these items, in the order that everybody keeps to. An
-- item's first bucket is the lock of all of them: it is always there, while a
-- wait may end with more buckets than it began with. Read the others after it.
create function api.stock_lock(p_items bigint[]) returns void
language plpgsql as $$
begin
    perform 1 from data.stock where item_id = any (p_items) and bucket = 1
    order by item_id for update;
end
$$;

-- Which bucket a buyer starts at, from 0.
create function api.stock_start(p_buyer uuid) returns integer
language sql immutable parallel safe
return hashtextextended(p_buyer::text, 0) & 2147483647;

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

-- Which buckets p_qty units of an item come from, the stock being locked:
-- rows of bucket and amount. None when there are too few. One that was merged
-- away is looked at, too.
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

-- Of p_units spread evenly over p_buckets, how many p_bucket gets. What does
-- not come out even goes one by one to the buckets after the first p_skip,
-- counted round; a bucket above p_buckets gets none.
create function api.stock_share(
    p_units bigint, p_buckets integer, p_bucket integer, p_skip bigint)
returns bigint
language sql immutable parallel safe
return case when p_bucket > p_buckets then 0 else
    p_units / p_buckets + ((p_bucket - 1 + p_buckets - p_skip % p_buckets)
        % p_buckets < p_units % p_buckets)::integer end;

-- Lays an item's units out anew, p_total of them and the allowance, over the
-- buckets from 1 to p_buckets. A bucket keeps what it has held and sold, so
-- that no line moves and the work does not grow with what was sold; what is
-- free is spread evenly, and none is left to a bucket above. False, and
-- nothing is done, when more than that is held or sold. Stock is locked.
create function api.stock_lay(
    p_item_id bigint, p_total bigint, p_buckets integer)
returns boolean
language plpgsql as $$
declare
    used bigint;
    spare bigint;
begin
    select sum(held + sold), sum(allowance) into used, spare
    from data.stock where item_id = p_item_id;
    if p_total < greatest(0, used - spare) then
        return false;
    end if;
    insert into data.stock (item_id, bucket, total)
    select p_item_id, b, 0 from generate_series(1, p_buckets) b
    on conflict do nothing;
    -- What is held and sold uses up the total first, then the allowance.
    update data.stock s
    set total = lay.total, allowance = lay.allowance, version = version + 1
    from (select bucket,
            cover + api.stock_share(greatest(0, p_total - used), p_buckets,
                bucket, 0) as total,
            needs - cover + api.stock_share(
                spare - greatest(0, used - p_total), p_buckets, bucket,
                greatest(0, p_total - used)) as allowance
        from (select bucket, held + sold as needs,
                least(held + sold, greatest(0, p_total + held + sold
                    - sum(held + sold) over (order by bucket)))::bigint
                    as cover
            from data.stock where item_id = p_item_id) u) lay
    where s.item_id = p_item_id and s.bucket = lay.bucket
        and (s.total, s.allowance) <> (lay.total, lay.allowance);
    return true;
end
$$;
