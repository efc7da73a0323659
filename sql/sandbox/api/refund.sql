-- Money back, all or a part of a payment.

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

create function sandbox.refund_problem(p_params jsonb) returns text
language sql immutable parallel safe
begin atomic
    select coalesce(
        sandbox.unknown_problem(p_params,
            '^(payment_intent|charge|amount|reason|metadata\[[^][]+\])$'),
        case when (p_params ? 'payment_intent') = (p_params ? 'charge')
            then sandbox.refuse('parameter_missing', 'payment_intent',
                'One of payment_intent or charge is required') end,
        case when p_params ->> 'reason' not in
            ('duplicate', 'fraudulent', 'requested_by_customer')
            then sandbox.refuse(null, 'reason', 'Invalid reason: must be one '
                'of duplicate, fraudulent, or requested_by_customer') end,
        sandbox.integer_problem(p_params, 'amount', 1, 99999999),
        sandbox.metadata_problem(p_params, 'metadata'));
end;

-- Why a payment cannot be given back; NULL when it can.
create function sandbox.payment_problem(
    p_payment sandbox_data.payment, p_amount bigint)
returns text
language sql immutable parallel safe
return case
    when (p_payment).state <> 'succeeded' then sandbox.refuse(null,
        'payment_intent', 'This PaymentIntent does not have a successful '
        'charge to refund.')
    when (p_payment).refunded = (p_payment).amount then sandbox.refuse(
        'charge_already_refunded', null,
        'Charge ' || (p_payment).charge_id || ' has already been refunded.')
    when p_amount > (p_payment).amount - (p_payment).refunded then
        sandbox.refuse(null, 'amount', format('Refund amount (%s) is greater '
            'than unrefunded amount on charge (%s)', p_amount,
            (p_payment).amount - (p_payment).refunded))
    end;

-- Gives money back. The session and its payment are locked; the refund has
-- been found possible.
create function sandbox.refund_make(
    p_payment sandbox_data.payment, p_params jsonb, p_request text,
    p_key text)
returns jsonb
language plpgsql as $$
declare
    source sandbox_data.session;
    made sandbox_data.refund;
    whole jsonb;
begin
    insert into sandbox_data.refund (payment_id, id, amount, reason,
        metadata, created_at)
    values (p_payment.payment_id, sandbox.new_id('re_', 24),
        coalesce((p_params ->> 'amount')::bigint,
            p_payment.amount - p_payment.refunded),
        p_params ->> 'reason', sandbox.metadata(p_params, 'metadata'),
        clock_timestamp())
    returning * into made;
    update sandbox_data.payment set refunded = refunded + made.amount
    where payment_id = p_payment.payment_id;
    select * into source from sandbox_data.session
    where session_id = p_payment.session_id;
    whole := sandbox.refund_json(made);
    perform sandbox.event_add('refund.created', source,
        jsonb_build_object('object', whole), p_request, p_key);
    perform sandbox.event_add('charge.refunded', source, jsonb_build_object(
        'object', sandbox.charge_json(source.session_id),
        'previous_attributes', jsonb_build_object('refunded', false,
            'amount_refunded', p_payment.refunded)), p_request, p_key);
    return whole;
end
$$;

-- POST /v1/refunds. Refunds succeed at once.
create function sandbox.refund_create(
    p_key text, p_params jsonb, p_request text,
    out http_status integer, out answer text, out original text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    path constant text := 'POST /v1/refunds';
    target sandbox_data.payment;
begin
    select r.* into http_status, answer, original
    from sandbox.replay(p_key, path, p_params) r;
    if http_status is not null then
        return;
    end if;
    http_status := 400;
    answer := sandbox.refund_problem(p_params);
    if answer is not null then
        return;
    end if;
    perform 1 from session s join payment p using (session_id)
    where p.id = p_params ->> 'payment_intent'
        or p.charge_id = p_params ->> 'charge'
    for update of s;
    select * into target from payment
    where id = p_params ->> 'payment_intent'
        or charge_id = p_params ->> 'charge';
    if target.payment_id is null then
        http_status := 404;
        answer := case when p_params ? 'charge' then sandbox.missing(
                'charge', 'charge', p_params ->> 'charge')
            else sandbox.missing('payment_intent', 'payment_intent',
                p_params ->> 'payment_intent') end;
        return;
    end if;
    answer := sandbox.payment_problem(
        target, (p_params ->> 'amount')::bigint);
    if answer is null then
        http_status := 200;
        answer := sandbox.refund_make(
            target, p_params, p_request, p_key)::text;
    end if;
    perform sandbox.keep(
        p_key, path, p_params, http_status, answer, p_request);
end
$$;

-- A refund that has succeeded fails after all, as may happen for weeks: the
-- money is back at the shop. False when there is no such refund.
create function sandbox.refund_fail(p_id text) returns boolean
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    source sandbox_data.session;
    failed sandbox_data.refund;
begin
    select s.* into source from refund r join payment p using (payment_id)
    join session s using (session_id) where r.id = p_id for update of s;
    update refund set status = 'failed'
    where id = p_id and status = 'succeeded' returning * into failed;
    if not found then
        return source.session_id is not null;
    end if;
    update payment set refunded = refunded - failed.amount
    where payment_id = failed.payment_id;
    perform sandbox.event_object(
        'refund.failed', source, sandbox.refund_json(failed));
    return true;
end
$$;

-- GET /v1/refunds: newest first.
create function sandbox.refund_list(
    p_params jsonb, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
declare
    most integer;
    items jsonb[];
begin
    http_status := 400;
    answer := sandbox.list_problem(p_params, 'payment_intent|charge');
    if answer is not null then
        return;
    end if;
    most := coalesce(p_params ->> 'limit', '10');
    items := array(select sandbox.refund_json(r)
        from refund r join payment p using (payment_id)
        where (p_params ->> 'payment_intent' is null
                or p.id = p_params ->> 'payment_intent')
            and (p_params ->> 'charge' is null
                or p.charge_id = p_params ->> 'charge')
            and (p_params ->> 'starting_after' is null
                or r.refund_id < (select f.refund_id from refund f
                    where f.id = p_params ->> 'starting_after'))
        order by r.refund_id desc limit most + 1);
    http_status := 200;
    answer := sandbox.list_json('/v1/refunds', items, most);
end
$$;
