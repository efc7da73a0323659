-- Webhooks: one row when an event happens, more when it is sent again. They
-- go by the real clock, whatever the provider's says.

-- Sends an event, unless a fault says otherwise. p_subject: what faults know
-- it by.
create function sandbox.delivery_add(p_event_seq bigint, p_subject text)
returns void
language plpgsql as $$
declare
    moment constant timestamptz := clock_timestamp();
    target constant text[] := '{delivery}';
    fault sandbox_data.fault :=
        sandbox.fault_strike(target, '{drop}', p_subject, 1);
    again sandbox_data.fault;
begin
    if fault.fault_id is not null then
        insert into sandbox_data.delivery (event_seq, dropped, last_error,
            created_at)
        values (p_event_seq, true, 'dropped by a fault', moment);
        return;
    end if;
    fault := sandbox.fault_strike(target, '{delay,reorder}', p_subject, 1);
    again := sandbox.fault_strike(target, '{duplicate}', p_subject, 1);
    insert into sandbox_data.delivery (event_seq, next_try, created_at)
    select p_event_seq,
        moment + sandbox.ms(coalesce(fault.ms, 0) + coalesce(u.ms, 0)), moment
    from unnest(array[0, again.ms]) as u (ms)
    where u.ms is not null;
    perform pg_notify('lastpair_sandbox', '');
end
$$;

-- Sends an event's webhook once more. False when there is no such event.
create function sandbox.event_resend(p_id text) returns boolean
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
begin
    insert into delivery (event_seq, next_try, created_at)
    select event_seq, clock_timestamp(), clock_timestamp()
    from event where id = p_id;
    if found then
        perform pg_notify('lastpair_sandbox', '');
    end if;
    return found;
end
$$;

-- Claims the webhook that has waited longest. The row comes back after
-- p_lease_ms unless its outcome is recorded. A claim that a crash of the
-- database forgets is only a repeat, so nobody waits for the disk.
create function sandbox.delivery_claim(p_lease_ms integer)
returns table (delivery_id bigint, event_id text, try integer, body text)
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select set_config('synchronous_commit', 'off', true);
    with due as (
        select d.delivery_id from sandbox_data.delivery d
        where d.next_try <= clock_timestamp()
        order by d.next_try limit 1 for update skip locked),
    claimed as (
        update sandbox_data.delivery d
        set tries = d.tries + 1, sending = true,
            next_try = clock_timestamp() + p_lease_ms * interval '1 ms'
        from due where d.delivery_id = due.delivery_id
        returning d.delivery_id, d.event_seq, d.tries)
    select c.delivery_id, e.id, c.tries, e.body
    from claimed c join sandbox_data.event e using (event_seq);
end;

-- What came of a try: a status, or 0 and why there was none. 2xx is taken;
-- anything else is tried again, later each time, for three days.
create function sandbox.delivery_done(
    p_delivery_id bigint, p_status integer, p_error text)
returns void
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select set_config('synchronous_commit', 'off', true);
    update sandbox_data.delivery d
    set last_status = p_status, last_error = p_error, sending = false,
        done_at = case when p_status between 200 and 299
            then clock_timestamp() end,
        next_try = case
            when p_status between 200 and 299
                or d.created_at < clock_timestamp() - interval '3 days'
                then null
            else clock_timestamp() + (array[1, 2, 5, 15, 60, 300, 3600])
                [least(d.tries, 7)] * interval '1 s' end
    where d.delivery_id = p_delivery_id and d.next_try is not null;
end;

-- All that waits is due now; with p_dropped, what was dropped or given up is
-- sent after all. Not what is being sent at this moment.
create function sandbox.delivery_flush(
    p_dropped boolean, out due bigint, out resent bigint)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
begin
    update delivery set next_try = clock_timestamp()
    where next_try > clock_timestamp() and not sending;
    get diagnostics due = row_count;
    update delivery set next_try = clock_timestamp(), dropped = false,
        last_error = null, created_at = clock_timestamp()
    where p_dropped and next_try is null and done_at is null;
    get diagnostics resent = row_count;
    perform pg_notify('lastpair_sandbox', '');
end
$$;

-- The newest webhooks, of one session if p_session is given.
create function sandbox.delivery_list(p_session text, p_limit integer)
returns table (event text, type text, session text, created text,
    tries integer, status integer, error text, state text,
    next_try_in_ms bigint)
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select e.id, e.type, s.id, sandbox.iso(d.created_at),
        d.tries, d.last_status, d.last_error,
        case when d.done_at is not null then 'delivered'
            when d.next_try is not null then 'waiting'
            else 'given up' end,
        sandbox.ms_until(d.next_try, clock_timestamp())
    from sandbox_data.delivery d
    join sandbox_data.event e using (event_seq)
    join sandbox_data.session s using (session_id)
    where p_session is null or s.id = p_session
    order by d.delivery_id desc limit p_limit;
end;
