-- The inbox: what providers tell us, kept for ever, and acted on once.

-- Records one webhook delivery and acts on it, in one transaction. p_body
-- holds the bytes as signed. What came of it:
--   applied  repeat (nothing new)  refund (paid too late, money goes back)
--   ignored  unmatched (parked until our own record comes)
--   person (an operator decides)  unusable
-- Idempotent by provider and event id. Locks as payment_settle_all.
create function api.payment_settle(
    p_provider text, p_event_id text, p_type text, p_kind text, p_key text,
    p_hold text, p_session_id text, p_payment_ref text, p_refund_ref text,
    p_state text, p_amount bigint, p_currency text, p_detail text,
    p_body bytea)
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
begin
    return (select a.outcome from api.payment_settle_all(
        array[p_provider], array[p_event_id], array[p_type], array[p_kind],
        array[p_key], array[p_hold], array[p_session_id],
        array[p_payment_ref], array[p_refund_ref], array[p_state],
        array[p_amount], array[p_currency], array[p_detail],
        array[p_body]) a);
end
$$;

-- The same for many deliveries in one transaction, so that orders of one item
-- lock its stock together: one element of each array is one delivery; one row
-- for each, in their order. Fails as a whole; also when a lock is not to be had
-- soon (55P03), and when an event's order has become known after the others'
-- stock was locked (40001): then each is to be tried alone.
-- Locks: the events, ascending; the stock of all; then as event_sell and
-- event_apply.
create function api.payment_settle_all(
    p_providers text[], p_event_ids text[], p_types text[], p_kinds text[],
    p_keys text[], p_holds text[], p_session_ids text[],
    p_payment_refs text[], p_refund_refs text[], p_states text[],
    p_amounts bigint[], p_currencies text[], p_details text[],
    p_bodies bytea[])
returns table (delivery integer, outcome text)
language plpgsql security definer set search_path = data, pg_temp as $$
#variable_conflict use_column
declare
    fresh bigint[];
    applied text[] := '{}';
    locked bigint[];
    sold bigint[];
    seq bigint;
begin
    if cardinality(p_event_ids) > 1 then
        -- What one of them waits for bars the others, and whoever needs what
        -- they have locked: a part of the usual time. Alone, each has all of it.
        perform set_config('lock_timeout', ceil(1000 * 0.15 * extract(epoch
            from current_setting('lock_timeout')::interval))::text, true);
    end if;
    with came as (
        select distinct on (e.provider, e.event_id) e.*,
            count(*) over (partition by e.provider, e.event_id) as times
        from unnest(p_providers, p_event_ids, p_types, p_kinds, p_keys,
            p_holds, p_session_ids, p_payment_refs, p_refund_refs, p_states,
            p_amounts, p_currencies, p_details, p_bodies) with ordinality
            as e (provider, event_id, type, kind, key, hold, session_id,
                payment_ref, refund_ref, state, amount, currency, detail,
                body, nr)
        order by e.provider, e.event_id, e.nr),
    kept as (
        insert into event (provider, event_id, type, kind, key, hold,
            session_id, payment_ref, refund_ref, state, amount, currency,
            outcome, detail, body, deliveries)
        select provider, event_id, type, kind, key, hold, session_id,
            payment_ref, refund_ref, state, amount, currency, 'received',
            detail, body, times
        from came order by provider, event_id
        on conflict (provider, event_id) do update
            set deliveries = event.deliveries + excluded.deliveries
        -- A row that was there has been locked, and so has an xmax.
        returning event_seq, provider, event_id, xmax = 0 as is_new)
    select array_agg(case when k.is_new then k.event_seq end
        order by c.nr) into fresh
    from (select min(u.nr) as nr, u.provider, u.event_id
        from unnest(p_providers, p_event_ids) with ordinality
            as u (provider, event_id, nr)
        group by u.provider, u.event_id) c
    join kept k using (provider, event_id);
    locked := api.event_lock(array_remove(fresh, null));
    sold := api.event_sell(array_remove(fresh, null), locked);
    foreach seq in array fresh loop
        applied := applied || case when seq is null then 'repeat'
            when seq = any (sold) then 'applied' else api.event_apply(seq, case
                when cardinality(fresh) > 1 then locked end) end;
    end loop;
    return query
    select u.nr::integer, case when u.nr = first.nr
        then applied[first.place] else 'repeat' end
    from unnest(p_providers, p_event_ids) with ordinality
        as u (provider, event_id, nr)
    join (select min(v.nr) as nr, v.provider, v.event_id,
            row_number() over (order by min(v.nr)) as place
        from unnest(p_providers, p_event_ids) with ordinality
            as v (provider, event_id, nr)
        group by v.provider, v.event_id) first
        on first.provider = u.provider and first.event_id = u.event_id
    order by u.nr;
end
$$;

-- Locks the stock of all orders that these events speak of: of which items.
create function api.event_lock(p_seqs bigint[]) returns bigint[]
language plpgsql as $$
declare
    items constant bigint[] := array(select l.item_id
        from data.event e
        cross join lateral (
            select h.hold_id from data.hold h where h.id = e.hold
            union
            select p.hold_id from data.payment p
            where p.provider = e.provider and p.session_id = e.session_id
            union
            select p.hold_id from data.payment p
            where p.payment_ref = e.payment_ref
            union
            select p.hold_id from data.payment p where p.key = e.key
            union
            select (select p.hold_id from data.payment p
                where p.payment_id = r.payment_id)
            from data.refund r where r.key = e.key
            union
            select (select p.hold_id from data.payment p
                where p.payment_id = r.payment_id)
            from data.refund r where r.refund_ref = e.refund_ref
        ) o
        join data.hold_line l using (hold_id)
        where e.event_seq = any (p_seqs));
begin
    perform api.stock_lock(items);
    return items;
end
$$;

-- Acts on an event of the inbox and records what came of it. Safe to call
-- again at any time: the states that it moves never go backwards.
-- Locks: stock rows, hold, payment, refund, calls, and last the event. p_locked:
-- the items whose stock is locked already; others cannot be any more.
create function api.event_apply(
    p_seq bigint, p_locked bigint[] default null)
returns text
language plpgsql as $$
declare
    e data.event;
    target data.payment;
    result record;
begin
    select * into e from data.event where event_seq = p_seq;
    if e.kind in ('ignore', 'unusable') then
        return api.event_kept(e, case e.kind
            when 'ignore' then 'ignored' else 'unusable' end, null);
    end if;
    target := api.event_payment(e);
    if target.payment_id is null then
        -- It may be about to be committed by whoever has locked the hold.
        perform api.hold_lock(e.hold);
        target := api.event_payment(e);
    end if;
    if target.payment_id is null and e.kind = 'paid' then
        target := api.payment_adopt(e, (select hold_id from data.hold
            where id = e.hold));
    end if;
    if target.payment_id is null then
        return api.event_park(e);
    end if;
    if p_locked is not null and exists (select from data.hold_line l
        where l.hold_id = target.hold_id and l.item_id <> all (p_locked))
    then
        raise exception using errcode = 'serialization_failure',
            message = 'an order has become known just now';
    end if;
    perform api.hold_lock((select id from data.hold
        where hold_id = target.hold_id));
    select * into target from data.payment
    where payment_id = target.payment_id for update;
    if e.kind = 'paid' and target.captured > 0
        and target.payment_ref <> e.payment_ref
    then
        -- The page has been paid, and this is other money.
        target := api.payment_adopt(e, target.hold_id);
        if target.payment_id is null then
            return api.event_kept(e, 'person',
                'more payments than an order can have');
        end if;
    end if;
    if e.kind = 'paid' then
        select * into result from api.payment_paid(target.payment_id,
            e.session_id, e.payment_ref, e.amount, e.currency);
    elsif e.kind in ('pending', 'failed', 'expired') then
        select * into result from api.payment_news(target.payment_id,
            e.kind, e.session_id, e.payment_ref);
    elsif e.kind = 'refund' then
        select * into result from api.refund_news(target.payment_id,
            e.key, e.refund_ref, e.state, e.amount);
    elsif e.kind = 'dispute' then
        select * into result from api.dispute_news(target, e.refund_ref,
            e.state, case when coalesce(e.currency, target.currency)
                = target.currency then nullif(e.amount, 0) end);
    else
        perform api.outbox_add('fetch', target.payment_id,
            'fetch-' || target.key, clock_timestamp());
        select 'applied' as outcome, 'looked up' as detail into result;
    end if;
    e.outcome := api.event_kept(e, result.outcome, result.detail);
    if e.kind in ('paid', 'pending') then
        -- It has told us the provider's name for the payment.
        perform api.event_unpark(target.payment_id);
    end if;
    return e.outcome;
end
$$;

-- Records what came of an event: the first that is more than "unmatched"
-- stays. What needs a person and is on no list yet gets there.
create function api.event_kept(
    p_event data.event, p_outcome text, p_detail text)
returns text
language plpgsql as $$
begin
    update data.event
    set outcome = p_outcome, detail = coalesce(p_detail, detail)
    where event_seq = p_event.event_seq
        and outcome in ('received', 'unmatched');
    if p_outcome = 'unusable' or (p_outcome = 'person'
        and p_event.kind in ('paid', 'refund', 'dispute') and not exists (
            select from data.task t
            where t.kind in ('mismatch', 'refund_failed', 'dispute',
                    'dispute_lost')
                and t.detail = p_detail and t.hold_id
                = (api.event_payment(p_event)).hold_id))
    then
        perform api.task_add('unclear', 'event ' || p_event.event_seq,
            (select hold_id from data.hold where id = p_event.hold),
            null, null, null, coalesce(p_detail, p_event.detail));
    end if;
    return p_outcome;
end
$$;

-- Whether the event speaks of a hold of ours, but of a page that is not the
-- one that its buyer was shown: a twin that a try without an answer left.
create function api.event_is_astray(p_event data.event) returns boolean
language plpgsql stable as $$
begin
    return exists (select from data.payment p
        join data.hold h using (hold_id)
        where h.id = p_event.hold);
end
$$;

-- An event that no payment of ours fits: it waits for our own record, or
-- belongs elsewhere. News of a page that nobody was shown are none.
create function api.event_park(p_event data.event) returns text
language plpgsql as $$
begin
    if not api.event_is_astray(p_event) or (p_event.payment_ref is not null
        and p_event.kind in ('refund', 'dispute'))
    then
        return api.event_kept(p_event, 'unmatched', null);
    elsif p_event.kind in ('pending', 'failed', 'expired', 'look') then
        return api.event_kept(p_event, 'ignored',
            'a page that was not opened here');
    end if;
    return api.event_kept(p_event, 'person',
        'money of an order of ours, through a page that is not');
end
$$;

-- What has waited for this payment's record: by its hold, its session or the
-- provider's name for it, which is p_payment_ref.
create function api.event_waiting(p_payment_id bigint, p_payment_ref text)
returns setof bigint
language plpgsql stable as $$
declare
    target record;
begin
    -- In an event a name has no order of its own; as h.id it would be looked
    -- for without the index.
    select p.*, h.id collate "default" as hold_name into target
    from data.payment p join data.hold h using (hold_id)
    where p.payment_id = p_payment_id;
    return query
    select e.event_seq from data.event e
    where (e.outcome = 'unmatched') is true
        and e.provider = target.provider
        and e.hold = target.hold_name
    union
    select e.event_seq from data.event e
    where (e.outcome = 'unmatched') is true
        and e.provider = target.provider
        and e.session_id = target.session_id
    union
    select e.event_seq from data.event e
    where (e.outcome = 'unmatched') is true
        and e.provider = target.provider
        and e.payment_ref = p_payment_ref
    order by 1;
end
$$;

-- Acts on what has waited for this payment's record. Stock rows and hold are
-- locked.
create function api.event_unpark(p_payment_id bigint) returns void
language plpgsql as $$
begin
    perform api.event_apply(seq) from api.event_waiting(p_payment_id,
        (select payment_ref from data.payment
            where payment_id = p_payment_id)) seq;
end
$$;

-- The same for events and records that were being written at the same moment,
-- so that neither saw the other: of the newest p_limit that wait, and of some
-- from anywhere, so that each has its turn, the first one that has its payment
-- now. One at a time: its locks are an order's.
create function api.event_unpark_late(p_limit integer) returns void
language plpgsql as $$
declare
    anywhere constant bigint := (select event_seq * random() from data.event
        where outcome = 'unmatched' order by event_seq desc limit 1);
begin
    perform api.event_apply(parked.event_seq) from (
        select w.event_seq from (
            (select e as event, e.event_seq from data.event e
            where e.outcome = 'unmatched'
            order by e.event_seq desc limit p_limit)
            union all
            (select e, e.event_seq from data.event e
            where e.outcome = 'unmatched' and e.event_seq >= anywhere
            order by e.event_seq limit p_limit / 5)) w
        where (api.event_payment(w.event)).payment_id is not null
        order by w.event_seq limit 1) parked;
end
$$;

-- The payment that an event speaks of: by our key in the metadata; by its
-- session; by the provider's name for the payment or the refund; else the
-- hold's latest, unless that is known by other names.
create function api.event_payment(p_event data.event) returns data.payment
language plpgsql stable as $$
declare
    target data.payment;
begin
    -- In two steps each, as api.payment_named.
    select * into target from (select * from data.payment
        where key = p_event.key offset 0) p
    where p.provider = p_event.provider
        and (p.session_id is null or p_event.session_id is null
            or p.session_id = p_event.session_id)
        and (p.payment_ref is null or p_event.payment_ref is null
            or p.payment_ref = p_event.payment_ref);
    if target.payment_id is null and p_event.session_id is not null then
        select * into target from data.payment p
        where p.provider = p_event.provider
            and p.session_id = p_event.session_id
            -- Else it is other money, known by its own name or not at all.
            and (p.captured = 0 or p.payment_ref is null
                or p_event.payment_ref is null
                or p.payment_ref = p_event.payment_ref);
    end if;
    if target.payment_id is null and p_event.payment_ref is not null then
        target := api.payment_named(p_event.provider, p_event.payment_ref);
    end if;
    if target.payment_id is null and p_event.session_id is not null then
        select * into target from data.payment
        where provider = p_event.provider
            and session_id = p_event.session_id;
    end if;
    if target.payment_id is null and p_event.kind = 'refund' then
        select p.* into target from (
            select payment_id from data.refund
            where refund_ref = p_event.refund_ref
            union
            select payment_id from data.refund
            where key = p_event.key) r
        cross join lateral (select * from data.payment
            where payment_id = r.payment_id offset 0) p
        where p.provider = p_event.provider
        order by p.payment_id limit 1;
    end if;
    if target.payment_id is null and p_event.hold is not null then
        select * into target from (select * from data.payment
            where hold_id = (select hold_id from data.hold
                where id = p_event.hold) offset 0) p
        where p.provider = p_event.provider
            and (p.session_id is null or p_event.session_id is null)
            and (p_event.payment_ref is null or (p.payment_ref is null
                -- What goes back may be another page's: its money tells.
                and p_event.kind not in ('refund', 'dispute')))
        order by p.attempt desc limit 1;
    end if;
    return target;
end
$$;

-- The newest events, for the command line. p_outcome may be NULL.
create function api.event_list(p_outcome text, p_limit integer)
returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select coalesce(json_agg(r order by r.seq desc), '[]')::text from (
        select e.event_seq as seq, e.provider, e.event_id, e.type, e.kind,
            e.hold, e.outcome, e.detail, e.deliveries,
            api.iso(e.received_at) as received_at
        from data.event e
        where p_outcome is null or e.outcome = p_outcome
        order by e.event_seq desc limit p_limit) r;
end;

-- How many events came to what: {"applied": 12, …}.
create function api.event_counts() returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select coalesce(json_object_agg(outcome, n order by outcome), '{}')::text
    from (select outcome, count(*) as n from data.event group by outcome) c;
end;

-- One event, by the provider's id or its number here, with its bytes as text.
-- NULL when there is none.
create function api.event_show(p_name text) returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select json_build_object(
        'seq', e.event_seq, 'provider', e.provider, 'event_id', e.event_id,
        'type', e.type, 'kind', e.kind, 'outcome', e.outcome,
        'detail', e.detail, 'deliveries', e.deliveries,
        'received_at', api.iso(e.received_at), 'key', e.key, 'hold', e.hold,
        'session', e.session_id, 'payment', e.payment_ref,
        'refund', case when e.kind <> 'dispute' then e.refund_ref end,
        'dispute', case when e.kind = 'dispute' then e.refund_ref end,
        'state', e.state, 'amount', e.amount,
        'currency', e.currency,
        'body', encode(e.body, 'escape'))::text
    from data.event e
    where e.event_id = p_name or e.event_seq::text = p_name
    order by e.event_seq limit 1;
end;

-- What to read again: one event by its id or number, or those of an outcome,
-- or all (both NULL); after p_after, in the order that they came.
create function api.event_replay_list(
    p_name text, p_outcome text, p_after bigint, p_limit integer)
returns table (seq bigint, provider text, event_id text, body bytea)
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select e.event_seq, e.provider, e.event_id, e.body from data.event e
    where e.event_seq > p_after
        and (p_name is null or e.event_id = p_name
            or e.event_seq::text = p_name)
        and (p_outcome is null or e.outcome = p_outcome)
    order by e.event_seq limit p_limit;
end;

-- Stores a fresh reading of an event's bytes and acts on it once more. What
-- has been done is not done again. NULL when there is no such event. An event
-- that could not be read before gets the id that it turns out to have, unless
-- that one has come by itself. Locks: as payment_settle_all, the stock first:
-- somebody who has it may be about to act on this event.
create function api.event_replay(
    p_seq bigint, p_event_id text, p_type text, p_kind text, p_key text,
    p_hold text, p_session_id text, p_payment_ref text, p_refund_ref text,
    p_state text, p_amount bigint, p_currency text, p_detail text)
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    e event;
begin
    perform api.event_lock(array[p_seq]);
    select * into e from event where event_seq = p_seq;
    if e.event_seq is null then
        return null;
    elsif p_kind = 'unusable' then
        return e.outcome;
    elsif p_event_id <> e.event_id and exists (select from event twin
        where twin.provider = e.provider and twin.event_id = p_event_id)
    then
        return 'repeat';
    end if;
    update event set event_id = p_event_id, type = p_type, kind = p_kind,
        key = p_key, hold = p_hold, session_id = p_session_id,
        payment_ref = p_payment_ref, refund_ref = p_refund_ref,
        state = p_state, amount = p_amount, currency = p_currency,
        outcome = case when outcome in ('ignored', 'unusable')
            then 'received' else outcome end,
        detail = case when outcome in ('ignored', 'unusable')
            then p_detail else detail end
    where event_seq = p_seq;
    if e.kind = 'unusable' then
        perform api.task_over('unclear', 'event ' || p_seq, 'read again');
    end if;
    return api.event_apply(p_seq);
end
$$;
