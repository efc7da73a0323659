-- Holds: how they look, how they end, and who may touch them.
--
-- Locks, everywhere in this order: the stock of the items in question
-- (ascending; an item's first row stands for all of them), then holds
-- (ascending), then payment, refund, call, event. Whoever changes a line holds
-- the lock of its item's stock.
--
-- What a request runs is PL/pgSQL, whose plans a session keeps. A function in
-- plain SQL is planned at each call unless it can be inlined; those here can.

-- The one place that says what a hold looks like outside. `view` names the
-- section of the order page: one word for all that the buyer must know. Moments
-- come as api.iso writes them.
create function api.hold_json(
    p_id text, p_number bigint, p_state text, p_reason text, p_lines json,
    p_amount bigint, p_currency text, p_now text, p_expires_at text,
    p_left_ms bigint, p_existing boolean, p_payment json, p_refund json,
    p_late text, p_view text)
returns text
language sql stable parallel safe
-- Put together by hand, as json_build_object would be the dearest part of a
-- hold: what is not JSON here already is a number or a word of ours. As what is
-- in it is stable, so must this be, or it would be called instead of inlined.
return '{"id" : "' || p_id || '", "order" : "ord_' || p_number
    || '", "state" : "' || p_state
    || '", "reason" : ' || coalesce('"' || p_reason || '"', 'null')
    || ', "view" : "' || p_view || '", "lines" : ' || p_lines::text
    || ', "price" : {"amount" : ' || p_amount || ', "currency" : "'
    || p_currency || '"}, "now" : "' || p_now
    || '", "expires_at" : "' || p_expires_at
    || '", "expires_in_ms" : ' || p_left_ms
    || ', "existing" : ' || p_existing
    || ', "payment" : ' || coalesce(p_payment::text, 'null')
    || ', "refund" : ' || coalesce(p_refund::text, 'null')
    || ', "late" : ' || coalesce('"' || p_late || '"', 'null') || '}';

-- p_pending: money has been on its way for longer than a card takes.
create function api.hold_view(
    p_state text, p_reason text, p_payment text, p_refund text,
    p_pending boolean)
returns text
language sql immutable parallel safe
return case
    -- Money that came a second time goes back; the goods stay.
    when p_state = 'paid' then 'paid'
    when p_refund = 'failed' then 'refund_failed'
    when p_refund = 'succeeded' then 'refunded'
    when p_refund is not null then 'refund_owed'
    when p_payment = 'checking' and p_pending then 'pending'
    when p_payment in ('checking', 'mismatch') then 'checking'
    when p_state = 'held' and p_payment = 'opening' then 'opening'
    when p_state = 'held' then 'held'
    -- A bank payment that failed days after the hold had ended.
    when p_payment = 'failed' then 'payment_failed'
    else p_reason end;

-- What of an order's money has gone back, or is owed. Step by step: a plan that
-- was made on empty tables is kept, and would look through all refunds.
create function api.hold_refunds(p_hold_id bigint) returns setof data.refund
language plpgsql stable as $$
begin
    return query
    select r.* from data.payment p
    cross join lateral (select * from data.refund
        where payment_id = p.payment_id offset 0) r
    where p.hold_id = p_hold_id;
end
$$;

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
        h.amount, h.currency, api.iso(p_now), api.iso(h.expires_at),
        case when s.state = 'held'
            then api.ms_until(h.expires_at, p_now) else 0 end, p_existing,
        case when p.payment_id is not null then json_build_object(
            'state', p.state,
            'url', case when p.state = 'open' and s.state = 'held'
                and h.buyer = p_viewer then p.url end) end,
        case when r.refund_id is not null then json_build_object(
            'state', r.state, 'reason', r.reason,
            'amount', case when r.state = 'failed' then r.amount
                else r.sum end) end,
        p.late_step,
        api.hold_view(s.state, s.reason, p.state, r.state,
            p.checking_at < p_now - interval '1 minute'))
    from data.hold h
    cross join lateral (select
        case when h.state = 'held' and h.expires_at <= p_now
            then 'released' else h.state end as state,
        case when h.state = 'held' and h.expires_at <= p_now
            then 'expired' else h.reason end as reason) s
    left join lateral (select *, max(late) over () as late_step
        from data.payment
        where payment.hold_id = h.hold_id
        order by attempt desc limit 1) p on true
    left join lateral (select f.*, sum(f.amount)
            filter (where f.state <> 'failed') over () as sum
        from api.hold_refunds(h.hold_id) f where f.state <> 'void'
        order by f.refund_id desc limit 1) r on true
    where h.hold_id = p_hold_id);
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

-- Returns up to p_limit expired lines, for the first item whose stock rows
-- nobody holds at the moment: several sweepers share the work, and a buyer
-- who is taking units returns expired ones himself. `next_in_ms` says when to
-- come back: 0 when more is due, at most a second.
create function api.sweep(
    p_limit integer, out returned integer, out next_in_ms bigint)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    due bigint;
    -- A clock in a condition would be asked for every line there is.
    moment timestamptz := clock_timestamp();
    soonest timestamptz;
begin
    returned := 0;
    for due in
        select i.item_id from item i
        where exists (select from hold_line l
            where l.item_id = i.item_id and (l.state = 'held') is true
                and l.expires_at <= moment)
        order by i.item_id
    loop
        -- As api.stock_lock, but without waiting.
        perform 1 from stock where item_id = due and bucket = 1
        for update skip locked;
        if found then
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

-- Live holds become sold. Stock rows and holds are locked.
create function api.hold_sell(p_holds bigint[], p_now timestamptz)
returns void
language plpgsql as $$
declare
    items bigint[];
    buckets integer[];
    qtys bigint[];
begin
    with sold as (
        update data.hold_line set state = 'paid'
        where hold_id = any (p_holds) and state = 'held'
        returning item_id, bucket, qty)
    select array_agg(item_id), array_agg(bucket), array_agg(qty)
    into items, buckets, qtys from sold;
    perform api.stock_move(items, buckets,
        (select array_agg(-u) from unnest(qtys) u), qtys);
    update data.hold set state = 'paid', reason = null, ended_at = p_now
    where hold_id = any (p_holds);
end
$$;

-- A paid order is over: its units are on sale again. Stock rows and hold are
-- locked.
create function api.hold_cancel(p_hold_id bigint, p_now timestamptz)
returns void
language plpgsql as $$
declare
    items bigint[];
    buckets integer[];
    qtys bigint[];
begin
    with gone as (
        update data.hold_line set state = 'released'
        where hold_id = p_hold_id and state = 'paid'
        returning item_id, bucket, qty)
    select array_agg(item_id), array_agg(bucket), array_agg(-qty)
    into items, buckets, qtys from gone;
    perform api.stock_move(items, buckets, null, qtys);
    update data.hold
    set state = 'released', reason = 'refunded', ended_at = p_now
    where hold_id = p_hold_id and state = 'paid';
end
$$;

-- A hold that has ended takes its units again, all or none, if the ladders of
-- its items allow that, enough is free and the buyer stays within the limit.
-- Which step did: retake (all of it from free units), allowance (some of it
-- beyond them); NULL: none can.
create function api.hold_retake(p_hold data.hold, p_now timestamptz)
returns text
language plpgsql as $$
declare
    line record;
    step text;
    deepest text := 'retake';
begin
    -- Whatever is still counted as held for this hold is free, and so is what
    -- else has expired.
    perform api.hold_release(p_hold.hold_id, 'expired', p_now);
    for line in select i.item_id, i.late, i.per_buyer,
            sum(l.qty)::bigint as qty
        from data.hold_line l join data.item i using (item_id)
        where l.hold_id = p_hold.hold_id
        group by i.item_id
    loop
        if line.qty > line.per_buyer - api.buyer_units(
            p_hold.buyer, line.item_id, p_hold.hold_id, p_now)
        then
            return null;
        end if;
        loop
            step := api.late_step(line.item_id, line.late, line.qty);
            -- What has expired is free, and goes before the allowance.
            exit when step = 'retake' or api.hold_lapse(
                array[line.item_id], null, 1000, p_now) = 0;
        end loop;
        if step is null then
            return null;
        elsif step = 'allowance' then
            deepest := step;
        end if;
    end loop;
    perform api.hold_resell(p_hold, p_now);
    return deepest;
end
$$;

-- The first step of an item's ladder that has so many units now; NULL: none.
-- Stock is locked.
create function api.late_step(p_item_id bigint, p_late text[], p_qty bigint)
returns text
language plpgsql stable as $$
declare
    units_left bigint;
    spare bigint;
begin
    select sum(total - held - sold), sum(allowance) into units_left, spare
    from data.stock where item_id = p_item_id;
    return case
        when 'retake' = any (p_late) and p_qty <= units_left then 'retake'
        when 'allowance' = any (p_late) and p_qty <= units_left + spare
            then case when p_qty <= units_left then 'retake'
                else 'allowance' end
        end;
end
$$;

-- Sells a released hold's goods to its buyer again, from whichever buckets
-- have them free now. hold_retake has found that enough is.
create function api.hold_resell(p_hold data.hold, p_now timestamptz)
returns void
language plpgsql as $$
declare
    sold data.hold_line[];
begin
    select array_agg(row (p_hold.hold_id, g.item_id, k.bucket, k.amount,
        g.price, p_hold.buyer, 'paid', p_hold.expires_at,
        k.nr = 1)::data.hold_line)
    into sold
    from (select item_id, sum(qty)::bigint as qty, min(price) as price
        from data.hold_line where hold_id = p_hold.hold_id
        group by item_id) g
    cross join lateral api.stock_pick(g.item_id, g.qty, p_hold.buyer)
        with ordinality as k (bucket, amount, nr);
    delete from data.hold_line where hold_id = p_hold.hold_id;
    insert into data.hold_line select * from unnest(sold);
    perform api.stock_move(array_agg(l.item_id), array_agg(l.bucket),
        null, array_agg(l.qty)) from unnest(sold) l;
    update data.hold set state = 'paid', reason = null, ended_at = p_now
    where hold_id = p_hold.hold_id;
end
$$;
