-- The ordinary sale, for all deliveries of a batch at once: each says that a
-- live hold was paid for through its only pay page, with the right amount, and
-- nothing else has ever happened to that payment. Whatever is not so plain is
-- api.event_apply's, one event at a time; what comes of it is the same there.

-- Sells what these events pay for, as far as they are plain; which were. The
-- stock of the items p_locked is locked.
-- Locks: holds, payments, calls, mail, and last the events, each ascending.
create function api.event_sell(p_seqs bigint[], p_locked bigint[])
returns bigint[]
language plpgsql as $$
declare
    pages record;
    sale record;
    moment timestamptz;
begin
    select array_agg(event_seq) as events, array_agg(payment_id) as payments
    into pages from api.event_pages(p_seqs, p_locked);
    if pages.events is null then
        return '{}';
    end if;
    perform 1 from data.hold where hold_id = any (array(select hold_id
        from data.payment where payment_id = any (pages.payments)))
    order by hold_id for update;
    perform 1 from data.payment where payment_id = any (pages.payments)
    order by payment_id for update;
    moment := clock_timestamp();
    select array_agg(s.event_seq) as events, array_agg(s.hold_id) as holds,
        array_agg(s.payment_id) as payments,
        array_agg(s.payment_ref) as refs
    into sale from api.event_plain(pages.events, pages.payments, moment) s;
    if sale.events is null then
        return '{}';
    end if;
    update data.payment p
    set payment_ref = s.ref, captured = p.amount, paid_at = moment,
        state = 'paid'
    from unnest(sale.payments, sale.refs) as s (payment_id, ref)
    where p.payment_id = s.payment_id;
    perform api.outbox_drop(payment_id)
    from unnest(sale.payments) as s (payment_id);
    perform api.hold_sell(sale.holds, moment);
    perform api.mail_buyer(h.hold_id, 'paid', null) from data.hold h
    where h.hold_id = any (sale.holds) and h.email <> '';
    update data.event set outcome = 'applied'
    where event_seq = any (sale.events);
    return sale.events;
end
$$;

-- Which payments these events, those of money, say that they speak of, as far
-- as the stock is locked: a hold that has become known just now must not be
-- locked before it. Step by step, here and below: a plan that was made on empty
-- tables is kept, and would join them in any order.
create function api.event_pages(p_seqs bigint[], p_locked bigint[])
returns table (event_seq bigint, payment_id bigint)
language plpgsql stable as $$
#variable_conflict use_column
begin
    return query
    select e.event_seq, p.payment_id
    from (select * from data.event where event_seq = any (p_seqs)
        and kind = 'paid' and outcome = 'received' offset 0) e
    cross join lateral (
        select q.payment_id, q.hold_id from data.payment q where q.key = e.key
        union
        select q.payment_id, q.hold_id from data.payment q
        where q.provider = e.provider and q.session_id = e.session_id) p
    where not exists (select from data.hold_line l
        where l.hold_id = p.hold_id and l.item_id <> all (p_locked));
end
$$;

-- Which of these events are plain, each with a payment that it speaks of: with
-- their hold and the provider's name for the payment. Holds and payments are
-- locked.
create function api.event_plain(
    p_seqs bigint[], p_payments bigint[], p_now timestamptz)
returns table (event_seq bigint, hold_id bigint, payment_id bigint,
    payment_ref text)
language plpgsql stable as $$
#variable_conflict use_column
begin
    return query
    select s.event_seq, s.hold_id, s.payment_id, s.payment_ref
    from (select e.event_seq, e.provider, h.hold_id, p.payment_id,
            e.payment_ref,
            -- Two that speak of one thing come one after the other.
            count(*) over (partition by h.hold_id) as of_hold,
            count(*) over (partition by e.payment_ref) as of_name
        from unnest(p_seqs, p_payments) as page (event_seq, payment_id)
        cross join lateral (select * from data.event
            where event_seq = page.event_seq offset 0) e
        cross join lateral (select * from data.payment
            where payment_id = page.payment_id offset 0) p
        cross join lateral (select * from data.hold
            where hold_id = p.hold_id offset 0) h
        where p.provider = e.provider
            and p.key = coalesce(e.key, p.key)
            and p.session_id = coalesce(e.session_id, p.session_id)
            -- A page that goes by another name may be a twin's.
            and e.payment_ref = coalesce(p.payment_ref, e.payment_ref)
            and p.captured = 0
            and (p.amount, p.currency) = (e.amount, e.currency)
            and h.state = 'held' and h.expires_at > p_now) s
    where s.of_hold = 1 and s.of_name = 1
        and not exists (select from data.payment p
            where p.hold_id = s.hold_id and p.payment_id <> s.payment_id)
        and coalesce((api.payment_named(s.provider, s.payment_ref)).payment_id,
            s.payment_id) = s.payment_id
        and api.payment_returned(s.payment_id) = 0
        and api.dispute_summary(s.payment_id) is null
        and not exists (select from api.event_waiting(
            s.payment_id, s.payment_ref));
end
$$;
