-- Money in and money out. Nothing here calls a provider: what must be called
-- is a row in the outbox, with its key, before anybody calls.

-- Asks for the pay page of a hold.
--   ready (url)   opening   checking (money is on its way)   paid
--   ended (the hold is over)   refused (the provider would not open it; from
--   5 s on the next call asks under a new key, up to 9 times)
--   no-such-hold   not-yours
-- The first call stores the payment, and with it all that the provider will
-- be told; later calls find it. p_return_base: the shop's address.
-- Locks the hold; its stock rows first when an event waits for it.
create function api.payment_start(
    p_id text, p_buyer uuid, p_provider text, p_return_base text,
    out outcome text, out url text, out document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target hold;
    latest payment;
    seen record;
    moment timestamptz;
    early boolean := exists (
        select from event e where e.hold = p_id and e.outcome = 'unmatched');
begin
    -- Who asks again while the page is being opened changes nothing: one look,
    -- no lock, so no commit that the disk must confirm.
    select h as hold, p as payment into seen from hold h
    left join payment p on p.hold_id = h.hold_id and p.attempt = (
        select max(attempt) from payment where hold_id = h.hold_id)
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
            p_provider, p_return_base, moment);
        if early then
            perform api.event_apply(event_seq) from (
                select event_seq from event e
                where e.hold = p_id and e.outcome = 'unmatched'
                order by event_seq) parked;
            select * into target from hold where id = p_id;
            select * into latest from payment
            where payment_id = latest.payment_id;
        end if;
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
    end if;
    document := api.hold_document(target.hold_id, true, p_buyer, moment);
end
$$;

-- Stores a payment and the call that opens its session.
create function api.payment_open(
    p_hold data.hold, p_attempt integer, p_provider text,
    p_return_base text, p_now timestamptz)
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
        left(string_agg(l.qty || ' x ' || i.title, ', ' order by i.sku), 250),
        p_return_base || '/order/' || p_hold.id,
        -- 30 minutes is the provider's least, 24 hours its most. Counted from
        -- the hold's end, so that each try within the hold is in time.
        date_trunc('second', least(p_hold.expires_at + interval '31 minutes',
            p_now + interval '23 hours 59 minutes'))
    from (select item_id, sum(qty) as qty from data.hold_line
        where hold_id = p_hold.hold_id group by item_id) l
    join data.item i using (item_id)
    returning * into made;
    -- An attempt that was refused needs nobody any more.
    update data.outbox o set done_at = p_now
    from data.payment p
    where p.hold_id = p_hold.hold_id and o.payment_id = p.payment_id
        and o.kind = 'open' and o.done_at is null;
    perform api.outbox_add('open', made.payment_id, made.key, p_now);
    return made;
end
$$;

-- Money has arrived. Stock rows, hold and payment are locked.
create function api.payment_paid(
    p_payment_id bigint, p_session_id text, p_payment_ref text,
    p_amount bigint, p_currency text, out outcome text, out detail text)
language plpgsql as $$
declare
    target data.payment;
    bought data.hold;
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.payment where payment_id = p_payment_id;
    if target.state in ('paid', 'mismatch') then
        outcome := 'repeat';
        return;
    elsif coalesce(p_amount, 0) < 1 or p_currency is null then
        outcome := 'person';
        detail := 'paid, but no amount or no currency is said';
        return;
    end if;
    update data.payment
    set session_id = coalesce(session_id, p_session_id),
        payment_ref = coalesce(p_payment_ref, payment_ref),
        captured = p_amount, paid_at = moment,
        state = case when p_amount = amount and p_currency = currency
            then 'paid' else 'mismatch' end
    where payment_id = p_payment_id returning * into target;
    perform api.outbox_drop(p_payment_id);
    if target.state = 'mismatch' then
        outcome := 'person';
        detail := format('paid %s %s, asked for %s %s',
            p_amount, p_currency, target.amount, target.currency);
        return;
    end if;

    select * into bought from data.hold where hold_id = target.hold_id;
    if bought.state = 'paid' then
        perform api.refund_owe(target, 'paid_twice', moment);
        outcome := 'refund';
        detail := 'the order was paid before';
    elsif bought.state = 'held' and bought.expires_at > moment then
        perform api.hold_sell(bought.hold_id, moment);
        outcome := 'applied';
    elsif api.hold_retake(bought, moment) then
        outcome := 'applied';
        detail := 'paid late, taken again';
    else
        perform api.refund_owe(target, 'paid_late', moment);
        outcome := 'refund';
        detail := 'paid late, no unit free';
    end if;
end
$$;

-- The provider's other news of a payment: money is on its way, or will not
-- come. Never undoes money that has come. Stock rows, hold, payment locked.
create function api.payment_news(
    p_payment_id bigint, p_kind text, p_session_id text,
    out outcome text, out detail text)
language plpgsql as $$
declare
    target data.payment;
    moment timestamptz := clock_timestamp();
begin
    select * into target from data.payment where payment_id = p_payment_id;
    if target.state not in ('opening', 'open', 'checking')
        or (p_kind = 'pending' and target.state = 'checking')
    then
        outcome := 'repeat';
        return;
    end if;
    update data.payment set state = case p_kind
        when 'pending' then 'checking' else p_kind end,
        session_id = coalesce(session_id, p_session_id)
    where payment_id = p_payment_id;
    if p_kind <> 'pending' then
        perform api.outbox_drop(p_payment_id);
        -- Another page of the same hold may still be paid.
        perform api.hold_release(target.hold_id, case
            when p_kind = 'failed' then 'payment_failed'
            else 'expired' end, moment)
        where not exists (select from data.payment p
            where p.hold_id = target.hold_id
                and p.state in ('opening', 'open', 'checking'));
    end if;
    outcome := 'applied';
end
$$;
