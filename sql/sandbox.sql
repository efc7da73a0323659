-- The stand-in for the payment provider: what Stripe would decide. Functions
-- only; dropped and recreated whole at each migrate. C reads requests, calls
-- one function and sends what it answers.
--
-- Locks: the session's row, which stands for all that belongs to it. The
-- clock is clock_timestamp(), read after the lock. Answers of the API are
-- http_status and answer (a body); `original` is the request that a replayed
-- answer was first given to.

drop schema if exists sandbox cascade;
create schema sandbox;

-- Small tools ------------------------------------------------------------

-- A prefix and p_length random hexadecimal digits, at most 64.
create function sandbox.new_id(p_prefix text, p_length integer) returns text
language sql volatile
return p_prefix || left(replace(
    gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), p_length);

create function sandbox.epoch(t timestamptz) returns bigint
language sql immutable parallel safe
return floor(extract(epoch from t))::bigint;

-- Milliseconds until t; 0 when it is past, NULL when t is.
create function sandbox.ms_until(t timestamptz) returns bigint
language sql volatile
return case when t is not null then greatest(0, ceil(
    extract(epoch from t - clock_timestamp()) * 1000))::bigint end;

create function sandbox.error(
    p_type text, p_code text, p_param text, p_message text)
returns text
language sql immutable parallel safe
return jsonb_build_object('error', jsonb_strip_nulls(jsonb_build_object(
    'type', p_type, 'code', p_code, 'param', p_param,
    'message', p_message)))::text;

create function sandbox.refuse(p_code text, p_param text, p_message text)
returns text
language sql immutable parallel safe
return sandbox.error('invalid_request_error', p_code, p_param, p_message);

create function sandbox.missing(p_param text, p_what text, p_id text)
returns text
language sql immutable parallel safe
return sandbox.refuse('resource_missing', p_param,
    format('No such %s: ''%s''', p_what, p_id));

-- Reading parameters: a flat object, names as sent in the form ------------

-- What is wrong with a whole number, or NULL.
create function sandbox.integer_problem(
    p_params jsonb, p_name text, p_least bigint, p_most bigint)
returns text
language sql immutable parallel safe
return case
    when p_params ->> p_name !~ '^[0-9]{1,12}$' then sandbox.refuse(
        'parameter_invalid_integer', p_name,
        'Invalid integer: ' || (p_params ->> p_name))
    when (p_params ->> p_name)::bigint not between p_least and p_most then
        sandbox.refuse(null, p_name, format(
            '%s must be from %s to %s', p_name, p_least, p_most))
    end;

-- The first parameter that p_known, a regular expression, does not know.
create function sandbox.unknown_problem(p_params jsonb, p_known text)
returns text
language sql immutable parallel safe
begin atomic
    select sandbox.refuse('parameter_unknown', key,
        'Received unknown parameter: ' || key)
    from jsonb_object_keys(p_params) key
    where key !~ p_known order by key limit 1;
end;

create function sandbox.missing_problem(p_params jsonb, p_names text[])
returns text
language sql immutable parallel safe
begin atomic
    select sandbox.refuse('parameter_missing', name,
        'Missing required param: ' || name || '.')
    from unnest(p_names) with ordinality as u (name, nr)
    where coalesce(p_params ->> name, '') = '' order by nr limit 1;
end;

-- {"k": "v"} of the parameters p_name[k].
create function sandbox.metadata(p_params jsonb, p_name text) returns jsonb
language sql immutable parallel safe
begin atomic
    select coalesce(jsonb_object_agg(
        substr(key, length(p_name) + 2, length(key) - length(p_name) - 2),
        value), '{}')
    from jsonb_each_text(p_params)
    where starts_with(key, p_name || '[') and value <> '';
end;

create function sandbox.metadata_problem(p_params jsonb, p_name text)
returns text
language sql immutable parallel safe
begin atomic
    select case
        when count(*) > 50 then sandbox.refuse(null, p_name,
            'Metadata can have up to 50 keys')
        when max(length(key)) > 40 then sandbox.refuse(null, p_name,
            'Metadata keys can have up to 40 characters')
        when max(length(value)) > 500 then sandbox.refuse(null, p_name,
            'Metadata values can have up to 500 characters')
        end
    from jsonb_each_text(sandbox.metadata(p_params, p_name));
end;

create function sandbox.url_problem(p_params jsonb, p_name text) returns text
language sql immutable parallel safe
return case when p_params ->> p_name
    !~ '^https?://[A-Za-z0-9.:-]+([/?#][^[:space:][:cntrl:]]*)?$'
    then sandbox.refuse('url_invalid', p_name, 'Not a valid URL') end;

-- What things look like outside -------------------------------------------

create function sandbox.session_json(p_session sandbox_data.session)
returns jsonb
language sql stable
begin atomic
    select '{"object": "checkout.session", "after_expiration": null,
        "allow_promotion_codes": null, "allowed_payment_method_types": null,
        "adaptive_pricing": {"enabled": false},
        "automatic_tax": {"enabled": false, "liability": null,
            "provider": null, "status": null},
        "billing_address_collection": null, "client_secret": null,
        "consent": null, "consent_collection": null,
        "currency_conversion": null, "custom_fields": [], "customer": null,
        "customer_creation": "if_required", "customer_details": null,
        "discounts": [], "invoice": null, "invoice_creation": null,
        "livemode": false, "mode": "payment", "payment_link": null,
        "payment_method_collection": "if_required",
        "payment_method_options": {}, "setup_intent": null,
        "shipping_options": [], "submit_type": null, "subscription": null,
        "total_details": {"amount_discount": 0, "amount_shipping": 0,
            "amount_tax": 0},
        "ui_mode": "hosted_page"}'::jsonb || jsonb_build_object(
        'id', s.id,
        'amount_subtotal', s.unit_amount * s.quantity,
        'amount_total', s.unit_amount * s.quantity,
        'currency', s.currency,
        'cancel_url', s.cancel_url,
        'success_url', s.success_url,
        'client_reference_id', s.client_reference_id,
        'customer_email', s.customer_email,
        'created', sandbox.epoch(s.created_at),
        'expires_at', sandbox.epoch(s.expires_at),
        'locale', s.locale,
        'metadata', s.metadata,
        'payment_method_types', s.method_types,
        'payment_intent', p.id,
        'payment_status', case when p.state = 'succeeded'
            then 'paid' else 'unpaid' end,
        'status', s.status,
        'url', case when s.status = 'open' then s.url end)
    from (select (p_session).*) s
    left join sandbox_data.payment p using (session_id);
end;

create function sandbox.payment_json(p_session_id bigint) returns jsonb
language sql stable
begin atomic
    select '{"object": "payment_intent", "amount_capturable": 0,
        "amount_details": {"tip": {}}, "application": null,
        "automatic_payment_methods": null, "canceled_at": null,
        "cancellation_reason": null, "capture_method": "automatic_async",
        "confirmation_method": "automatic", "customer": null,
        "description": null, "livemode": false, "next_action": null,
        "payment_method_options": {}, "processing": null,
        "receipt_email": null, "review": null, "setup_future_usage": null,
        "shipping": null, "statement_descriptor": null}'::jsonb
    || jsonb_build_object(
        'id', p.id,
        'amount', p.amount,
        'amount_received', case p.state
            when 'succeeded' then p.amount else 0 end,
        'created', sandbox.epoch(p.created_at),
        'currency', s.currency,
        'last_payment_error', case p.error
            when 'card_declined' then jsonb_build_object(
                'type', 'card_error', 'code', 'card_declined',
                'decline_code', 'generic_decline',
                'message', 'Your card was declined.')
            when 'debit_failed' then jsonb_build_object(
                'type', 'invalid_request_error',
                'code', 'payment_intent_payment_attempt_failed',
                'message', 'The bank has refused the debit.') end,
        'latest_charge', p.charge_id,
        'metadata', s.payment_metadata,
        'payment_method_types', s.method_types,
        'status', p.state)
    from sandbox_data.payment p join sandbox_data.session s using (session_id)
    where p.session_id = p_session_id;
end;

create function sandbox.charge_json(p_session_id bigint) returns jsonb
language sql stable
begin atomic
    select jsonb_build_object(
        'id', p.charge_id, 'object', 'charge',
        'amount', p.amount, 'amount_captured', p.amount,
        'amount_refunded', p.refunded, 'captured', true,
        'created', sandbox.epoch(p.created_at), 'currency', s.currency,
        'description', null, 'disputed', false, 'failure_code', null,
        'failure_message', null, 'livemode', false,
        'metadata', s.payment_metadata, 'paid', true,
        'payment_intent', p.id, 'receipt_url', null,
        'refunded', p.refunded = p.amount, 'status', 'succeeded')
    from sandbox_data.payment p join sandbox_data.session s using (session_id)
    where p.session_id = p_session_id;
end;

create function sandbox.refund_json(p_refund sandbox_data.refund)
returns jsonb
language sql stable
begin atomic
    select jsonb_build_object(
        'id', r.id, 'object', 'refund', 'amount', r.amount,
        'balance_transaction', null, 'charge', p.charge_id,
        'created', sandbox.epoch(r.created_at), 'currency', s.currency,
        'destination_details', jsonb_build_object('type', 'card',
            'card', jsonb_build_object('type', 'refund',
                'reference_status', 'pending',
                'reference_type', 'acquirer_reference_number')),
        'metadata', r.metadata, 'payment_intent', p.id, 'reason', r.reason,
        'receipt_number', null, 'source_transfer_reversal', null,
        'status', r.status, 'transfer_reversal', null)
        || case when r.status = 'failed' then jsonb_build_object(
            'failure_reason', 'expired_or_canceled_card')
            else '{}' end
    from (select (p_refund).*) r
    join sandbox_data.payment p using (payment_id)
    join sandbox_data.session s using (session_id);
end;

-- A list as the API gives it; p_items has one more than p_limit when more
-- follow.
create function sandbox.list_json(
    p_url text, p_items jsonb[], p_limit integer)
returns text
language sql immutable parallel safe
return jsonb_build_object('object', 'list', 'url', p_url,
    'has_more', coalesce(cardinality(p_items), 0) > p_limit,
    'data', coalesce(to_jsonb(p_items[1:p_limit]), '[]'))::text;

-- Events and their delivery -----------------------------------------------

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

-- The newest webhooks, of one session if p_session is given.
create function sandbox.delivery_list(p_session text, p_limit integer)
returns table (event text, type text, session text, created text,
    tries integer, status integer, error text, state text,
    next_try_in_ms bigint)
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select e.id, e.type, s.id, to_char(d.created_at at time zone 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
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

-- Sessions and their payments ---------------------------------------------

-- Where a session stands, in one word: open; held (a payment is under way);
-- bank (paid by a debit that has not come yet); paid; failed (the debit will
-- not come); expired. NULL when there is none.
create function sandbox.session_view(p_session sandbox_data.session)
returns text
language sql stable
begin atomic
    select case
        when s.pay_at is not null and (s.status = 'open' or s.pay_anyway)
            then 'held'
        when s.status <> 'complete' then s.status
        when p.state = 'succeeded' then 'paid'
        when p.state = 'processing' then 'bank'
        else 'failed' end
    from (select (p_session).*) s
    left join sandbox_data.payment p using (session_id)
    where s.session_id is not null;
end;

create function sandbox.session_end(
    p_session sandbox_data.session, p_request text, p_key text)
returns sandbox_data.session
language plpgsql as $$
declare
    ended sandbox_data.session;
begin
    update sandbox_data.session set status = 'expired'
    where session_id = p_session.session_id and status = 'open'
    returning * into ended;
    perform sandbox.event_add('checkout.session.expired', ended,
        jsonb_build_object('object', sandbox.session_json(ended)),
        p_request, p_key);
    return ended;
end
$$;

-- A session, locked; ended first when its time is over. A row of NULLs when
-- there is none.
create function sandbox.session_lock(p_id text) returns sandbox_data.session
language plpgsql as $$
declare
    target sandbox_data.session;
begin
    select * into target from sandbox_data.session where id = p_id for update;
    if target.status = 'open' and target.expires_at <= clock_timestamp() then
        target := sandbox.session_end(target, null, null);
    end if;
    return target;
end
$$;

-- The buyer is through with the page.
create function sandbox.session_complete(p_session_id bigint)
returns sandbox_data.session
language sql volatile
begin atomic
    update sandbox_data.session set status = 'complete', pay_at = null
    where session_id = p_session_id returning *;
end;

-- The session's one payment takes a state, unless it has succeeded.
create function sandbox.payment_set(
    p_session sandbox_data.session, p_state text, p_error text)
returns void
language sql volatile
begin atomic
    insert into sandbox_data.payment (session_id, id, charge_id, amount,
        state, error, created_at)
    values ((p_session).session_id, sandbox.new_id('pi_', 24),
        case p_state when 'succeeded' then sandbox.new_id('ch_', 24) end,
        (p_session).unit_amount * (p_session).quantity, p_state, p_error,
        clock_timestamp())
    on conflict (session_id) do update
        set state = p_state, error = p_error, charge_id = excluded.charge_id
        where payment.state <> 'succeeded';
end;

-- The money is there. The session is locked and not complete.
create function sandbox.session_take(p_session sandbox_data.session)
returns sandbox_data.session
language plpgsql as $$
declare
    done sandbox_data.session;
begin
    perform sandbox.payment_set(p_session, 'succeeded', null);
    done := sandbox.session_complete(p_session.session_id);
    perform sandbox.event_object('payment_intent.succeeded', done,
        sandbox.payment_json(done.session_id));
    perform sandbox.event_object('checkout.session.completed', done,
        sandbox.session_json(done));
    return done;
end
$$;

-- The buyer pays: at once or in p_delay_ms. p_anyway: a payment that began in
-- time is carried out though the session has expired meanwhile, as one that
-- waits for the bank's own page may be. Gives the session's view.
create function sandbox.session_pay(
    p_id text, p_delay_ms bigint, p_anyway boolean)
returns text
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target sandbox_data.session := sandbox.session_lock(p_id);
begin
    if target.status = 'open' or (target.status = 'expired' and p_anyway) then
        if p_delay_ms > 0 then
            update session set pay_anyway = p_anyway,
                pay_at = clock_timestamp() + p_delay_ms * interval '1 ms'
            where session_id = target.session_id returning * into target;
            perform pg_notify('lastpair_sandbox', '');
        else
            target := sandbox.session_take(target);
        end if;
    end if;
    return sandbox.session_view(target);
end
$$;

-- The card is declined; the session stays open.
create function sandbox.session_decline(p_id text) returns text
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target sandbox_data.session := sandbox.session_lock(p_id);
begin
    if target.status = 'open' then
        perform sandbox.payment_set(
            target, 'requires_payment_method', 'card_declined');
        perform sandbox.event_object('payment_intent.payment_failed', target,
            sandbox.payment_json(target.session_id));
    end if;
    return sandbox.session_view(target);
end
$$;

-- The buyer pays by a bank debit: complete, but unpaid. p_outcome is what
-- comes of it, then or later: succeeded, failed, or NULL for not yet.
create function sandbox.session_bank(p_id text, p_outcome text) returns text
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target sandbox_data.session := sandbox.session_lock(p_id);
begin
    if target.status = 'open' then
        perform sandbox.payment_set(target, 'processing', null);
        target := sandbox.session_complete(target.session_id);
        perform sandbox.event_object('checkout.session.completed', target,
            sandbox.session_json(target));
    end if;
    if sandbox.session_view(target) <> 'bank' or p_outcome is null then
        return sandbox.session_view(target);
    elsif p_outcome = 'succeeded' then
        perform sandbox.payment_set(target, 'succeeded', null);
        perform sandbox.event_object('payment_intent.succeeded', target,
            sandbox.payment_json(target.session_id));
        perform sandbox.event_object(
            'checkout.session.async_payment_succeeded', target,
            sandbox.session_json(target));
    else
        perform sandbox.payment_set(
            target, 'requires_payment_method', 'debit_failed');
        perform sandbox.event_object('payment_intent.payment_failed', target,
            sandbox.payment_json(target.session_id));
        perform sandbox.event_object('checkout.session.async_payment_failed',
            target, sandbox.session_json(target));
    end if;
    return sandbox.session_view(target);
end
$$;

-- What the clock brings: payments under way, sessions over. Up to p_limit of
-- each; how many it was.
create function sandbox.tick(p_limit integer) returns integer
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target sandbox_data.session;
    n integer := 0;
begin
    for target in select * from session where pay_at <= clock_timestamp()
        order by pay_at limit p_limit for update skip locked
    loop
        n := n + 1;
        if target.status = 'open' or target.pay_anyway then
            perform sandbox.session_take(target);
        else
            update session set pay_at = null
            where session_id = target.session_id;
        end if;
    end loop;
    for target in select * from session
        where status = 'open' and expires_at <= clock_timestamp()
        order by expires_at limit p_limit for update skip locked
    loop
        n := n + 1;
        perform sandbox.session_end(target, null, null);
    end loop;
    return n;
end
$$;

-- What the pay page shows; no row when there is no such session.
create function sandbox.session_page(p_id text)
returns table (view text, error text, name text, quantity bigint,
    amount bigint, currency text, left_ms bigint, pay_in_ms bigint,
    success_url text, back_url text)
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select sandbox.session_view(row (s.*)::sandbox_data.session), p.error,
        s.name, s.quantity, s.unit_amount * s.quantity, upper(s.currency),
        sandbox.ms_until(s.expires_at), sandbox.ms_until(s.pay_at),
        s.success_url, coalesce(s.cancel_url,
            substring(s.success_url from '^https?://[^/?#]+') || '/')
    from sandbox.session_lock(p_id) s
    left join sandbox_data.payment p using (session_id)
    where s.session_id is not null;
end;

-- The newest sessions, for the index.
create function sandbox.session_list(p_limit integer)
returns table (id text, created text, name text, amount bigint,
    currency text, view text, reference text, refunded bigint)
language sql stable security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select s.id, to_char(s.created_at at time zone 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        s.name, s.unit_amount * s.quantity, upper(s.currency),
        sandbox.session_view(s), s.client_reference_id,
        coalesce((select sum(r.amount) from sandbox_data.refund r
            where r.payment_id = p.payment_id and r.status = 'succeeded'),
            0)::bigint
    from sandbox_data.session s
    left join sandbox_data.payment p using (session_id)
    order by s.session_id desc limit p_limit;
end;
