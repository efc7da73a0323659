-- What a shopper does on the pay page.

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
                pay_at = sandbox.now() + sandbox.ms(p_delay_ms)
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

-- The bank has decided on a debit under way. The session is locked.
create function sandbox.session_settle(
    p_session sandbox_data.session, p_outcome text)
returns void
language plpgsql as $$
declare
    came constant boolean := p_outcome = 'succeeded';
    target sandbox_data.session;
begin
    update sandbox_data.session set settle_at = null, settle_to = null
    where session_id = p_session.session_id returning * into target;
    perform sandbox.payment_set(target,
        case when came then 'succeeded' else 'requires_payment_method' end,
        case when not came then 'debit_failed' end);
    perform sandbox.event_object(case when came then 'payment_intent.succeeded'
            else 'payment_intent.payment_failed' end, target,
        sandbox.payment_json(target.session_id));
    perform sandbox.event_object(case when came
            then 'checkout.session.async_payment_succeeded'
            else 'checkout.session.async_payment_failed' end, target,
        sandbox.session_json(target));
end
$$;

-- The buyer pays by a bank debit: complete, but unpaid. p_outcome is what
-- comes of it, at once or in p_delay_ms: succeeded, failed, or NULL for not
-- known yet. Gives the session's view.
create function sandbox.session_bank(
    p_id text, p_outcome text, p_delay_ms bigint)
returns text
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
    if sandbox.session_view(target) = 'bank' and p_outcome is not null then
        if p_delay_ms > 0 then
            update session set settle_to = p_outcome,
                settle_at = sandbox.now() + sandbox.ms(p_delay_ms)
            where session_id = target.session_id;
            perform pg_notify('lastpair_sandbox', '');
        else
            perform sandbox.session_settle(target, p_outcome);
        end if;
    end if;
    return sandbox.session_view(target);
end
$$;

-- What the pay page shows; no row when there is no such session.
create function sandbox.session_page(p_id text)
returns table (view text, error text, name text, quantity bigint,
    amount bigint, currency text, left_ms bigint, pay_in_ms bigint,
    success_url text, back_url text, refunded bigint)
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select sandbox.session_lock(p_id);
    select sandbox.session_view(s), p.error,
        s.name, s.quantity, s.unit_amount * s.quantity, upper(s.currency),
        sandbox.ms_until(s.expires_at, sandbox.now()),
        sandbox.ms_until(s.pay_at, sandbox.now()),
        s.success_url, coalesce(s.cancel_url,
            substring(s.success_url from '^https?://[^/?#]+') || '/'),
        coalesce(p.refunded, 0)
    from sandbox_data.session s
    left join sandbox_data.payment p using (session_id)
    where s.id = p_id;
end;

-- The newest sessions, for the index.
create function sandbox.session_list(p_limit integer)
returns table (id text, created text, name text, amount bigint,
    currency text, view text, reference text, refunded bigint)
language sql stable security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select s.id, sandbox.iso(s.created_at),
        s.name, s.unit_amount * s.quantity, upper(s.currency),
        sandbox.session_view(s), s.client_reference_id,
        coalesce((select sum(r.amount) from sandbox_data.refund r
            where r.payment_id = p.payment_id and r.status = 'succeeded'),
            0)::bigint
    from sandbox_data.session s
    left join sandbox_data.payment p using (session_id)
    order by s.session_id desc limit p_limit;
end;
