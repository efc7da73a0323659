-- What a seller sees of the sandbox: everything of a page in one document.
-- Nothing is decided here but what a payment brings with it.

-- What has become of a session's payment, and what the clock still brings;
-- NULL while there is none.
create function sandbox.desk_money(p_session_id bigint) returns jsonb
language sql volatile
begin atomic
    select jsonb_build_object(
        'payment', case when p.state = 'succeeded' then p.id end,
        'left', p.amount - p.refunded,
        'dispute_in_ms', sandbox.ms_until(p.dispute_at, sandbox.now()),
        'dispute', (select jsonb_build_object('id', d.id, 'amount', d.amount,
                'status', d.status)
            from sandbox_data.dispute d where d.payment_id = p.payment_id
            order by d.dispute_id desc limit 1),
        'refunds', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id,
                'amount', r.amount, 'status', r.status, 'turn_to', r.turn_to,
                'turns_in_ms', sandbox.ms_until(r.turn_at, sandbox.now()))
                order by r.refund_id), '[]')
            from sandbox_data.refund r where r.payment_id = p.payment_id))
    from sandbox_data.payment p where p.session_id = p_session_id;
end;

-- What the clock still brings to an open or unpaid session.
create function sandbox.desk_wait(p_session sandbox_data.session)
returns jsonb
language sql volatile
return jsonb_build_object(
    'pay_in_ms', sandbox.ms_until((p_session).pay_at, sandbox.now()),
    'settle_to', (p_session).settle_to,
    'settle_in_ms', sandbox.ms_until((p_session).settle_at, sandbox.now()));

-- The page of payments: up to p_limit of each, newest first. `unsent`:
-- webhooks that nobody will send any more; `faults`: how many are on.
create function sandbox.desk(p_limit integer) returns text
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
begin
    return jsonb_build_object(
        'sessions', (select coalesce(jsonb_agg(to_jsonb(l)
                || coalesce(sandbox.desk_money(s.session_id), '{}')
                || sandbox.desk_wait(s) order by l.ordinality), '[]')
            from sandbox.session_list(p_limit) with ordinality l
            join session s on s.id = l.id),
        'deliveries', (select coalesce(jsonb_agg(to_jsonb(d)
                order by d.ordinality), '[]')
            from sandbox.delivery_list(null, p_limit) with ordinality d),
        'unsent', (select count(*) from delivery
            where next_try is null and done_at is null),
        'books', sandbox.books()::jsonb,
        'clock', sandbox.clock_show()::jsonb,
        'faults', (select count(*) from fault where cleared_at is null));
end
$$;

-- The page of faults.
create function sandbox.panel(p_limit integer) returns text
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select jsonb_build_object(
        'clock', sandbox.clock_show()::jsonb,
        'seed', sandbox.seed_show(),
        'faults', (select coalesce(jsonb_agg(to_jsonb(f)
                order by f.ordinality), '[]')
            from sandbox.fault_list(p_limit) with ordinality f))::text;
end;

-- The buyer pays at once, and something comes of it on the sandbox's clock:
-- p_then is dispute, p_ms after the payment; or a fault of refunds, which
-- strikes the next one that is asked for. Gives the session's view. Nothing
-- happens to a session that is not open, so a repeat does nothing.
create function sandbox.session_pay_then(p_id text, p_then text, p_ms bigint)
returns text
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target sandbox_data.session := sandbox.session_lock(p_id);
begin
    if target.status = 'open' then
        target := sandbox.session_take(target);
        if p_then = 'dispute' then
            update payment
            set dispute_at = sandbox.now() + sandbox.ms(p_ms)
            where session_id = target.session_id;
        else
            perform sandbox.fault_add('refund', p_then, 100, 1, p_ms, p_ms);
        end if;
        perform pg_notify('lastpair_sandbox', '');
    end if;
    return sandbox.session_view(target);
end
$$;
