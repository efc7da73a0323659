-- Disputes: the buyer's bank calls a payment back. It has the money while the
-- dispute is open; lost, the money stays there. An inquiry only asks; the bank
-- may make a dispute of it, or close it and open one later.

create function sandbox.dispute_json(p_dispute sandbox_data.dispute)
returns jsonb
language sql stable
begin atomic
    select jsonb_build_object(
        'id', d.id, 'object', 'dispute', 'amount', d.amount,
        'balance_transactions', jsonb_build_array(), 'charge', p.charge_id,
        'created', sandbox.epoch(d.created_at), 'currency', s.currency,
        'enhanced_eligibility_types', jsonb_build_array(),
        'evidence', jsonb_build_object(),
        'evidence_details', jsonb_build_object(
            'due_by', sandbox.epoch(d.created_at + interval '8 days'),
            'enhanced_eligibility', jsonb_build_object(),
            'has_evidence', false, 'past_due', false, 'submission_count', 0,
            'submission_method', 'not_submitted'),
        'intended_submission_method', null,
        'is_charge_refundable', d.status ~ '^warning',
        'livemode', false, 'metadata', jsonb_build_object(),
        'payment_intent', p.id,
        'payment_method_details', jsonb_build_object('type', 'card',
            'card', jsonb_build_object('brand', 'visa',
                'case_type', case when d.status ~ '^warning' then 'inquiry'
                    else 'chargeback' end, 'network', 'visa',
                'network_reason_code', '10.4')),
        'reason', 'fraudulent', 'status', d.status)
    from (select (p_dispute).*) d
    join sandbox_data.payment p using (payment_id)
    join sandbox_data.session s using (session_id);
end;

-- Why a payment cannot be disputed; NULL when it can.
create function sandbox.dispute_problem(p_payment sandbox_data.payment)
returns text
language sql stable
return case
    when exists (select from sandbox_data.dispute d
        where d.payment_id = (p_payment).payment_id
            and d.status in ('needs_response', 'lost'))
        then 'it has been disputed already'
    when (p_payment).state <> 'succeeded' then 'it is not paid'
    when (p_payment).refunded = (p_payment).amount
        then 'all of it has been refunded'
    end;

-- What has not gone back is disputed, or asked about, unless that cannot be; an
-- inquiry that is open becomes the dispute. The session is locked.
create function sandbox.dispute_open(
    p_session sandbox_data.session, p_payment_id bigint, p_inquiry boolean)
returns sandbox_data.dispute
language plpgsql as $$
declare
    target sandbox_data.payment;
    made sandbox_data.dispute;
begin
    update sandbox_data.payment set dispute_at = null
    where payment_id = p_payment_id returning * into target;
    if sandbox.dispute_problem(target) is not null then
        return null;
    end if;
    update sandbox_data.dispute
    set status = case when p_inquiry then status else 'needs_response' end
    where payment_id = p_payment_id and closed_at is null
    returning * into made;
    if found and not p_inquiry then
        perform sandbox.event_change('charge.dispute.updated', p_session,
            sandbox.dispute_json(made),
            jsonb_build_object('status', 'warning_needs_response'));
    elsif not found then
        insert into sandbox_data.dispute (payment_id, id, amount, status,
            created_at)
        values (p_payment_id, sandbox.new_id('du_', 24),
            target.amount - target.refunded, case when p_inquiry
                then 'warning_needs_response' else 'needs_response' end,
            sandbox.now())
        returning * into made;
        perform sandbox.event_object('charge.dispute.created', p_session,
            sandbox.dispute_json(made));
    end if;
    return made;
end
$$;

-- GET /v1/disputes/:id
create function sandbox.dispute_get(
    p_id text, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
begin
    select sandbox.dispute_json(d)::text into answer
    from dispute d where id = p_id;
    http_status := case when found then 200 else 404 end;
    answer := coalesce(answer, sandbox.missing('dispute', 'dispute', p_id));
end
$$;

-- GET /v1/disputes
create function sandbox.dispute_list(
    p_params jsonb, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
declare
    most integer;
    last_id constant bigint := (select dispute_id from dispute
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
    items := array(select sandbox.dispute_json(d)
        from dispute d join payment p using (payment_id)
        where sandbox.asked(p_params, 'payment_intent', p.id)
            and sandbox.asked(p_params, 'charge', p.charge_id)
            and sandbox.created_fits(p_params, d.created_at)
            and (last_id is null or d.dispute_id < last_id)
        order by d.dispute_id desc limit most + 1);
    http_status := 200;
    answer := sandbox.list_json('/v1/disputes', items, most);
end
$$;

-- The levers -----------------------------------------------------------------

-- The buyer calls the money back, or the bank only asks about it (p_inquiry).
-- NULL, NULL: there is no such payment.
create function sandbox.payment_dispute(
    p_id text, p_inquiry boolean, out dispute text, out problem text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target constant sandbox_data.payment := sandbox.payment_lock(p_id, null);
    made sandbox_data.dispute;
begin
    problem := sandbox.dispute_problem(target);
    if problem is null and target.payment_id is not null then
        made := sandbox.dispute_open(
            sandbox.payment_source(target), target.payment_id, p_inquiry);
        dispute := made.id;
    end if;
end
$$;

-- The bank decides: won (for the shop; an inquiry is closed) or lost. NULL,
-- NULL: no such dispute.
create function sandbox.dispute_close(
    p_id text, p_outcome text, out dispute text, out problem text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    source sandbox_data.session;
    before text;
    closed sandbox_data.dispute;
begin
    select s.* into source from dispute d join payment p using (payment_id)
    join session s using (session_id) where d.id = p_id for update of s;
    if not found then
        return;
    end if;
    select d.status into before from dispute d where d.id = p_id;
    problem := case
        when before not in ('needs_response', 'warning_needs_response')
            then 'it has been closed already'
        when before <> 'needs_response' and p_outcome <> 'won'
            then 'it is only an inquiry' end;
    if problem is not null then
        return;
    end if;
    update dispute d set closed_at = sandbox.now(), status = case
        when before = 'needs_response' then p_outcome
        else 'warning_closed' end
    where d.id = p_id returning * into closed;
    perform sandbox.event_change('charge.dispute.closed', source,
        sandbox.dispute_json(closed),
        jsonb_build_object('status', before));
    dispute := closed.id;
end
$$;
