-- Money in. Nothing here calls a provider: what must be called is a row in the
-- outbox, with its key, before anybody calls.
--
-- A payment's states only go forward:
--   opening > open > checking > paid, and from each of the first three to
--   failed or expired; opening > refused; paid may also be a mismatch.
-- Money that has come is never undone here: it goes back by a refund.

-- Asks for the pay page of a hold.
--   ready (url)   opening (ahead: pages that are opened before this one)
--   checking (money is on its way)   paid   ended (the hold is over)
--   refused (the provider would not open it; from 5 s on the next call asks
--   under a new key, up to 9 times)   no-such-hold   not-yours
-- The first call stores the payment, and with it all that the provider will
-- be told; later calls find it. p_return_base: the shop's address. A page
-- lives p_min_expiry_s to p_max_expiry_s seconds, as the provider has it.
-- Locks the hold; its stock rows first when an event waits for it.
create function api.payment_start(
    p_id text, p_buyer uuid, p_provider text, p_return_base text,
    p_min_expiry_s integer, p_max_expiry_s integer,
    out outcome text, out url text, out ahead bigint, out document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target hold;
    latest payment;
    seen record;
    moment timestamptz;
    early boolean := exists (
        select from event e where e.hold = p_id
            and (e.outcome = 'unmatched') is true);
begin
    ahead := 0;
    -- Who asks again while the page is being opened changes nothing: one look,
    -- no lock, so no commit that the disk must confirm.
    select h as hold, p as payment into seen from hold h
    left join lateral (select * from payment
        where payment.hold_id = h.hold_id
        order by attempt desc limit 1) p on true
    where h.id = p_id;
    target := seen.hold;
    latest := seen.payment;
    if early then
        target := api.hold_lock(p_id);
    elsif latest.payment_id is null or latest.state = 'refused' then
        select * into target from hold where id = p_id for update;
    end if;
    moment := clock_timestamp();
    if target.hold_id is null then
        outcome := 'no-such-hold';
        return;
    elsif target.buyer is distinct from p_buyer then
        outcome := 'not-yours';
        return;
    end if;
    if early or latest.payment_id is null or latest.state = 'refused' then
        select * into latest from payment p
        where p.hold_id = target.hold_id order by attempt desc limit 1;
    end if;
    if target.state = 'held' and target.expires_at > moment
        and (latest.payment_id is null
            or (latest.state = 'refused' and latest.attempt < 9
                and latest.created_at < moment - interval '5 s'))
    then
        latest := api.payment_open(target, coalesce(latest.attempt, 0) + 1,
            p_provider, p_return_base, p_min_expiry_s, p_max_expiry_s,
            moment);
    end if;
    if early and latest.payment_id is not null then
        perform api.event_unpark(latest.payment_id);
        select * into target from hold where id = p_id;
        select * into latest from payment
        where payment_id = latest.payment_id;
    end if;
    outcome := case
        when target.state = 'paid' then 'paid'
        when latest.state in ('checking', 'mismatch') then 'checking'
        when target.state <> 'held' or target.expires_at <= moment
            then 'ended'
        when latest.state = 'open' then 'ready'
        when latest.state = 'opening' then 'opening'
        when latest.state = 'refused' then 'refused'
        else 'ended' end;
    if outcome = 'ready' then
        url := latest.url;
    elsif outcome = 'opening' then
        ahead := api.payment_ahead(target.hold_id);
    end if;
    document := api.hold_document(target.hold_id, true, p_buyer, moment);
end
$$;

-- How many pay pages are opened before that of this hold: the cashier opens
-- the oldest hold's first. Counted up to 1,000, as all who wait ask again and
-- again; beyond that it is how many holds there are in between, which is more
-- if not all of them ask for a page.
create function api.payment_ahead(p_hold_id bigint) returns bigint
language plpgsql stable as $$
declare
    first bigint;
    counted bigint;
begin
    select min(earlier.hold_id), count(*) into first, counted from (
        select o.hold_id from data.outbox o
        where (o.kind = 'open' and o.done_at is null and not o.stuck) is true
            and o.hold_id < p_hold_id
        order by o.hold_id limit 1000) earlier;
    return case when counted < 1000 then counted
        else greatest(counted, p_hold_id - first) end;
end
$$;

-- Stores a payment and the call that opens its session.
create function api.payment_open(
    p_hold data.hold, p_attempt integer, p_provider text,
    p_return_base text, p_min_expiry_s integer, p_max_expiry_s integer,
    p_now timestamptz)
returns data.payment
language plpgsql as $$
declare
    made data.payment;
    suffix text := case when p_attempt > 1 then '-' || p_attempt else '' end;
begin
    insert into data.payment (hold_id, attempt, provider, key, amount,
        currency, title, return_url, session_expires_at)
    select p_hold.hold_id, p_attempt, p_provider,
        'cs-' || p_hold.id || suffix, p_hold.amount, p_hold.currency,
        api.payment_title(p_hold.hold_id),
        p_return_base || '/order/' || p_hold.id,
        -- Counted from the hold's end, and with a minute to spare, so that
        -- each try within the hold is in time.
        date_trunc('second', least(
            p_hold.expires_at + (p_min_expiry_s + 60) * interval '1 s',
            p_now + (p_max_expiry_s - 60) * interval '1 s'))
    returning * into made;
    -- An attempt that was refused needs nobody any more.
    perform api.outbox_close((select outbox_id from data.outbox
        where kind = 'open' and payment_id = before_it.payment_id
            and refund_id is null and done_at is null))
    from data.payment before_it
    where hold_id = p_hold.hold_id and payment_id <> made.payment_id;
    perform api.outbox_add('open', made.payment_id, made.key, p_now);
    return made;
end
$$;

-- What the buyer reads on the pay page.
create function api.payment_title(p_hold_id bigint) returns text
language sql stable
begin atomic
    select left(string_agg(l.qty || ' x ' || i.title, ', ' order by i.sku),
        250)
    from (select item_id, sum(qty) as qty from data.hold_line
        where hold_id = p_hold_id group by item_id) l
    join data.item i using (item_id);
end;

-- Money for an order of ours that is none of its payments that we know: one more
-- of them, so that it serves the buyer or goes back like any other. Stock rows
-- and hold are locked. NULL when the money has no name or amount, or is known by its
-- name, or there are too many, or none of that provider.
create function api.payment_adopt(p_event data.event, p_hold_id bigint)
returns data.payment
language plpgsql as $$
declare
    made data.payment;
begin
    insert into data.payment (hold_id, attempt, provider, key, amount,
        currency, title, return_url, session_expires_at, session_id)
    select h.hold_id, last.attempt + 1, p_event.provider,
        'found-' || coalesce(p_event.payment_ref, p_event.session_id),
        h.amount, h.currency, last.title, last.return_url,
        last.session_expires_at, case when not exists (
            select from data.payment p where p.provider = p_event.provider
                and p.session_id = p_event.session_id)
            then p_event.session_id end
    from data.hold h
    cross join lateral (select * from data.payment p
        where p.hold_id = h.hold_id order by attempt desc limit 1) last
    where h.hold_id = p_hold_id and last.attempt < 9
        and p_event.amount >= 1 and p_event.currency is not null
        and coalesce(p_event.payment_ref, p_event.session_id) is not null
        and exists (select from data.payment p
            where p.hold_id = h.hold_id and p.provider = p_event.provider)
        and (api.payment_named(p_event.provider, p_event.payment_ref))
            .payment_id is null
    on conflict (key) do nothing
    returning * into made;
    return made;
end
$$;

-- What of a payment's money has gone or goes back.
create function api.payment_returned(p_payment_id bigint) returns bigint
language plpgsql stable as $$
begin
    return (select coalesce(sum(amount), 0)::bigint from data.refund
        where payment_id = p_payment_id and state not in ('failed', 'void'));
end
$$;

-- What of it is still ours: it has not gone back, nor has the bank taken it.
create function api.payment_left(p_payment data.payment) returns bigint
language plpgsql stable as $$
begin
    return greatest(0, p_payment.captured
        - api.payment_returned(p_payment.payment_id)
        - api.dispute_lost(p_payment.payment_id));
end
$$;

-- Whose payment it is. For questions about calls, which a join with all of a
-- provider's payments would make long.
create function api.payment_provider(p_payment_id bigint) returns text
language plpgsql stable as $$
begin
    return (select provider from data.payment
        where payment_id = p_payment_id);
end
$$;

-- The payment that goes by the provider's name p_payment_ref; if several, one
-- that has been paid. NULL when none does.
create function api.payment_named(p_provider text, p_payment_ref text)
returns data.payment
language plpgsql stable as $$
declare
    target data.payment;
begin
    -- In two steps: an index that begins with the provider would do, too, as
    -- long as there are few payments.
    select * into target from (select * from data.payment
        where payment_ref = p_payment_ref offset 0) p
    where p.provider = p_provider
    order by p.captured desc, p.payment_id limit 1;
    return target;
end
$$;

-- Learns the provider's names for a payment. One that another payment is known
-- by stays that one's.
create function api.payment_learn(
    p_payment_id bigint, p_session_id text, p_payment_ref text)
returns void
language plpgsql as $$
begin
    update data.payment p
    set payment_ref = coalesce(p.payment_ref, case when
            (api.payment_named(p.provider, p_payment_ref)).payment_id is null
            then p_payment_ref end),
        session_id = coalesce(p.session_id, case when not exists (
            select from data.payment q where q.provider = p.provider
                and q.session_id = p_session_id) then p_session_id end)
    where p.payment_id = p_payment_id;
end
$$;

-- Money has arrived. Stock rows, hold and payment are locked. It buys the
-- goods while the hold lives; after that, the items' ladder decides.
create function api.payment_paid(
    p_payment_id bigint, p_session_id text, p_payment_ref text,
    p_amount bigint, p_currency text, out outcome text, out detail text)
language plpgsql as $$
declare
    target data.payment;
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.payment where payment_id = p_payment_id;
    if target.captured > 0 or (api.payment_named(
        target.provider, p_payment_ref)).captured > 0
    then
        if target.captured > 0 then
            perform api.payment_learn(p_payment_id, case
                when target.payment_ref = p_payment_ref then p_session_id end,
                p_payment_ref);
        end if;
        outcome := 'repeat';
        return;
    elsif coalesce(p_amount, 0) < 1 or p_currency is null then
        outcome := 'person';
        detail := 'paid, but no amount or no currency is said';
        return;
    end if;
    perform api.payment_learn(p_payment_id, p_session_id, p_payment_ref);
    update data.payment
    set payment_ref = coalesce(p_payment_ref, payment_ref),
        captured = p_amount, paid_at = moment,
        state = case when p_amount = amount and p_currency = currency
            then 'paid' else 'mismatch' end
    where payment_id = p_payment_id returning * into target;
    perform api.outbox_drop(p_payment_id);
    if target.state = 'mismatch' then
        outcome := 'person';
        detail := format('paid %s %s, asked for %s %s',
            p_amount, p_currency, target.amount, target.currency);
        perform api.task_add('mismatch', 'payment ' || p_payment_id,
            target.hold_id, p_payment_id, null, null, detail);
    else
        select * into outcome, detail
        from api.payment_serve(target, moment);
    end if;
end
$$;

-- The right amount has come: goods or the money back.
create function api.payment_serve(
    p_payment data.payment, p_now timestamptz,
    out outcome text, out detail text)
language plpgsql as $$
declare
    bought data.hold;
    step text;
begin
    select * into bought from data.hold where hold_id = p_payment.hold_id;
    outcome := 'applied';
    if api.payment_left(p_payment) = 0 then
        detail := 'paid, and given back at the provider';
        perform api.refund_settled(bought.hold_id, p_now);
    elsif exists (select from data.payment p
        where p.hold_id = bought.hold_id and p.state = 'paid'
            and p.payment_id <> p_payment.payment_id)
    then
        perform api.refund_owe(p_payment, null, 'paid_twice', null, p_now);
        outcome := 'refund';
        detail := 'the order was paid before';
    elsif bought.state = 'held' and bought.expires_at > p_now then
        perform api.hold_sell(array[bought.hold_id], p_now);
        perform api.mail_buyer(bought.hold_id, 'paid', null);
        -- Another page of the order must not be paid as well.
        perform api.outbox_expire_now(bought.hold_id)
        where exists (select from data.payment p
            where p.hold_id = bought.hold_id and p.state = 'open');
    else
        step := api.hold_retake(bought, p_now);
        if step is null then
            perform api.refund_owe(p_payment, null, 'paid_late', null, p_now);
            outcome := 'refund';
            detail := 'paid late, no unit free';
        else
            update data.payment set late = step
            where payment_id = p_payment.payment_id;
            perform api.mail_buyer(bought.hold_id, 'paid_late', null);
            detail := case step when 'retake' then 'paid late, taken again'
                else 'paid late, taken from the allowance' end;
        end if;
    end if;
end
$$;

-- The provider's other news of a payment: money is on its way, or will not
-- come. Never undoes money that has come. Stock rows, hold, payment locked.
create function api.payment_news(
    p_payment_id bigint, p_kind text, p_session_id text,
    p_payment_ref text, out outcome text, out detail text)
language plpgsql as $$
declare
    target data.payment;
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.payment where payment_id = p_payment_id;
    if target.state not in ('opening', 'open', 'checking')
        or (p_kind = 'pending' and target.state = 'checking')
        -- A page that is under way at the bank is not over.
        or (p_kind = 'expired' and target.state = 'checking')
    then
        outcome := 'repeat';
        return;
    end if;
    perform api.payment_learn(p_payment_id, p_session_id, p_payment_ref);
    update data.payment set state = case p_kind
        when 'pending' then 'checking' else p_kind end,
        checking_at = case when p_kind = 'pending' then moment
            else checking_at end
    where payment_id = p_payment_id;
    perform api.outbox_drop(p_payment_id);
    if p_kind = 'pending' then
        perform api.mail_buyer(target.hold_id, 'pending', null);
    else
        -- Another page of the same hold may still be paid.
        perform api.hold_release(target.hold_id, case
            when p_kind = 'failed' then 'payment_failed'
            else 'expired' end, moment)
        where not exists (select from data.payment p
            where p.hold_id = target.hold_id
                and p.state in ('opening', 'open', 'checking', 'paid'));
        if p_kind = 'failed' then
            perform api.mail_buyer(target.hold_id, 'payment_failed', null);
        end if;
    end if;
    outcome := 'applied';
end
$$;
