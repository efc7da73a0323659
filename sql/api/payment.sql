-- Money in and money out. Nothing here calls a provider: what must be called
-- is a row in the outbox, with its key, before anybody calls.

-- Asks for the pay page of a hold.
--   ready (url)   opening   checking (money is on its way)   paid
--   ended (the hold is over)   refused (the provider would not open it; from
--   5 s on the next call asks under a new key, up to 9 times)
--   no-such-hold   not-yours
-- The first call stores the payment, and with it all that the provider will
-- be told; later calls find it. p_return_base: the shop's address.
-- Locks the hold; its stock rows first when an event waits for it.
create function api.payment_start(
    p_id text, p_buyer uuid, p_provider text, p_return_base text,
    out outcome text, out url text, out document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target hold;
    latest payment;
    moment timestamptz;
    early boolean := exists (
        select from event e where e.hold = p_id and e.outcome = 'unmatched');
begin
    if early then
        target := api.hold_lock(p_id);
    else
        select * into target from hold where id = p_id for update;
    end if;
    moment := clock_timestamp();
    if target.hold_id is null then
        outcome := 'no-such-hold';
        return;
    elsif target.buyer is distinct from p_buyer then
        outcome := 'not-yours';
        return;
    end if;
    select * into latest from payment p
    where p.hold_id = target.hold_id order by attempt desc limit 1;
    if target.state = 'held' and target.expires_at > moment
        and (latest.payment_id is null
            or (latest.state = 'refused' and latest.attempt < 9
                and latest.created_at < moment - interval '5 s'))
    then
        latest := api.payment_open(target, coalesce(latest.attempt, 0) + 1,
            p_provider, p_return_base, moment);
        if early then
            perform api.event_apply(event_seq) from (
                select event_seq from event e
                where e.hold = p_id and e.outcome = 'unmatched'
                order by event_seq) parked;
            select * into target from hold where id = p_id;
            select * into latest from payment
            where payment_id = latest.payment_id;
        end if;
    end if;
    outcome := case
        when target.state = 'paid' then 'paid'
        when latest.state in ('checking', 'mismatch') then 'checking'
        when target.state <> 'held' or target.expires_at <= moment
            then 'ended'
        when latest.state = 'open' then 'ready'
        when latest.state = 'opening' then 'opening'
        when latest.state = 'refused' then 'refused'
        else 'ended' end;
    if outcome = 'ready' then
        url := latest.url;
    end if;
    document := api.hold_document(target.hold_id, true, p_buyer, moment);
end
$$;

-- Stores a payment and the call that opens its session.
create function api.payment_open(
    p_hold data.hold, p_attempt integer, p_provider text,
    p_return_base text, p_now timestamptz)
returns data.payment
language plpgsql as $$
declare
    made data.payment;
    suffix text := case when p_attempt > 1 then '-' || p_attempt else '' end;
begin
    insert into data.payment (hold_id, attempt, provider, key, amount,
        currency, title, return_url, session_expires_at)
    select p_hold.hold_id, p_attempt, p_provider,
        'cs-' || p_hold.id || suffix, p_hold.amount, p_hold.currency,
        left(string_agg(l.qty || ' x ' || i.title, ', ' order by i.sku), 250),
        p_return_base || '/order/' || p_hold.id,
        -- 30 minutes is the provider's least, 24 hours its most. Counted from
        -- the hold's end, so that each try within the hold is in time.
        date_trunc('second', least(p_hold.expires_at + interval '31 minutes',
            p_now + interval '23 hours 59 minutes'))
    from (select item_id, sum(qty) as qty from data.hold_line
        where hold_id = p_hold.hold_id group by item_id) l
    join data.item i using (item_id)
    returning * into made;
    -- An attempt that was refused needs nobody any more.
    update data.outbox o set done_at = p_now
    from data.payment p
    where p.hold_id = p_hold.hold_id and o.payment_id = p.payment_id
        and o.kind = 'open' and o.done_at is null;
    perform api.outbox_add('open', made.payment_id, made.key, p_now);
    return made;
end
$$;

-- Records one webhook delivery and acts on it, in one transaction. p_body
-- holds the bytes as signed. What came of it:
--   applied  repeat (nothing new)  refund (paid too late, money goes back)
--   ignored  unmatched (parked until our own record comes)
--   person (an operator decides)  unusable
-- Idempotent by provider and event id. Locks: the event, then as event_apply.
create function api.payment_settle(
    p_provider text, p_event_id text, p_type text, p_kind text, p_hold text,
    p_session_id text, p_payment_ref text, p_refund_ref text,
    p_refund_state text, p_amount bigint, p_currency text, p_detail text,
    p_body bytea)
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    seq bigint;
    seen bigint;
begin
    insert into event (provider, event_id, type, kind, hold, session_id,
        payment_ref, refund_ref, refund_state, amount, currency, outcome,
        detail, body)
    values (p_provider, p_event_id, p_type, p_kind, p_hold, p_session_id,
        p_payment_ref, p_refund_ref, p_refund_state, p_amount, p_currency,
        'received', p_detail, p_body)
    on conflict (provider, event_id)
        do update set deliveries = event.deliveries + 1
    returning event_seq, deliveries into seq, seen;
    if seen > 1 then
        return 'repeat';
    end if;
    return api.event_apply(seq);
end
$$;

-- Acts on an event of the inbox and records what came of it. Safe to call
-- again at any time: the states below never go backwards.
-- Locks: stock rows, hold, payment, refund, calls, and last the event.
create function api.event_apply(p_seq bigint) returns text
language plpgsql as $$
declare
    e data.event;
    target data.payment;
    outside_id text;
    result record;
begin
    select * into e from data.event where event_seq = p_seq;
    if e.kind in ('ignore', 'unusable') then
        update data.event set outcome = case e.kind
            when 'ignore' then 'ignored' else 'unusable' end
        where event_seq = p_seq returning outcome into e.outcome;
        return e.outcome;
    end if;
    target := api.event_payment(e);
    if target.payment_id is null then
        -- It may be about to be committed by whoever has locked the hold.
        perform api.hold_lock(e.hold);
        target := api.event_payment(e);
    end if;
    if target.payment_id is null then
        return api.event_park(e);
    end if;
    select id into outside_id from data.hold
    where hold_id = target.hold_id;
    perform api.hold_lock(outside_id);
    perform 1 from data.payment
    where payment_id = target.payment_id for update;
    if e.kind = 'paid' then
        select * into result from api.payment_paid(target.payment_id,
            e.session_id, e.payment_ref, e.amount, e.currency);
    elsif e.kind in ('pending', 'failed', 'expired') then
        select * into result from api.payment_news(
            target.payment_id, e.kind, e.session_id);
    elsif e.kind = 'refund' then
        select * into result from api.refund_news(target.payment_id,
            e.refund_ref, e.refund_state, e.amount);
    else
        select 'person' as outcome, 'the payment is disputed' as detail
        into result;
    end if;
    update data.event
    set outcome = result.outcome, detail = coalesce(result.detail, detail)
    where event_seq = p_seq and outcome in ('received', 'unmatched');
    return result.outcome;
end
$$;

-- An event that no payment of ours fits: it waits for our own record, or
-- belongs elsewhere. Money for a hold that has one already is neither.
create function api.event_park(p_event data.event) returns text
language plpgsql as $$
declare
    astray boolean := p_event.kind = 'paid' and exists (
        select from data.payment p join data.hold h using (hold_id)
        where h.id = p_event.hold);
begin
    update data.event
    set outcome = case when astray then 'person' else 'unmatched' end,
        detail = case when astray
            then 'paid through a page that was not opened here'
            else detail end
    where event_seq = p_event.event_seq
        and outcome in ('received', 'unmatched')
    returning outcome into p_event.outcome;
    return p_event.outcome;
end
$$;

-- Acts on an event that came before our own record of its payment and was
-- still being written when that was. One at a time: its locks are an order's.
create function api.event_unpark() returns void
language plpgsql as $$
begin
    perform api.event_apply(parked.event_seq)
    from (select e.event_seq from data.outbox o
        join data.payment p using (payment_id)
        join data.hold h using (hold_id)
        join data.event e on e.hold = h.id and e.provider = p.provider
        where o.kind = 'open' and o.done_at is null and not o.stuck
            and e.outcome = 'unmatched'
        order by e.event_seq limit 1) parked;
end
$$;

-- The payment that an event speaks of: by its session; else by the hold that
-- we named in the session's metadata; else by the provider's payment.
create function api.event_payment(p_event data.event) returns data.payment
language plpgsql stable as $$
declare
    target data.payment;
begin
    select * into target from data.payment
    where provider = p_event.provider and session_id = p_event.session_id;
    if target.payment_id is null then
        select p.* into target
        from data.payment p join data.hold h using (hold_id)
        where p.provider = p_event.provider and h.id = p_event.hold
            and (p.session_id is null or p_event.session_id is null)
        order by p.attempt desc limit 1;
    end if;
    if target.payment_id is null then
        select * into target from data.payment
        where provider = p_event.provider
            and payment_ref = p_event.payment_ref
        order by payment_id limit 1;
    end if;
    return target;
end
$$;

-- Money has arrived. Stock rows, hold and payment are locked.
create function api.payment_paid(
    p_payment_id bigint, p_session_id text, p_payment_ref text,
    p_amount bigint, p_currency text, out outcome text, out detail text)
language plpgsql as $$
declare
    target data.payment;
    bought data.hold;
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.payment where payment_id = p_payment_id;
    if target.state in ('paid', 'mismatch') then
        outcome := 'repeat';
        return;
    elsif coalesce(p_amount, 0) < 1 or p_currency is null then
        outcome := 'person';
        detail := 'paid, but no amount or no currency is said';
        return;
    end if;
    update data.payment
    set session_id = coalesce(session_id, p_session_id),
        payment_ref = coalesce(p_payment_ref, payment_ref),
        captured = p_amount, paid_at = moment,
        state = case when p_amount = amount and p_currency = currency
            then 'paid' else 'mismatch' end
    where payment_id = p_payment_id returning * into target;
    perform api.outbox_drop(p_payment_id);
    if target.state = 'mismatch' then
        outcome := 'person';
        detail := format('paid %s %s, asked for %s %s',
            p_amount, p_currency, target.amount, target.currency);
        return;
    end if;

    select * into bought from data.hold where hold_id = target.hold_id;
    if bought.state = 'paid' then
        perform api.refund_owe(target, 'paid_twice', moment);
        outcome := 'refund';
        detail := 'the order was paid before';
    elsif bought.state = 'held' and bought.expires_at > moment then
        perform api.hold_sell(bought.hold_id, moment);
        outcome := 'applied';
    elsif api.hold_retake(bought, moment) then
        outcome := 'applied';
        detail := 'paid late, taken again';
    else
        perform api.refund_owe(target, 'paid_late', moment);
        outcome := 'refund';
        detail := 'paid late, no unit free';
    end if;
end
$$;

-- A live hold becomes sold.
create function api.hold_sell(p_hold_id bigint, p_now timestamptz)
returns void
language plpgsql as $$
declare
    items bigint[];
    buckets integer[];
    qtys bigint[];
begin
    with sold as (
        update data.hold_line set state = 'paid'
        where hold_id = p_hold_id and state = 'held'
        returning item_id, bucket, qty)
    select array_agg(item_id), array_agg(bucket), array_agg(qty)
    into items, buckets, qtys from sold;
    perform api.stock_move(items, buckets,
        (select array_agg(-u) from unnest(qtys) u), qtys);
    update data.hold set state = 'paid', reason = null, ended_at = p_now
    where hold_id = p_hold_id;
end
$$;

-- A hold that has ended takes its units again, all or none, if its items
-- allow that, enough is free and the buyer stays within the limit.
create function api.hold_retake(p_hold data.hold, p_now timestamptz)
returns boolean
language plpgsql as $$
declare
    line record;
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
        if 'retake' <> all (line.late)
            or line.qty > line.per_buyer - api.buyer_units(
                p_hold.buyer, line.item_id, p_hold.hold_id, p_now)
        then
            return false;
        end if;
        while not exists (select from api.stock_pick(
            line.item_id, line.qty, p_hold.buyer))
        loop
            if api.hold_lapse(array[line.item_id], null, 1000, p_now) = 0
            then
                return false;
            end if;
        end loop;
    end loop;
    perform api.hold_resell(p_hold, p_now);
    return true;
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

-- The provider's other news of a payment: money is on its way, or will not
-- come. Never undoes money that has come. Stock rows, hold, payment locked.
create function api.payment_news(
    p_payment_id bigint, p_kind text, p_session_id text,
    out outcome text, out detail text)
language plpgsql as $$
declare
    target data.payment;
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.payment where payment_id = p_payment_id;
    if target.state not in ('opening', 'open', 'checking')
        or (p_kind = 'pending' and target.state = 'checking')
    then
        outcome := 'repeat';
        return;
    end if;
    update data.payment set state = case p_kind
        when 'pending' then 'checking' else p_kind end,
        session_id = coalesce(session_id, p_session_id)
    where payment_id = p_payment_id;
    if p_kind <> 'pending' then
        perform api.outbox_drop(p_payment_id);
        perform api.hold_release(target.hold_id, case
            when p_kind = 'failed' then 'payment_failed'
            else 'expired' end, moment);
    end if;
    outcome := 'applied';
end
$$;

-- Writes down that a payment goes back, and the call that sends it.
create function api.refund_owe(
    p_payment data.payment, p_reason text, p_now timestamptz)
returns void
language plpgsql as $$
declare
    hold_name text;
begin
    select id into hold_name from data.hold
    where hold_id = p_payment.hold_id;
    insert into data.refund (payment_id, key, amount, reason)
    values (p_payment.payment_id, 'refund-' || hold_name || case
        when p_payment.attempt > 1 then '-' || p_payment.attempt else '' end,
        p_payment.captured, p_reason);
    perform api.outbox_add('refund', p_payment.payment_id,
        (select key from data.refund
            where payment_id = p_payment.payment_id), p_now);
end
$$;

-- What the provider says of a refund. Its states only go forward: owed,
-- pending, succeeded, failed; a refund may fail weeks after it succeeded, and
-- then a person must pay the buyer another way. Until we know our refund's
-- name, its amount says which it is: somebody may have given a part back.
create function api.refund_news(
    p_payment_id bigint, p_refund_ref text, p_state text, p_amount bigint,
    out outcome text, out detail text)
language plpgsql as $$
declare
    target data.refund;
    ranks constant text[] := '{owed,pending,succeeded,failed}';
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.refund
    where payment_id = p_payment_id for update;
    if target.refund_id is null
        or target.refund_ref <> p_refund_ref
        or (target.refund_ref is null and target.amount <> p_amount)
        or array_position(ranks, p_state) is null
    then
        outcome := 'person';
        detail := 'a refund that was not made here';
        return;
    end if;
    if array_position(ranks, p_state)
        <= array_position(ranks, target.state)
    then
        outcome := 'repeat';
        return;
    end if;
    update data.refund
    set state = p_state, refund_ref = coalesce(refund_ref, p_refund_ref),
        ended_at = case when p_state in ('succeeded', 'failed')
            then moment end
    where refund_id = target.refund_id;
    update data.outbox set done_at = moment
    where kind = 'refund' and payment_id = p_payment_id and done_at is null;
    if p_state = 'succeeded' then
        update data.hold h set reason = 'refunded'
        from data.payment p
        where p.payment_id = p_payment_id and h.hold_id = p.hold_id
            and h.state = 'released';
    end if;
    outcome := case when p_state = 'failed' then 'person' else 'applied' end;
    detail := case when p_state = 'failed' then 'the refund failed' end;
end
$$;

-- The newest events, for the command line. p_outcome may be NULL.
create function api.event_list(p_outcome text, p_limit integer)
returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select coalesce(json_agg(r order by r.seq desc), '[]')::text from (
        select e.event_seq as seq, e.provider, e.event_id, e.type, e.kind,
            e.hold, e.outcome, e.detail, e.deliveries,
            api.iso(e.received_at) as received_at
        from data.event e
        where p_outcome is null or e.outcome = p_outcome
        order by e.event_seq desc limit p_limit) r;
end;

-- An order with its payments, refund and events; by its number or its hold's
-- id. NULL when there is none.
create function api.order_show(p_name text) returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select json_build_object(
        'hold', api.hold_document(
            h.hold_id, true, null, clock_timestamp())::json,
        'created_at', api.iso(h.created_at),
        'ended_at', api.iso(h.ended_at),
        'payments', (select coalesce(json_agg(json_build_object(
                'provider', p.provider, 'state', p.state, 'key', p.key,
                'session', p.session_id, 'payment', p.payment_ref,
                'captured', p.captured, 'paid_at', api.iso(p.paid_at),
                'refund', (select json_build_object('state', r.state,
                        'reason', r.reason, 'refund', r.refund_ref,
                        'amount', r.amount, 'key', r.key)
                    from data.refund r where r.payment_id = p.payment_id),
                'calls', (select json_agg(json_build_object(
                        'kind', o.kind, 'try', o.try, 'stuck', o.stuck,
                        'error', o.last_error, 'done_at', api.iso(o.done_at))
                        order by o.outbox_id)
                    from data.outbox o where o.payment_id = p.payment_id))
                order by p.attempt), '[]')
            from data.payment p where p.hold_id = h.hold_id),
        'events', (select coalesce(json_agg(json_build_object(
                'event', e.event_id, 'type', e.type, 'outcome', e.outcome,
                'detail', e.detail, 'deliveries', e.deliveries,
                'received_at', api.iso(e.received_at))
                order by e.event_seq), '[]')
            from data.event e where e.hold = h.id))::text
    from data.hold h
    where h.id = p_name or 'ord_' || h.hold_id = p_name;
end;
