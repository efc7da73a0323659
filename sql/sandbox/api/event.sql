-- Events. An event's body is written once, when it happens; every delivery
-- sends these bytes.

-- Something has happened to a session, which is locked: an event, and its
-- webhook.
create function sandbox.event_add(
    p_type text, p_session sandbox_data.session, p_data jsonb,
    p_request text, p_key text)
returns void
language plpgsql as $$
declare
    moment constant timestamptz := sandbox.now();
    new_id text := sandbox.new_id('evt_', 24);
    seq bigint;
    nth bigint;
begin
    select count(*) + 1 into nth from sandbox_data.event
    where session_id = p_session.session_id and type = p_type;
    insert into sandbox_data.event (id, type, session_id, body, created_at)
    values (new_id, p_type, p_session.session_id, jsonb_build_object(
        'id', new_id, 'object', 'event', 'type', p_type,
        'api_version', p_session.api_version,
        'created', sandbox.epoch(moment), 'data', p_data,
        'livemode', false, 'pending_webhooks', 1,
        'request', jsonb_build_object(
            'id', p_request, 'idempotency_key', p_key))::text, moment)
    returning event_seq into seq;
    perform sandbox.delivery_add(seq,
        format('%s/%s/%s', p_session.origin, p_type, nth));
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

-- The same, saying what of the object was otherwise before.
create function sandbox.event_change(
    p_type text, p_session sandbox_data.session, p_object jsonb,
    p_previous jsonb)
returns void
language sql volatile
begin atomic
    select sandbox.event_add(p_type, p_session, jsonb_build_object(
        'object', p_object, 'previous_attributes', p_previous), null, null);
end;

-- GET /v1/events/:id
create function sandbox.event_get(
    p_id text, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
begin
    select body into answer from event where id = p_id;
    http_status := case when found then 200 else 404 end;
    answer := coalesce(answer, sandbox.missing('id', 'event', p_id));
end
$$;

-- GET /v1/events. delivery_success=false: those that the shop has not taken,
-- be they still waiting or given up.
create function sandbox.event_list(
    p_params jsonb, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
declare
    most integer;
    last_seq constant bigint := (select event_seq from event
        where id = p_params ->> 'starting_after');
    types constant text[] := array(select value
        from jsonb_each_text(p_params) where starts_with(key, 'type'));
    taken constant boolean := p_params ->> 'delivery_success' = 'true';
    items jsonb[];
begin
    http_status := 400;
    answer := sandbox.list_problem(p_params,
        'type|types\[[0-9]+\]|delivery_success', last_seq is not null);
    if answer is not null then
        return;
    end if;
    most := sandbox.list_limit(p_params);
    items := array(select e.body::jsonb from event e
        where (types = '{}' or e.type = any (types))
            and (taken is null or taken = exists (select from delivery d
                where d.event_seq = e.event_seq and d.done_at is not null))
            and sandbox.created_fits(p_params, e.created_at)
            and (last_seq is null or e.event_seq < last_seq)
        order by e.event_seq desc limit most + 1);
    http_status := 200;
    answer := sandbox.list_json('/v1/events', items, most);
end
$$;
