-- A session's one payment.

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
        'description', null, 'disputed', exists (
            select from sandbox_data.dispute d
            where d.payment_id = p.payment_id),
        'failure_code', null,
        'failure_message', null, 'livemode', false,
        'metadata', s.payment_metadata, 'paid', true,
        'payment_intent', p.id, 'receipt_url', null,
        'refunded', p.refunded = p.amount, 'status', 'succeeded')
    from sandbox_data.payment p join sandbox_data.session s using (session_id)
    where p.session_id = p_session_id;
end;

-- The session's one payment takes a state, unless it has succeeded. One that
-- succeeds now may be disputed later: that is for a fault to say.
create function sandbox.payment_set(
    p_session sandbox_data.session, p_state text, p_error text)
returns void
language plpgsql as $$
declare
    moment constant timestamptz := sandbox.now();
    fault sandbox_data.fault;
begin
    insert into sandbox_data.payment (session_id, id, charge_id, amount,
        state, error, created_at)
    values (p_session.session_id, sandbox.new_id('pi_', 24),
        case p_state when 'succeeded' then sandbox.new_id('ch_', 24) end,
        p_session.unit_amount * p_session.quantity, p_state, p_error, moment)
    on conflict (session_id) do update
        set state = p_state, error = p_error, charge_id = excluded.charge_id
        where payment.state <> 'succeeded';
    if p_state = 'succeeded' then
        fault := sandbox.fault_strike(
            '{payment}', '{dispute}', p_session.origin, 1);
        update sandbox_data.payment set dispute_at = moment
            + sandbox.ms(fault.ms)
        where session_id = p_session.session_id and fault.ms is not null;
    end if;
end
$$;

-- The payment by its own or its charge's name; its session is locked. NULL
-- when there is none.
create function sandbox.payment_lock(p_id text, p_charge text)
returns sandbox_data.payment
language plpgsql as $$
declare
    found_one sandbox_data.payment;
begin
    perform 1 from sandbox_data.session s
    join sandbox_data.payment p using (session_id)
    where p.id = p_id or p.charge_id = p_charge for update of s;
    select * into found_one from sandbox_data.payment
    where id = p_id or charge_id = p_charge;
    return found_one;
end
$$;

create function sandbox.payment_source(p_payment sandbox_data.payment)
returns sandbox_data.session
language sql stable
begin atomic
    select * from sandbox_data.session
    where session_id = (p_payment).session_id;
end;

-- GET /v1/payment_intents/:id
create function sandbox.payment_get(
    p_id text, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
begin
    select sandbox.payment_json(session_id)::text into answer
    from payment where id = p_id;
    http_status := case when found then 200 else 404 end;
    answer := coalesce(answer,
        sandbox.missing('intent', 'payment_intent', p_id));
end
$$;
