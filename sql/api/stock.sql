-- The stock rows: locking, counting and moving units over buckets.

-- Locks all buckets of these items, in the order that everybody keeps to.
create function api.stock_lock(p_items bigint[]) returns void
language plpgsql as $$
begin
    perform 1 from data.stock where item_id = any (p_items)
    order by item_id, bucket for update;
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

-- A new total for each bucket (1, 2, …) that adds up to p_total and leaves
-- room for what each has held and sold; NULL when there is none. What is over
-- is spread evenly. Stock rows are locked.
create function api.stock_spread(p_item_id bigint, p_total bigint)
returns bigint[]
language plpgsql stable as $$
declare
    needs bigint[];
    n integer;
    over bigint;
begin
    select array_agg(greatest(0, held + sold - allowance) order by bucket),
        count(*)
    into needs, n from data.stock where item_id = p_item_id;
    over := p_total - (select sum(u) from unnest(needs) u);
    if over < 0 then
        return null;
    end if;
    return (select array_agg(u + over / n + (nr <= over % n)::integer
            order by nr)
        from unnest(needs) with ordinality as t (u, nr));
end
$$;
