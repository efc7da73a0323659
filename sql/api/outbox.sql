-- What the cashier owes the provider. It claims a row (that moves next_try
-- on: the row comes back if the cashier dies), commits, calls with the stored
-- key, and records the outcome. Nothing is called inside a transaction.

-- Writes a call down, once for each refund, and of the other kinds once for
-- each payment; to look something up or to send what was kept back, again.
create function api.outbox_add(
    p_kind text, p_payment_id bigint, p_key text, p_at timestamptz,
    p_refund_id bigint default null)
returns void
language plpgsql as $$
begin
    if p_kind = 'refund' then
        update data.outbox set done_at = null, stuck = false, try = 0,
            next_try = p_at
        where refund_id = p_refund_id and done_at is not null;
    elsif p_kind = 'fetch' then
        -- Also one that is under way: its answer may be older than this news.
        update data.outbox set done_at = null, stuck = false, try = 0,
            next_try = p_at
        where kind = p_kind and payment_id = p_payment_id
            and refund_id is null;
    end if;
    insert into data.outbox (kind, payment_id, hold_id, refund_id, key,
        next_try)
    select p_kind, p_payment_id, hold_id, p_refund_id, p_key, p_at
    from data.payment where payment_id = p_payment_id
    on conflict do nothing;
    perform pg_notify('lastpair_cashier', '');
end
$$;

-- A call needs no more: it was answered, or what it was for has come about.
-- Whoever locks a payment and its calls locks the payment first: a webhook
-- about the same thing often comes at the same time.
create function api.outbox_close(p_outbox_id bigint) returns void
language plpgsql as $$
begin
    update data.outbox set done_at = clock_timestamp(), last_error = null
    where outbox_id = p_outbox_id and done_at is null;
    if found then
        perform api.task_over(kind, 'call ' || p_outbox_id, 'not needed')
        from unnest('{stuck,refused}'::text[]) kind;
    end if;
end
$$;

-- The session has come to its end by itself: no call about it is needed.
create function api.outbox_drop(p_payment_id bigint) returns void
language plpgsql as $$
begin
    perform api.outbox_close(outbox_id) from data.outbox
    where payment_id = p_payment_id and kind in ('open', 'expire')
        and refund_id is null and done_at is null;
end
$$;

-- The hold has ended early: its pay page must not outlive it.
create function api.outbox_expire_now(p_hold_id bigint) returns void
language plpgsql as $$
declare
    page bigint;
begin
    for page in select payment_id from data.payment
        where hold_id = p_hold_id
    loop
        update data.outbox set next_try = clock_timestamp()
        where kind = 'expire' and payment_id = page and refund_id is null
            and done_at is null;
    end loop;
    perform pg_notify('lastpair_cashier', '');
end
$$;

-- Claims calls that are due, up to so many of each kind: pages for the oldest
-- holds first, the others by when they are due. A claimed row comes back after
-- p_lease_ms unless its outcome is recorded. A page that was not opened before
-- its hold ended is not opened any more. Several cashiers are harmless.
create function api.cashier_claim(
    p_provider text, p_open integer, p_expire integer, p_refund integer,
    p_fetch integer, p_lease_ms integer)
returns table (outbox_id bigint, kind text, try integer, age_s bigint,
    key text, payment_key text, refund_key text, hold text, number bigint,
    session_id text, payment_ref text, refund_ref text, amount bigint,
    currency text, title text, return_url text, session_expires_at bigint)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    -- A clock in a condition would be asked for every call that waits.
    moment timestamptz;
    due bigint[];
begin
    perform api.event_unpark_late(50);
    moment := clock_timestamp();
    perform api.cashier_forget(greatest(p_open, 20), moment);
    perform api.cashier_orphans(moment);
    due := array(select o.outbox_id from outbox o
            where (o.kind = 'open' and o.done_at is null and not o.stuck)
                is true
                and o.next_try <= moment
                and api.payment_provider(o.payment_id) = p_provider
            order by o.hold_id limit p_open for update skip locked)
        || api.cashier_due(p_provider, 'expire', p_expire, moment)
        || api.cashier_due(p_provider, 'refund', p_refund, moment)
        || api.cashier_due(p_provider, 'fetch', p_fetch, moment);
    return query
    with claimed as (
        update outbox o
        set try = o.try + 1, claimed_by = pg_backend_pid(),
            next_try = clock_timestamp() + p_lease_ms * interval '1 ms'
        where o.outbox_id = any (due)
        returning o.*)
    select c.outbox_id, c.kind, c.try,
        extract(epoch from moment - c.created_at)::bigint, c.key, p.key,
        r.key, h.id, h.hold_id, p.session_id, p.payment_ref, r.refund_ref,
        case c.kind when 'refund' then r.amount else p.amount end,
        p.currency, p.title, p.return_url,
        extract(epoch from p.session_expires_at)::bigint
    from claimed c
    join payment p on p.payment_id = c.payment_id
    join hold h on h.hold_id = c.hold_id
    left join lateral (select * from refund f
        where f.refund_id = c.refund_id offset 0) r on true
    order by c.hold_id, c.outbox_id;
end
$$;

-- Calls whose cashier is gone are due at once: it was killed, or has lost its
-- connection, and then asks twice under the same key.
create function api.cashier_orphans(p_now timestamptz) returns void
language plpgsql as $$
begin
    update data.outbox o set next_try = least(o.next_try, p_now),
        claimed_by = null
    where o.outbox_id = any (array(select c.outbox_id from data.outbox c
        where (c.done_at is null and c.claimed_by is not null) is true
            and c.claimed_by <> pg_backend_pid()
            and not exists (select from pg_stat_activity a
                where a.pid = c.claimed_by)
        for update skip locked));
end
$$;

-- Calls of a kind that are due, locked; whatever others have locked is theirs.
create function api.cashier_due(
    p_provider text, p_kind text, p_limit integer, p_now timestamptz)
returns bigint[]
language plpgsql as $$
begin
    return array(select o.outbox_id from data.outbox o
        where o.kind = p_kind and o.done_at is null and not o.stuck
            and o.next_try <= p_now
            and api.payment_provider(o.payment_id) = p_provider
        order by o.next_try limit p_limit for update skip locked);
end
$$;

-- Pages that were never asked for and whose hold is over: up to p_limit.
create function api.cashier_forget(p_limit integer, p_now timestamptz)
returns void
language plpgsql as $$
declare
    ended bigint;
begin
    foreach ended in array array(
        select p.payment_id
        from (select o.payment_id from data.outbox o
            where (o.kind = 'open' and o.done_at is null and not o.stuck)
                is true
                and o.try = 0 and o.next_try <= p_now
            order by o.hold_id limit p_limit) o
        join data.payment p on p.payment_id = o.payment_id
        join data.hold h on h.hold_id = p.hold_id
        where h.state <> 'held' or h.expires_at <= p_now
        for update of p skip locked)
    loop
        update data.outbox set done_at = p_now
        where kind = 'open' and payment_id = ended and refund_id is null
            and try = 0 and (done_at is null and not stuck) is true;
        if found then
            update data.payment set state = 'expired'
            where payment_id = ended and state = 'opening';
        end if;
    end loop;
end
$$;

-- Milliseconds until a call to a provider is due: 0 when one is, at most
-- p_most.
create function api.cashier_wait(p_provider text, p_most integer)
returns integer
language plpgsql stable security definer set search_path = data, pg_temp
as $$
begin
    return least(p_most, coalesce(api.ms_until(least(
            api.cashier_next(p_provider, 'open'),
            api.cashier_next(p_provider, 'expire'),
            api.cashier_next(p_provider, 'refund'),
            api.cashier_next(p_provider, 'fetch')),
        clock_timestamp()), p_most))::integer;
end
$$;

-- When the first call of a kind to a provider is due; NULL: there is none.
create function api.cashier_next(p_provider text, p_kind text)
returns timestamptz
language plpgsql stable as $$
begin
    return (select o.next_try from data.outbox o
        where o.kind = p_kind and o.done_at is null and not o.stuck
            and api.payment_provider(o.payment_id) = p_provider
        order by o.next_try limit 1);
end
$$;

-- The session is open. When its hold has ended meanwhile, it is ended at
-- once; else when the hold ends. Locks: the hold (it may be given up at this
-- moment), its stock rows first when an event waits for the session; payment,
-- call.
create function api.cashier_opened(
    p_outbox_id bigint, p_session_id text, p_url text)
returns void
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target payment;
    bought hold;
    hold_name text;
    early boolean := exists (select from event e
        where e.session_id = p_session_id
            and (e.outcome = 'unmatched') is true);
begin
    select h.id into hold_name
    from outbox o join hold h using (hold_id)
    where o.outbox_id = p_outbox_id;
    if early then
        bought := api.hold_lock(hold_name);
    else
        select * into bought from hold where id = hold_name for update;
    end if;
    if exists (select from outbox o join payment p using (payment_id)
        join payment q on q.provider = p.provider
            and q.session_id = p_session_id
        where o.outbox_id = p_outbox_id and q.payment_id <> p.payment_id)
    then
        perform api.cashier_give_up(p_outbox_id, 'refused',
            'the provider answered with the page of another order');
        return;
    end if;
    update payment p
    set session_id = coalesce(p.session_id, p_session_id), url = p_url,
        state = case p.state when 'opening' then 'open' else p.state end,
        opened_at = clock_timestamp()
    where p.opened_at is null and p.payment_id = (
        select payment_id from outbox where outbox_id = p_outbox_id)
    returning p.* into target;
    perform api.outbox_close(p_outbox_id);
    if target.payment_id is null then
        return;
    end if;
    if target.state in ('open', 'failed', 'expired', 'refused') then
        perform api.outbox_add('expire', target.payment_id,
            replace(target.key, 'cs-', 'expire-'),
            case when target.state = 'open' and bought.state = 'held'
                then bought.expires_at else clock_timestamp() end);
    end if;
    if early then
        perform api.event_unpark(target.payment_id);
    end if;
end
$$;

-- The session has ended unpaid, by our call or before it.
create function api.cashier_expired(p_outbox_id bigint) returns void
language plpgsql security definer set search_path = data, pg_temp as $$
begin
    update payment set state = 'expired'
    where state in ('open', 'opening') and payment_id = (
        select payment_id from outbox where outbox_id = p_outbox_id);
    perform api.outbox_close(p_outbox_id);
end
$$;

-- A call has done what it was for; its news, if any, went through the inbox.
-- One that was asked for anew since it was claimed (its tries begin again) is
-- made once more.
create function api.cashier_done(p_outbox_id bigint) returns void
language plpgsql security definer set search_path = data, pg_temp as $$
begin
    perform 1 from payment where payment_id = (
        select payment_id from outbox where outbox_id = p_outbox_id)
    for update;
    perform api.outbox_close(outbox_id) from outbox
    where outbox_id = p_outbox_id and try > 0;
end
$$;

-- The provider has taken the refund, or says that the money has gone back
-- already by that one. What came of it: as refund_news.
create function api.cashier_refunded(
    p_outbox_id bigint, p_refund_ref text, p_state text)
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target refund;
    result record;
begin
    perform api.hold_lock((select h.id from outbox o join hold h using (hold_id)
        where o.outbox_id = p_outbox_id));
    select r.* into target from outbox o join refund r using (refund_id)
    where o.outbox_id = p_outbox_id;
    perform 1 from payment where payment_id = target.payment_id for update;
    select * into target from refund
    where refund_id = target.refund_id for update;
    if target.refund_ref is null and exists (select from refund r
        where r.refund_ref = p_refund_ref)
    then
        -- If all of the money had gone back, this one would be void by now.
        if target.state = 'owed' then
            perform api.cashier_give_up(p_outbox_id, 'refused',
                'the provider names a refund that is another one; find out '
                'there what has gone back');
            return 'person';
        end if;
        perform api.outbox_close(p_outbox_id);
        return 'applied';
    end if;
    perform api.outbox_close(p_outbox_id);
    select * into result from api.refund_news(target.payment_id, target.key,
        p_refund_ref, p_state, target.amount);
    return result.outcome;
end
$$;

-- No outcome yet: try again in p_delay_ms. After p_tries tries the call is
-- stuck, for a person. True when it is.
create function api.cashier_retry(
    p_outbox_id bigint, p_error text, p_delay_ms bigint, p_tries integer)
returns boolean
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    call outbox;
begin
    perform api.cashier_lock(p_outbox_id);
    update outbox
    set next_try = clock_timestamp() + p_delay_ms * interval '1 ms',
        last_error = left(p_error, 500), claimed_by = null
    where outbox_id = p_outbox_id and (done_at is null and not stuck) is true
    returning * into call;
    if call.outbox_id is null or call.try < p_tries then
        return false;
    end if;
    perform api.cashier_give_up(p_outbox_id, 'stuck', p_error);
    return true;
end
$$;

-- The provider has said no for good. p_key: it keeps that as its answer to this
-- key, so whoever has the call made again, when the reason is gone, makes it
-- under a new one; also when it is kept back by now, for that very reason.
-- NULL: it is not known what came of the key, which stays: under a new one the
-- same might be done twice.
create function api.cashier_refused(
    p_outbox_id bigint, p_error text, p_key text default null)
returns void
language plpgsql security definer set search_path = data, pg_temp as $$
begin
    perform api.cashier_lock(p_outbox_id);
    update outbox set key = api.outbox_key_after(p_key)
    where outbox_id = p_outbox_id and key = p_key;
    perform api.cashier_give_up(p_outbox_id, 'refused', p_error);
end
$$;

-- The key after this one. A number alone would be that of the order's next
-- refund. What a refund is known by, in the metadata, stays its own key.
create function api.outbox_key_after(p_key text) returns text
language sql immutable
return case when p_key ~ '-again-[0-9]+$'
    then regexp_replace(p_key, '[0-9]+$', '')
        || substring(p_key from '[0-9]+$')::integer + 1
    else p_key || '-again-2' end;

-- Locks what a call is about before the call: a task that is written down
-- points at its hold, and so locks it, too.
create function api.cashier_lock(p_outbox_id bigint) returns void
language plpgsql as $$
begin
    perform 1 from data.hold where hold_id = (
        select hold_id from data.outbox where outbox_id = p_outbox_id)
    for key share;
    perform 1 from data.payment where payment_id = (
        select payment_id from data.outbox where outbox_id = p_outbox_id)
    for update;
end
$$;

-- A call is not made any more, and a person is told; of pay pages, of which
-- hundreds may fail for one reason, once an hour. A page can be asked for again
-- by its buyer, under a new key; for a hold that is over nobody needs it.
create function api.cashier_give_up(
    p_outbox_id bigint, p_kind text, p_error text)
returns void
language plpgsql as $$
declare
    call data.outbox;
    lives boolean;
begin
    update data.payment set state = 'refused'
    where state = 'opening' and payment_id = (select payment_id
        from data.outbox where outbox_id = p_outbox_id and kind = 'open');
    update data.outbox set stuck = true, last_error = left(p_error, 500)
    where outbox_id = p_outbox_id and done_at is null
    returning * into call;
    if call.outbox_id is null then
        return;
    end if;
    lives := exists (select from data.hold h where h.hold_id = call.hold_id
        and h.state = 'held' and h.expires_at > clock_timestamp());
    if call.kind <> 'open' then
        perform api.task_add(p_kind, 'call ' || p_outbox_id, call.hold_id,
            call.payment_id, call.refund_id, p_outbox_id,
            call.kind || ', ' || call.try || ' tries: ' || p_error);
    elsif lives then
        perform api.task_add(p_kind, 'pay pages of ' || to_char(
                clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD HH24'),
            call.hold_id, call.payment_id, null, null,
            'pay pages cannot be opened: ' || p_error);
    end if;
end
$$;
