-- The inbox: what providers tell us, kept for ever, and acted on once.

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
    from (with waiting as materialized (
            select event_seq, provider, hold from data.event
            where outcome = 'unmatched')
        select w.event_seq from waiting w
        join data.hold h on h.id = w.hold
        join data.payment p on p.hold_id = h.hold_id
            and p.provider = w.provider
        join data.outbox o using (payment_id)
        where o.kind = 'open' and o.done_at is null and not o.stuck
        order by w.event_seq limit 1) parked;
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
