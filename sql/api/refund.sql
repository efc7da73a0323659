-- Money out: what is owed, and what the provider says of it.

-- Writes down that a payment goes back, and the call that sends it.
create function api.refund_owe(
    p_payment data.payment, p_reason text, p_now timestamptz)
returns void
language plpgsql as $$
declare
    hold_name text;
begin
    select id into hold_name from data.hold
    where hold_id = p_payment.hold_id;
    insert into data.refund (payment_id, key, amount, reason)
    values (p_payment.payment_id, 'refund-' || hold_name || case
        when p_payment.attempt > 1 then '-' || p_payment.attempt else '' end,
        p_payment.captured, p_reason);
    perform api.outbox_add('refund', p_payment.payment_id,
        (select key from data.refund
            where payment_id = p_payment.payment_id), p_now);
end
$$;

-- What the provider says of a refund. Its states only go forward: owed,
-- pending, succeeded, failed; a refund may fail weeks after it succeeded, and
-- then a person must pay the buyer another way. Until we know our refund's
-- name, its amount says which it is: somebody may have given a part back.
create function api.refund_news(
    p_payment_id bigint, p_refund_ref text, p_state text, p_amount bigint,
    out outcome text, out detail text)
language plpgsql as $$
declare
    target data.refund;
    ranks constant text[] := '{owed,pending,succeeded,failed}';
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.refund
    where payment_id = p_payment_id for update;
    if target.refund_id is null
        or target.refund_ref <> p_refund_ref
        or (target.refund_ref is null and target.amount <> p_amount)
        or array_position(ranks, p_state) is null
    then
        outcome := 'person';
        detail := 'a refund that was not made here';
        return;
    end if;
    if array_position(ranks, p_state)
        <= array_position(ranks, target.state)
    then
        outcome := 'repeat';
        return;
    end if;
    update data.refund
    set state = p_state, refund_ref = coalesce(refund_ref, p_refund_ref),
        ended_at = case when p_state in ('succeeded', 'failed')
            then moment end
    where refund_id = target.refund_id;
    update data.outbox set done_at = moment
    where kind = 'refund' and payment_id = p_payment_id and done_at is null;
    if p_state = 'succeeded' then
        update data.hold h set reason = 'refunded'
        from data.payment p
        where p.payment_id = p_payment_id and h.hold_id = p.hold_id
            and h.state = 'released';
    end if;
    outcome := case when p_state = 'failed' then 'person' else 'applied' end;
    detail := case when p_state = 'failed' then 'the refund failed' end;
end
$$;
