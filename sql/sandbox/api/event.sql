-- Events and their delivery. An event's body is written once, when it
-- happens; every delivery sends these bytes.

-- Something has happened to a session: an event, and its webhook at once.
create function sandbox.event_add(
    p_type text, p_session sandbox_data.session, p_data jsonb,
    p_request text, p_key text)
returns void
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    new_id text := sandbox.new_id('evt_', 24);
    seq bigint;
begin
    insert into sandbox_data.event (id, type, session_id, body, created_at)
    values (new_id, p_type, p_session.session_id, jsonb_build_object(
        'id', new_id, 'object', 'event', 'type', p_type,
        'api_version', p_session.api_version,
        'created', sandbox.epoch(moment), 'data', p_data,
        'livemode', false, 'pending_webhooks', 1,
        'request', jsonb_build_object(
            'id', p_request, 'idempotency_key', p_key))::text, moment)
    returning event_seq into seq;
    insert into sandbox_data.delivery (event_seq, next_try, created_at)
    values (seq, moment, moment);
    perform pg_notify('lastpair_sandbox', '');
end
$$;

create function sandbox.event_object(
    p_type text, p_session sandbox_data.session, p_object jsonb)
returns void
language sql volatile
begin atomic
    select sandbox.event_add(p_type, p_session,
        jsonb_build_object('object', p_object), null, null);
end;

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

-- GET /v1/events: newest first.
create function sandbox.event_list(
    p_params jsonb, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
declare
    most integer;
    types constant text[] := array(select value
        from jsonb_each_text(p_params) where starts_with(key, 'type'));
    items jsonb[];
begin
    http_status := 400;
    answer := sandbox.list_problem(
        p_params, 'type|types\[[0-9]+\]|delivery_success');
    if answer is not null then
        return;
    end if;
    most := coalesce(p_params ->> 'limit', '10');
    items := array(select e.body::jsonb from event e
        where (types = '{}' or e.type = any (types))
            and (p_params ->> 'delivery_success' is null
                or (p_params ->> 'delivery_success' = 'true')
                    = exists (select from delivery d
                        where d.event_seq = e.event_seq
                            and d.done_at is not null))
            and (p_params ->> 'starting_after' is null
                or e.event_seq < (select f.event_seq from event f
                    where f.id = p_params ->> 'starting_after'))
        order by e.event_seq desc limit most + 1);
    http_status := 200;
    answer := sandbox.list_json('/v1/events', items, most);
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
        set tries = d.tries + 1,
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
    set last_status = p_status, last_error = p_error,
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
        sandbox.ms_until(d.next_try)
    from sandbox_data.delivery d
    join sandbox_data.event e using (event_seq)
    join sandbox_data.session s using (session_id)
    where p_session is null or s.id = p_session
    order by d.delivery_id desc limit p_limit;
end;

-- Milliseconds until the sender or the clock has something to do: 0 when
-- there is, at most p_most.
create function sandbox.wait(p_most integer) returns integer
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select least(p_most, coalesce(min(sandbox.ms_until(t.at)), p_most))::integer
    from (select min(next_try) as at from sandbox_data.delivery
        where next_try is not null
        union all select min(expires_at) from sandbox_data.session
        where status = 'open'
        union all select min(pay_at) from sandbox_data.session
        where pay_at is not null) t;
end;
