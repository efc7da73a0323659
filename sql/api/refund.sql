-- Money out: what is owed, what was sent, and what the provider says of it.
--
-- A refund's states only go forward: owed > pending > succeeded > failed (weeks
-- later, even); owed > void when the money has gone back another way. None is
-- sent twice: one that failed is a person's business.

-- Writes down that money of a payment goes back, and the call that sends it;
-- while the bank disputes the order, only that it is owed; nothing when there
-- is none left, as the bank has given it back. p_amount NULL: all that is left.
-- Stock rows, hold and payment are locked.
create function api.refund_owe(
    p_payment data.payment, p_amount bigint, p_reason text, p_by text,
    p_now timestamptz)
returns void
language plpgsql as $$
declare
    made data.refund;
    hold_name text;
    nr integer;
    amount_left constant bigint := api.payment_left(p_payment);
begin
    if amount_left = 0 then
        return;
    end if;
    select id into hold_name from data.hold
    where hold_id = p_payment.hold_id;
    select count(*) + 1 into nr from api.hold_refunds(p_payment.hold_id)
    where key is not null;
    -- Older ones were numbered by their payment's attempt.
    while exists (select from data.refund r
        where nr > 1 and r.key = 'refund-' || hold_name || '-' || nr)
    loop
        nr := nr + 1;
    end loop;
    insert into data.refund (payment_id, key, amount, reason, asked_by)
    values (p_payment.payment_id, 'refund-' || hold_name || case
        when nr > 1 then '-' || nr else '' end,
        coalesce(p_amount, amount_left), p_reason, p_by)
    returning * into made;
    perform api.mail_buyer(p_payment.hold_id, 'refund_owed', made.refund_id);
    perform api.refund_resume(p_payment.hold_id, p_now);
end
$$;

-- Sends what is owed, unless the bank has a say in it.
create function api.refund_resume(p_hold_id bigint, p_now timestamptz)
returns void
language plpgsql as $$
begin
    perform api.outbox_add('refund', r.payment_id, r.key, p_now, r.refund_id)
    from api.hold_refunds(p_hold_id) r
    where r.state = 'owed' and not api.dispute_is_open(p_hold_id);
end
$$;

-- Somebody gave money back at the provider while we owe it, or the bank did:
-- we owe what is left of it, under a new key, as the provider keeps what a key
-- asked for. p_lost: what the bank has given back just now. Stock rows, hold and
-- payment are locked.
create function api.refund_fit(
    p_payment_id bigint, p_now timestamptz, p_lost bigint default 0)
returns void
language plpgsql as $$
declare
    paid constant data.payment := (select p from data.payment p
        where payment_id = p_payment_id);
    owed data.refund;
    excess bigint;
begin
    for owed in select * from data.refund
        where payment_id = p_payment_id and state = 'owed'
        order by refund_id desc
    loop
        excess := greatest(p_lost, api.payment_returned(p_payment_id)
            + api.dispute_lost(p_payment_id) - paid.captured);
        exit when excess <= 0;
        p_lost := p_lost - owed.amount;
        update data.refund set state = 'void', ended_at = p_now
        where refund_id = owed.refund_id;
        perform api.outbox_close(outbox_id) from data.outbox
        where refund_id = owed.refund_id and done_at is null;
        if owed.amount > excess then
            perform api.refund_owe(paid, owed.amount - excess, owed.reason,
                owed.asked_by, p_now);
        end if;
    end loop;
end
$$;

-- Keeps back what is owed: the bank is looking into the order.
create function api.refund_hold(p_hold_id bigint) returns void
language plpgsql as $$
begin
    perform api.outbox_close((select outbox_id from data.outbox
        where refund_id = r.refund_id and done_at is null))
    from api.hold_refunds(p_hold_id) r where r.state = 'owed';
end
$$;

-- The refund that an event speaks of: by the provider's name for it; by our
-- key; else the one of that amount that waits for its answer, as somebody who
-- gives the same money back by hand does it for us. A row of NULLs when none.
create function api.refund_find(
    p_payment_id bigint, p_key text, p_refund_ref text, p_amount bigint)
returns data.refund
language plpgsql stable as $$
declare
    target data.refund;
begin
    select * into target from data.refund where refund_ref = p_refund_ref;
    if target.refund_id is null then
        select * into target from data.refund
        where payment_id = p_payment_id and key = p_key
            and refund_ref is null;
    end if;
    if target.refund_id is null then
        select * into target from data.refund
        where payment_id = p_payment_id and refund_ref is null
            and state = 'owed' and amount = p_amount
        order by refund_id limit 1;
    end if;
    return target;
end
$$;

-- What the provider says of a refund, one of ours or one that somebody made
-- there. Stock rows, hold and payment are locked.
--   applied   repeat   person (it failed: pay the buyer another way)
create function api.refund_news(
    p_payment_id bigint, p_key text, p_refund_ref text, p_state text,
    p_amount bigint, out outcome text, out detail text)
language plpgsql as $$
declare
    target data.refund := api.refund_find(
        p_payment_id, p_key, p_refund_ref, p_amount);
    ranks constant text[] := '{owed,void,pending,succeeded,failed}';
    buyers_hold constant bigint := (select hold_id from data.payment
        where payment_id = p_payment_id);
    moment timestamptz := clock_timestamp();
begin
    if array_position(ranks, p_state) is null then
        outcome := 'person';
        detail := 'a refund in a state that is none';
        return;
    elsif target.payment_id <> p_payment_id then
        outcome := 'person';
        detail := 'a refund that is known as another payment''s';
        return;
    elsif target.refund_id is null then
        if coalesce(p_amount, 0) < 1 or p_refund_ref is null then
            outcome := 'person';
            detail := 'a refund without an amount or a name';
            return;
        end if;
        insert into data.refund (payment_id, refund_ref, amount, reason,
            state)
        values (p_payment_id, p_refund_ref, p_amount, 'at_provider', 'owed')
        returning * into target;
        detail := 'given back at the provider';
    elsif array_position(ranks, p_state)
        <= array_position(ranks, target.state)
    then
        outcome := 'repeat';
        return;
    end if;
    update data.refund
    set state = p_state, refund_ref = coalesce(refund_ref, p_refund_ref),
        ended_at = case when p_state in ('succeeded', 'failed')
            then moment end
    where refund_id = target.refund_id returning * into target;
    perform api.outbox_close(o.outbox_id) from data.outbox o
    where o.refund_id = target.refund_id and o.done_at is null
        and target.state <> 'owed';
    outcome := 'applied';
    if p_state = 'failed' then
        outcome := 'person';
        detail := 'the refund failed';
        perform api.task_add('refund_failed', 'refund ' || target.refund_id,
            buyers_hold, p_payment_id, target.refund_id, null, detail);
        perform api.mail_buyer(buyers_hold, 'refund_failed',
            target.refund_id);
    elsif p_state = 'succeeded' then
        perform api.mail_buyer(buyers_hold, 'refunded', target.refund_id);
    end if;
    perform api.refund_fit(p_payment_id, moment);
    perform api.refund_settled(buyers_hold, moment);
end
$$;

-- An order whose money has all gone back is over: its units are on sale
-- again. Part of it given back changes nothing. Stock rows and hold are
-- locked.
create function api.refund_settled(p_hold_id bigint, p_now timestamptz)
returns void
language plpgsql as $$
declare
    target data.hold;
    captured bigint;
    returned bigint;
    sent bigint;
begin
    select sum(p.captured), sum(api.payment_returned(p.payment_id)),
        (select count(*) from api.hold_refunds(p_hold_id)
            where state = 'succeeded')
    into captured, returned, sent
    from data.payment p where p.hold_id = p_hold_id and p.captured > 0;
    if coalesce(captured, 0) = 0 or returned < captured then
        return;
    end if;
    select * into target from data.hold where hold_id = p_hold_id;
    if target.state = 'paid' then
        perform api.hold_cancel(p_hold_id, p_now);
    elsif target.state = 'held' and not exists (select from data.payment p
        where p.hold_id = p_hold_id
            and p.state in ('opening', 'open', 'checking'))
    then
        perform api.hold_release(p_hold_id, 'refunded', p_now);
    elsif target.state = 'released' and sent > 0 then
        update data.hold set reason = 'refunded'
        where hold_id = p_hold_id and reason <> 'refunded';
    end if;
end
$$;

-- The operator gives money of an order back: p_amount minor units, or all
-- that is left (NULL), which cancels the order. p_name: its number or its
-- hold's id; p_by: who asks.
--   done   no-such-order   not-paid   disputed (the bank decides, or has)
--   nothing-left   too-much: document has refunded, left, currency
-- Not idempotent: each call gives back once more. Locks as event_apply.
create function api.order_refund(
    p_name text, p_amount bigint, p_by text,
    out outcome text, out document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target hold;
    paid payment;
    moment timestamptz;
    amount_left bigint;
    disputed boolean;
    rest bigint := p_amount;
    part bigint;
begin
    select h.* into target from hold h
    where h.hold_id = api.order_number(p_name);
    if target.hold_id is null then
        outcome := 'no-such-order';
        return;
    end if;
    target := api.hold_lock(target.id);
    perform 1 from payment where hold_id = target.hold_id
    order by payment_id for update;
    moment := clock_timestamp();
    select coalesce(sum(api.payment_left(p)), 0),
        api.dispute_is_open(target.hold_id) and count(*) > 0
            or bool_and(api.payment_left(p) = 0
                and api.dispute_lost(p.payment_id) > 0)
    into amount_left, disputed
    from payment p where p.hold_id = target.hold_id and p.captured > 0;
    outcome := case
        when disputed is null then 'not-paid'
        when disputed then 'disputed'
        when amount_left = 0 then 'nothing-left'
        when p_amount > amount_left then 'too-much'
        else 'done' end;
    if outcome = 'done' then
        for paid in select p.* from payment p
            where p.hold_id = target.hold_id
                and api.payment_left(p) > 0
            order by p.payment_id desc
        loop
            part := least(rest, api.payment_left(paid));
            exit when part = 0;
            perform api.refund_owe(paid, part, 'asked_for', p_by, moment);
            rest := rest - part;
        end loop;
        perform api.refund_settled(target.hold_id, moment);
        if coalesce(p_amount, amount_left) = amount_left then
            -- The bank may have the rest: that alone does not end an order.
            perform api.hold_cancel(hold_id, moment) from hold
            where hold_id = target.hold_id and state = 'paid';
        end if;
    end if;
    document := (select json_build_object(
            'order', 'ord_' || target.hold_id,
            'refunded', coalesce(sum(
                api.payment_returned(p.payment_id)), 0),
            'left', coalesce(sum(api.payment_left(p)), 0),
            'currency', target.currency)
        from payment p
        where p.hold_id = target.hold_id and p.captured > 0);
end
$$;
