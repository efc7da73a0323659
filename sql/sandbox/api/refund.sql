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
        || case r.status
            when 'failed' then jsonb_build_object(
                'failure_reason', 'expired_or_canceled_card')
            when 'pending' then jsonb_build_object(
                'pending_reason', 'processing')
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
language sql stable
return case
    when exists (select from sandbox_data.dispute d
        where d.payment_id = (p_payment).payment_id
            and d.status in ('needs_response', 'lost'))
        then sandbox.refuse('charge_disputed', null, 'Charge '
            || (p_payment).charge_id || ' has been charged back; cannot '
            'issue a refund.')
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

-- How a refund goes: at once and for good, unless a fault says otherwise.
create function sandbox.refund_plan(
    p_subject text, out status text, out turn_at timestamptz,
    out turn_to text)
language plpgsql as $$
declare
    fault sandbox_data.fault := sandbox.fault_strike('{refund}',
        '{refund_pending,refund_fails,refund_pending_fails}', p_subject, 1);
begin
    status := case when fault.kind in ('refund_pending',
        'refund_pending_fails') then 'pending' else 'succeeded' end;
    turn_at := sandbox.now() + sandbox.ms(fault.ms);
    turn_to := case when fault.kind = 'refund_pending' then 'succeeded'
        when fault.kind is not null then 'failed' end;
    if turn_at is not null then
        perform pg_notify('lastpair_sandbox', '');
    end if;
end
$$;

-- Gives money back. The session and its payment are locked; the refund has
-- been found possible. Without a key, somebody did it at the dashboard.
create function sandbox.refund_make(
    p_payment sandbox_data.payment, p_params jsonb, p_request text,
    p_key text)
returns sandbox_data.refund
language plpgsql as $$
declare
    source constant sandbox_data.session :=
        sandbox.payment_source(p_payment);
    subject constant text := coalesce(p_key, (select format('%s/refund/%s',
            source.origin, count(*) + 1) from sandbox_data.refund
        where payment_id = p_payment.payment_id));
    plan record;
    made sandbox_data.refund;
begin
    select * into plan from sandbox.refund_plan(subject);
    insert into sandbox_data.refund (payment_id, id, amount, reason,
        metadata, created_at, origin, status, turn_at, turn_to)
    values (p_payment.payment_id, sandbox.new_id('re_', 24),
        coalesce((p_params ->> 'amount')::bigint,
            p_payment.amount - p_payment.refunded),
        p_params ->> 'reason', sandbox.metadata(p_params, 'metadata'),
        sandbox.now(), subject, plan.status, plan.turn_at, plan.turn_to)
    returning * into made;
    update sandbox_data.payment set refunded = refunded + made.amount
    where payment_id = p_payment.payment_id;
    perform sandbox.event_add('refund.created', source,
        jsonb_build_object('object', sandbox.refund_json(made)), p_request,
        p_key);
    perform sandbox.event_add('charge.refunded', source, jsonb_build_object(
        'object', sandbox.charge_json(source.session_id),
        'previous_attributes', jsonb_build_object('refunded', false,
            'amount_refunded', p_payment.refunded)), p_request, p_key);
    return made;
end
$$;

-- A refund takes another state than it had. One that fails puts the money
-- back at the shop. The session is locked. NULL: it has failed already.
create function sandbox.refund_turn(
    p_session sandbox_data.session, p_id text, p_to text)
returns sandbox_data.refund
language plpgsql as $$
declare
    old sandbox_data.refund;
    turned sandbox_data.refund;
begin
    select * into old from sandbox_data.refund where id = p_id;
    update sandbox_data.refund
    set status = p_to, turn_at = null, turn_to = null
    where id = p_id and status <> 'failed' returning * into turned;
    if turned.status = 'failed' then
        update sandbox_data.payment set refunded = refunded - turned.amount
        where payment_id = turned.payment_id;
        perform sandbox.event_object(
            'refund.failed', p_session, sandbox.refund_json(turned));
    elsif turned.status <> old.status then
        perform sandbox.event_change('refund.updated', p_session,
            sandbox.refund_json(turned), jsonb_build_object(
                'status', old.status, 'pending_reason', 'processing'));
    end if;
    return turned;
end
$$;

-- POST /v1/refunds
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
    target := sandbox.payment_lock(
        p_params ->> 'payment_intent', p_params ->> 'charge');
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
        answer := sandbox.refund_json(sandbox.refund_make(
            target, p_params, p_request, p_key))::text;
    end if;
    perform sandbox.keep(
        p_key, path, p_params, http_status, answer, p_request);
end
$$;

-- GET /v1/refunds/:id
create function sandbox.refund_get(
    p_id text, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
begin
    select sandbox.refund_json(r)::text into answer
    from refund r where id = p_id;
    http_status := case when found then 200 else 404 end;
    answer := coalesce(answer, sandbox.missing('refund', 'refund', p_id));
end
$$;

-- GET /v1/refunds
create function sandbox.refund_list(
    p_params jsonb, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
declare
    most integer;
    last_id constant bigint := (select refund_id from refund
        where id = p_params ->> 'starting_after');
    items jsonb[];
begin
    http_status := 400;
    answer := sandbox.list_problem(
        p_params, 'payment_intent|charge', last_id is not null);
    if answer is not null then
        return;
    end if;
    most := sandbox.list_limit(p_params);
    items := array(select sandbox.refund_json(r)
        from refund r join payment p using (payment_id)
        where sandbox.asked(p_params, 'payment_intent', p.id)
            and sandbox.asked(p_params, 'charge', p.charge_id)
            and sandbox.created_fits(p_params, r.created_at)
            and (last_id is null or r.refund_id < last_id)
        order by r.refund_id desc limit most + 1);
    http_status := 200;
    answer := sandbox.list_json('/v1/refunds', items, most);
end
$$;

-- The levers -----------------------------------------------------------------

-- Somebody gives money back at the dashboard, without the shop's key or
-- metadata; p_amount NULL: all that is left. NULL, NULL: no such payment.
create function sandbox.payment_refund(
    p_id text, p_amount bigint, out refund text, out problem text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target constant sandbox_data.payment := sandbox.payment_lock(p_id, null);
    made sandbox_data.refund;
begin
    problem := sandbox.payment_problem(target, p_amount)::jsonb
        #>> '{error,message}';
    if problem is null and target.payment_id is not null then
        made := sandbox.refund_make(target, jsonb_strip_nulls(
            jsonb_build_object('amount', p_amount)), null, null);
        refund := made.id;
    end if;
end
$$;

-- A refund fails after all, as may happen for weeks: the money is back at the
-- shop. False when there is no such refund.
create function sandbox.refund_fail(p_id text) returns boolean
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    source sandbox_data.session;
begin
    select s.* into source from refund r join payment p using (payment_id)
    join session s using (session_id) where r.id = p_id for update of s;
    perform sandbox.refund_turn(source, p_id, 'failed');
    return source.session_id is not null;
end
$$;
