-- What the cashier owes the provider. It claims a row (that moves next_try
-- on: the row comes back if the cashier dies), commits, calls with the stored
-- key, and records the outcome. Nothing is called inside a transaction.

create function api.outbox_add(
    p_kind text, p_payment_id bigint, p_key text, p_at timestamptz)
returns void
language plpgsql as $$
begin
    insert into data.outbox (kind, payment_id, key, next_try)
    values (p_kind, p_payment_id, p_key, p_at)
    on conflict (kind, payment_id) do nothing;
    perform pg_notify('lastpair_cashier', '');
end
$$;

-- A call has been answered. Whoever locks a payment and its calls locks the
-- payment first: a webhook about the same thing often comes at the same time.
create function api.outbox_done(p_outbox_id bigint) returns void
language plpgsql as $$
begin
    update data.outbox set done_at = clock_timestamp(), last_error = null
    where outbox_id = p_outbox_id and done_at is null;
end
$$;

-- The session has come to its end by itself: no call about it is needed.
create function api.outbox_drop(p_payment_id bigint) returns void
language sql
begin atomic
    update data.outbox set done_at = clock_timestamp()
    where payment_id = p_payment_id and kind in ('open', 'expire')
        and done_at is null;
end;

-- The hold has ended early: its pay page must not outlive it.
create function api.outbox_expire_now(p_hold_id bigint) returns void
language plpgsql as $$
begin
    update data.outbox o set next_try = clock_timestamp()
    from data.payment p
    where p.payment_id = o.payment_id and p.hold_id = p_hold_id
        and o.kind = 'expire' and o.done_at is null;
    perform pg_notify('lastpair_cashier', '');
end
$$;

-- Claims up to p_limit calls that are due, oldest first; a claimed row comes
-- back after p_lease_ms unless its outcome is recorded. A page that was not
-- opened before its hold ended is not opened any more. Several cashiers are
-- harmless.
create function api.cashier_claim(p_limit integer, p_lease_ms integer)
returns table (outbox_id bigint, kind text, try integer, key text,
    hold text, number bigint, session_id text, payment_ref text,
    amount bigint, currency text, title text, return_url text,
    session_expires_at bigint)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    -- A clock in a condition would be asked for every call that waits.
    moment timestamptz;
begin
    perform api.event_unpark();
    moment := clock_timestamp();
    with ended as (
        select p.payment_id
        from (select o.payment_id from outbox o
            where o.kind = 'open' and o.try = 0
                and o.done_at is null and not o.stuck
                and o.next_try <= moment
            order by o.next_try limit greatest(p_limit, 20)) o
        join payment p on p.payment_id = o.payment_id
        join hold h on h.hold_id = p.hold_id
        where (h.state <> 'held' or h.expires_at <= clock_timestamp())
        for update of p skip locked),
    unasked as (
        update outbox o set done_at = clock_timestamp() from ended e
        where o.kind = 'open' and o.payment_id = e.payment_id and o.try = 0
            and o.done_at is null and not o.stuck
        returning o.payment_id)
    update payment p set state = 'expired' from unasked u
    where p.payment_id = u.payment_id and p.state = 'opening';
    return query
    with due as (
        select o.outbox_id from outbox o
        where o.done_at is null and not o.stuck
            and o.next_try <= moment
        order by o.next_try limit p_limit for update skip locked),
    claimed as (
        update outbox o
        set try = o.try + 1,
            next_try = clock_timestamp() + p_lease_ms * interval '1 ms'
        from due where o.outbox_id = due.outbox_id
        returning o.*)
    select c.outbox_id, c.kind, c.try, c.key, h.id, h.hold_id, p.session_id,
        p.payment_ref,
        case c.kind when 'refund' then r.amount else p.amount end,
        p.currency, p.title, p.return_url,
        extract(epoch from p.session_expires_at)::bigint
    from claimed c
    join payment p on p.payment_id = c.payment_id
    join hold h on h.hold_id = p.hold_id
    left join refund r on r.payment_id = p.payment_id
    order by c.outbox_id;
end
$$;

-- Milliseconds until a call is due: 0 when one is, at most p_most.
create function api.cashier_wait(p_most integer) returns integer
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select least(p_most, coalesce(api.ms_until(min(next_try),
        clock_timestamp()), p_most))::integer
    from data.outbox where done_at is null and not stuck;
end;

-- The session is open. When its hold has ended meanwhile, it is ended at
-- once; else when the hold ends. Locks: the hold (it may be given up at this
-- moment), payment, call.
create function api.cashier_opened(
    p_outbox_id bigint, p_session_id text, p_url text)
returns void
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target payment;
    bought hold;
begin
    select h.* into bought from hold h
    where h.hold_id = (select p.hold_id
        from outbox o join payment p on p.payment_id = o.payment_id
        where o.outbox_id = p_outbox_id) for update;
    update payment p
    set session_id = coalesce(p.session_id, p_session_id), url = p_url,
        state = 'open', opened_at = clock_timestamp()
    from outbox o
    where o.outbox_id = p_outbox_id and p.payment_id = o.payment_id
        and p.state = 'opening'
    returning p.* into target;
    perform api.outbox_done(p_outbox_id);
    if target.payment_id is null then
        return;
    end if;
    perform api.outbox_add('expire', target.payment_id,
        replace(target.key, 'cs-', 'expire-'),
        case when bought.state = 'held' then bought.expires_at
            else clock_timestamp() end);
end
$$;

-- The session has ended unpaid, by our call or before it.
create function api.cashier_expired(p_outbox_id bigint) returns void
language plpgsql security definer set search_path = data, pg_temp as $$
begin
    update payment p set state = 'expired' from outbox o
    where o.outbox_id = p_outbox_id and p.payment_id = o.payment_id
        and p.state in ('open', 'opening');
    perform api.outbox_done(p_outbox_id);
end
$$;

-- The provider has taken the refund. What came of it: as refund_news.
create function api.cashier_refunded(
    p_outbox_id bigint, p_refund_ref text, p_state text)
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target bigint;
    outside_id text;
    result record;
begin
    select o.payment_id, h.id into target, outside_id
    from outbox o join payment p on p.payment_id = o.payment_id
    join hold h on h.hold_id = p.hold_id
    where o.outbox_id = p_outbox_id;
    perform api.hold_lock(outside_id);
    perform 1 from payment where payment_id = target for update;
    perform 1 from refund where payment_id = target for update;
    perform api.outbox_done(p_outbox_id);
    select * into result
    from api.refund_news(target, p_refund_ref, p_state, null);
    return result.outcome;
end
$$;

-- No outcome yet: try again in p_delay_ms. After p_tries tries the row is
-- stuck, for a person. True when it is.
create function api.cashier_retry(
    p_outbox_id bigint, p_error text, p_delay_ms bigint, p_tries integer)
returns boolean
language sql security definer set search_path = data, pg_temp
begin atomic
    update data.outbox
    set next_try = clock_timestamp() + p_delay_ms * interval '1 ms',
        last_error = left(p_error, 500), stuck = try >= p_tries
    where outbox_id = p_outbox_id and done_at is null
    returning stuck;
end;

-- The provider has said no for good: the row is stuck. A page that it would
-- not open can be asked for again by the buyer, under a new key.
create function api.cashier_refused(p_outbox_id bigint, p_error text)
returns void
language plpgsql security definer set search_path = data, pg_temp as $$
begin
    update payment p set state = 'refused' from outbox o
    where o.outbox_id = p_outbox_id and o.kind = 'open'
        and p.payment_id = o.payment_id and p.state = 'opening';
    update outbox set stuck = true, last_error = left(p_error, 500)
    where outbox_id = p_outbox_id and done_at is null;
end
$$;
