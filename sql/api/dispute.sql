-- Disputes: the buyer's bank calls money back. A payment may have several, each
-- known by the provider's name for it; where it has none, a payment has one.
--
-- A dispute's states only go forward, and may skip some:
--   inquiry > inquiry_closed > open > won > lost
-- An inquiry only asks. One that was closed may become a dispute after all,
-- under its own name or another. That money is lost is believed whatever was
-- said before: it is the one news that nobody may miss.

-- Whether the bank is looking into a payment of an order.
create function api.dispute_is_open(p_hold_id bigint) returns boolean
language plpgsql stable as $$
begin
    -- A join that is planned while there are few would read all of them later.
    return exists (select from data.dispute
        where payment_id = any (array(select payment_id from data.payment
                where hold_id = p_hold_id))
            and ended_at is null);
end
$$;

-- What of a payment's money the banks have given back. It may be more than came
-- in: what had gone back before, they may give once more.
create function api.dispute_lost(p_payment_id bigint) returns bigint
language plpgsql stable as $$
begin
    return (select coalesce(sum(coalesce(d.amount, p.captured)), 0)::bigint
        from data.dispute d join data.payment p using (payment_id)
        where d.payment_id = p_payment_id and d.state = 'lost');
end
$$;

-- A payment's disputes in a word: lost if one is, else open if one is, else
-- won; NULL when there is none.
create function api.dispute_summary(p_payment_id bigint) returns text
language sql stable
begin atomic
    select case when bool_or(state = 'lost') then 'lost'
        when bool_or(ended_at is null) then 'open'
        when count(*) > 0 then 'won' end
    from data.dispute where payment_id = p_payment_id;
end;

-- What the provider says of a dispute. No stock moves. While one is open,
-- nothing of its order goes back by itself. p_amount NULL: all of the payment.
-- Stock rows, hold and payment are locked.
--   applied   repeat   person (answer the bank in time; or the money is lost)
create function api.dispute_news(
    p_payment data.payment, p_ref text, p_state text, p_amount bigint,
    out outcome text, out detail text)
language plpgsql as $$
declare
    ranks constant text[] := '{inquiry,inquiry_closed,open,won,lost}';
    target data.dispute;
    named text;
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.dispute
    where payment_id = p_payment.payment_id
        and coalesce(ref, '') = coalesce(p_ref, '');
    if array_position(ranks, p_state) is null then
        outcome := 'person';
        detail := 'a dispute in a state that is none';
        return;
    elsif array_position(ranks, p_state)
        <= array_position(ranks, target.state)
    then
        outcome := 'repeat';
        return;
    elsif target.dispute_id is null then
        insert into data.dispute (payment_id, ref, state, amount, opened_at,
            ended_at)
        values (p_payment.payment_id, p_ref, p_state, p_amount, moment,
            case when p_state not in ('inquiry', 'open') then moment end)
        returning * into target;
    else
        update data.dispute
        set state = p_state, amount = coalesce(p_amount, amount),
            ended_at = case when p_state not in ('inquiry', 'open')
                then moment end
        where dispute_id = target.dispute_id returning * into target;
    end if;
    named := coalesce(': ' || p_ref, '');
    outcome := case when p_state in ('inquiry_closed', 'won')
        then 'applied' else 'person' end;
    detail := case p_state when 'inquiry' then 'the bank asks about it'
        when 'inquiry_closed' then 'the bank asks no more'
        when 'open' then 'the payment is disputed'
        else 'the dispute is ' || p_state end || named;
    perform api.dispute_tasks(p_payment, target, detail);
    -- Also what the provider has refused because of it.
    perform api.refund_hold(p_payment.hold_id);
    if p_state = 'lost' then
        perform api.refund_fit(p_payment.payment_id, moment,
            coalesce(target.amount, p_payment.captured));
    end if;
    perform api.refund_resume(p_payment.hold_id, moment);
end
$$;

-- What a person has to do about it now; what was to be done before is over.
create function api.dispute_tasks(
    p_payment data.payment, p_dispute data.dispute, p_detail text)
returns void
language plpgsql as $$
begin
    perform api.task_over('dispute', what || p_dispute.dispute_id,
        replace(p_dispute.state, '_', ' '))
    from unnest(array['inquiry ', 'dispute ']) what;
    if p_dispute.state in ('inquiry', 'open', 'lost') then
        perform api.task_add(case p_dispute.state when 'lost'
                then 'dispute_lost' else 'dispute' end,
            case p_dispute.state when 'inquiry' then 'inquiry '
                else 'dispute ' end || p_dispute.dispute_id,
            p_payment.hold_id, p_payment.payment_id, null, null, p_detail);
    end if;
end
$$;
