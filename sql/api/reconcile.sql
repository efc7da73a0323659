-- This database against the provider's books, in both directions.
--
-- A run stores what the provider lists, page by page (reconcile_begin, _page),
-- and compares it with payments, refunds and the inbox (_compare). What does
-- not agree is looked at once more at the provider, thing by thing (_next,
-- _heard): a list is old when its last page comes. With p_repair its news is
-- applied, by payment_settle like a webhook. At the end (_finish) what still
-- differs becomes a task.
--
-- Several may run this: whoever has the lease on the run goes on, others are
-- told to wait. All but _begin and _show answer NULL to who has lost it.
-- Locks: the run. What the comparison reads it does not lock.

-- Begins a run, or goes on with one that was begun at most 15 minutes ago and
-- looks back as far as is wanted: what came later is not in what it has read.
--   begun   resumed   busy (somebody is at it, until lease_ms from now unless
--   they go on)   recent (one was finished within p_rest_s)
-- It looks back to p_since, else p_back_s seconds, else a day behind the
-- start of the last finished run, at least p_least_s seconds, at most 30 days.
create function api.reconcile_begin(
    p_provider text, p_since timestamptz, p_back_s bigint, p_least_s bigint,
    p_rest_s bigint, p_repair boolean, p_restart boolean, p_by text,
    p_holder text, p_lease_ms integer,
    out outcome text, out run_id bigint, out since bigint, out list text,
    out cursor text, out listed bigint, out lease_ms bigint)
language plpgsql security definer set search_path = data, pg_temp as $$
#variable_conflict use_column
declare
    latest reconcile_run;
    moment timestamptz;
    wanted timestamptz;
begin
    -- Who has it locked is at it: a comparison may take its time.
    select * into latest from reconcile_run r
    where r.provider = p_provider and r.state = 'running'
    for update skip locked;
    moment := clock_timestamp();
    if latest.lease_until > moment and latest.holder <> p_holder
        or latest.run_id is null and exists (select from reconcile_run r
            where r.provider = p_provider and r.state = 'running')
    then
        outcome := 'busy';
        lease_ms := coalesce(api.ms_until(latest.lease_until, moment), 0);
        return;
    end if;
    wanted := api.reconcile_since(
        p_provider, p_since, p_back_s, p_least_s, moment);
    if latest.run_id is not null and (p_restart or latest.since > wanted
        or latest.started_at < moment - interval '15 minutes')
    then
        perform api.reconcile_end(latest.run_id, 'given_up');
        latest := null;
    end if;
    if latest.run_id is null and p_rest_s > 0 and exists (
        select from reconcile_run r
        where r.provider = p_provider and r.state = 'finished'
            and r.ended_at > moment - p_rest_s * interval '1 s')
    then
        outcome := 'recent';
        return;
    elsif latest.run_id is null then
        outcome := 'begun';
        insert into reconcile_run (provider, since, repair, started_by, list,
            holder, lease_until)
        values (p_provider, wanted, p_repair, p_by, 'sessions', p_holder,
            moment + p_lease_ms * interval '1 ms')
        on conflict (provider) where state = 'running' do nothing
        returning * into latest;
        if latest.run_id is null then
            outcome := 'busy';
            lease_ms := 0;
            return;
        end if;
    else
        outcome := 'resumed';
        update reconcile_run r
        set repair = p_repair, holder = p_holder,
            lease_until = moment + p_lease_ms * interval '1 ms'
        where r.run_id = latest.run_id;
    end if;
    run_id := latest.run_id;
    since := extract(epoch from latest.since)::bigint;
    list := latest.list;
    cursor := latest.cursor;
    listed := latest.sessions + latest.refunds + latest.events;
end
$$;

-- How far back a run looks, as said above.
create function api.reconcile_since(
    p_provider text, p_since timestamptz, p_back_s bigint, p_least_s bigint,
    p_now timestamptz)
returns timestamptz
language sql stable
return date_trunc('second', coalesce(p_since,
    p_now - p_back_s * interval '1 s',
    (select greatest(p_now - interval '30 days',
            least(max(r.started_at) - interval '1 day',
                p_now - p_least_s * interval '1 s'))
        from data.reconcile_run r
        where r.provider = p_provider and r.state = 'finished'
        having count(*) > 0),
    p_now - interval '30 days'));

-- Keeps the lease a while longer. The run; a row of NULLs when it is lost.
create function api.reconcile_keep(
    p_run bigint, p_holder text, p_lease_ms integer)
returns data.reconcile_run
language plpgsql as $$
declare
    kept data.reconcile_run;
begin
    update data.reconcile_run
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
    where run_id = p_run and holder = p_holder and state = 'running'
    returning * into kept;
    return kept;
end
$$;

-- Stores things as the provider tells them now; p_list NULL: each belongs
-- where its kind says. Idempotent by run, list and name.
create function api.reconcile_put(
    p_run bigint, p_list text, p_ids text[], p_kinds text[], p_keys text[],
    p_holds text[], p_sessions text[], p_payments text[], p_refunds text[],
    p_states text[], p_amounts bigint[], p_currencies text[])
returns void
language sql
begin atomic
    insert into data.reconcile_statement as s (run_id, list, ref, kind, key,
        hold, session_id, payment_ref, refund_ref, state, amount, currency,
        seen_at)
    select distinct on (named.list, named.ref) p_run, named.list, named.ref,
        t.kind, t.key, t.hold, t.session, t.payment, t.refund, t.state,
        t.amount, t.currency, clock_timestamp()
    from unnest(p_ids, p_kinds, p_keys, p_holds, p_sessions, p_payments,
            p_refunds, p_states, p_amounts, p_currencies)
        with ordinality t (id, kind, key, hold, session, payment, refund,
            state, amount, currency, nr)
    cross join lateral (select coalesce(p_list, case t.kind
            when 'refund' then 'refunds' else 'sessions' end) as list) l
    cross join lateral (select l.list, case l.list when 'events' then t.id
            when 'refunds' then t.refund else t.session end as ref) named
    where named.ref is not null and t.kind not in ('ignore', 'unusable')
    order by named.list, named.ref, t.nr desc
    on conflict (run_id, list, ref) do update
        set kind = excluded.kind, key = excluded.key, hold = excluded.hold,
            session_id = excluded.session_id,
            payment_ref = excluded.payment_ref,
            refund_ref = excluded.refund_ref, state = excluded.state,
            amount = excluded.amount, currency = excluded.currency;
end;

-- Stores a page of a list, and where the next one begins (NULL: that was the
-- last one). Idempotent: a page that comes twice moves nothing.
-- Answers what is to be read next: list and cursor; no list: all are read.
create function api.reconcile_page(
    p_run bigint, p_holder text, p_lease_ms integer, p_list text,
    p_cursor text, p_next text, p_ids text[], p_kinds text[], p_keys text[],
    p_holds text[], p_sessions text[], p_payments text[], p_refunds text[],
    p_states text[], p_amounts bigint[], p_currencies text[],
    out kept boolean, out list text, out cursor text)
language plpgsql security definer set search_path = data, pg_temp as $$
#variable_conflict use_column
declare
    run reconcile_run := api.reconcile_keep(p_run, p_holder, p_lease_ms);
begin
    kept := run.run_id is not null;
    if run.list = p_list and run.cursor is not distinct from p_cursor then
        perform api.reconcile_put(p_run, p_list, p_ids, p_kinds, p_keys,
            p_holds, p_sessions, p_payments, p_refunds, p_states, p_amounts,
            p_currencies);
        update reconcile_run r
        set cursor = p_next,
            list = case when p_next is not null then p_list
                when p_list = 'sessions' then 'refunds'
                when p_list = 'refunds' then 'events' end,
            sessions = r.sessions + case p_list when 'sessions'
                then cardinality(p_ids) else 0 end,
            refunds = r.refunds + case p_list when 'refunds'
                then cardinality(p_ids) else 0 end,
            events = r.events + case p_list when 'events'
                then cardinality(p_ids) else 0 end
        where r.run_id = p_run returning * into run;
    end if;
    list := run.list;
    cursor := run.cursor;
end
$$;

-- The next difference to be looked at: what the provider is to be asked for,
-- the first of event_id, refund_ref, session_id that is set. difference_id
-- NULL: none, for now. Money first; news that did not reach us is fetched only
-- to be applied.
create function api.reconcile_next(
    p_run bigint, p_holder text, p_lease_ms integer, p_grace_ms bigint,
    out kept boolean, out difference_id bigint, out event_id text,
    out refund_ref text, out session_id text, out payment_ref text,
    out key text, out payment_key text, out hold text)
language plpgsql security definer set search_path = data, pg_temp as $$
#variable_conflict use_column
declare
    run reconcile_run := api.reconcile_keep(p_run, p_holder, p_lease_ms);
    old timestamptz := clock_timestamp() - p_grace_ms * interval '1 ms';
begin
    kept := run.run_id is not null;
    select d.difference_id,
        case when d.what = 'event' then d.subject end,
        case when d.what ~ '^refund' then d.subject end,
        case when d.what !~ '^(refund|event)' then coalesce(p.session_id,
            (select s.session_id from reconcile_statement s
                where s.run_id = p_run and s.list = 'sessions'
                    and s.ref = d.subject)) end,
        coalesce(p.payment_ref, (select s.payment_ref
            from reconcile_statement s
            where s.run_id = p_run and s.list = 'refunds'
                and s.ref = d.subject)),
        coalesce(r.key, p.key), p.key, h.id
    into difference_id, event_id, refund_ref, session_id, payment_ref, key,
        payment_key, hold
    from reconcile_difference d
    left join payment p using (payment_id)
    left join refund r using (refund_id)
    left join hold h on h.hold_id = d.hold_id
    where kept and d.run_id = p_run and d.ended_at is null
        and d.asked_at is null
        and (d.fresh_since is null or d.fresh_since <= old)
        and (run.repair or d.what <> 'event')
        -- Only known by our key: there is nothing to ask for.
        and not (d.what = 'paid_here' and p.session_id is null)
        -- It was asked for before, and somebody is at it.
        and not (d.what in ('paid_here', 'refund_here') and exists (
            select from task t where t.kind = 'difference'
                and t.subject = d.what || ' ' || d.subject
                and t.detail = api.reconcile_words(d.here, d.there)
                and t.settled_at is null))
    order by d.what = 'event', d.difference_id limit 1;
end
$$;

-- Stores what the provider says of it now, and what came of the news (NULL:
-- it was not applied). Empty arrays: there is no news, or no such thing.
create function api.reconcile_heard(
    p_run bigint, p_holder text, p_lease_ms integer, p_difference bigint,
    p_outcome text, p_ids text[], p_kinds text[], p_keys text[],
    p_holds text[], p_sessions text[], p_payments text[], p_refunds text[],
    p_states text[], p_amounts bigint[], p_currencies text[])
returns boolean
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    run reconcile_run := api.reconcile_keep(p_run, p_holder, p_lease_ms);
begin
    if run.run_id is null then
        return false;
    end if;
    update reconcile_difference
    set asked_at = clock_timestamp(), outcome = p_outcome
    where difference_id = p_difference and run_id = p_run;
    perform api.reconcile_put(p_run, null, p_ids, p_kinds, p_keys, p_holds,
        p_sessions, p_payments, p_refunds, p_states, p_amounts,
        p_currencies);
    return true;
end
$$;

-- The run is over. With repair, each difference that is left becomes a task;
-- the task of one that is no more is settled. The statement goes, the
-- differences stay. kept false: the lease is lost, nothing was done.
create function api.reconcile_finish(
    p_run bigint, p_holder text, p_lease_ms integer,
    out kept boolean, out differ bigint, out repaired bigint)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    run reconcile_run := api.reconcile_keep(p_run, p_holder, p_lease_ms);
begin
    kept := run.run_id is not null;
    if not kept then
        return;
    end if;
    if run.repair then
        perform api.task_add('difference', d.what || ' ' || d.subject,
            d.hold_id, d.payment_id, d.refund_id, null,
            api.reconcile_words(d.here, d.there))
        from reconcile_difference d
        where d.run_id = p_run and d.ended_at is null
            -- That one is on the list under its own name.
            and not (d.what = 'amount' and exists (select from task t
                where t.kind = 'mismatch' and t.payment_id = d.payment_id));
    end if;
    perform api.task_over('difference', t.subject, 'the books agree again')
    from task t join hold h using (hold_id)
    where t.kind = 'difference' and t.settled_at is null
        -- What belongs to a younger hold is younger, too: it was looked at.
        and h.created_at >= run.since
        and h.created_at < run.started_at - interval '1 minute'
        and exists (select from payment p where p.hold_id = h.hold_id
            and p.provider = run.provider)
        and not exists (select from reconcile_difference d
            where d.run_id = p_run and d.ended_at is null
                and t.subject = d.what || ' ' || d.subject);
    select count(*) filter (where d.ended_at is null),
        count(*) filter (where d.ended_at is not null)
    into differ, repaired
    from reconcile_difference d where d.run_id = p_run;
    perform api.reconcile_end(p_run, 'finished');
end
$$;

create function api.reconcile_end(p_run bigint, p_state text) returns void
language sql
begin atomic
    delete from data.reconcile_statement where run_id = p_run;
    update data.reconcile_run
    set state = p_state, ended_at = clock_timestamp(), list = null,
        cursor = null, holder = null, lease_until = null
    where run_id = p_run;
end;

-- Whoever was at it stops: somebody else may go on at once.
create function api.reconcile_release(p_run bigint, p_holder text)
returns void
language sql security definer set search_path = data, pg_temp
begin atomic
    update data.reconcile_run set holder = null, lease_until = null
    where run_id = p_run and holder = p_holder;
end;

-- A run and what it found, as JSON; p_run NULL: the last one of the provider
-- that was finished. NULL when there is none.
create function api.reconcile_show(p_provider text, p_run bigint)
returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select json_build_object('run', r.run_id, 'provider', r.provider,
        'state', r.state, 'since', api.iso(r.since), 'repair', r.repair,
        'by', r.started_by, 'started_at', api.iso(r.started_at),
        'ended_at', api.iso(r.ended_at), 'sessions', r.sessions,
        'refunds', r.refunds, 'events', r.events,
        'differences', (select coalesce(json_agg(json_build_object(
                'what', d.what, 'words', case d.what
                    when 'paid_there' then 'paid there, not here'
                    when 'paid_here' then 'paid here, not there'
                    when 'pending_there' then 'on its way there, not here'
                    when 'amount' then 'the amount'
                    when 'refund_there' then 'refunded there, not here'
                    when 'refund_here' then 'refunded here, not there'
                    when 'refund_state' then 'the refund''s state'
                    when 'refund_amount' then 'the refund''s amount'
                    else 'news that did not reach us' end,
                'subject', d.subject,
                'order', 'ord_' || d.hold_id, 'hold', h.id,
                'here', d.here, 'there', d.there, 'outcome', d.outcome,
                'state', case when d.ended_at is null then 'open'
                    else 'repaired' end,
                'task', t.task_id)
                order by d.ended_at is not null, d.difference_id), '[]')
            from data.reconcile_difference d
            left join data.hold h using (hold_id)
            left join data.task t on t.kind = 'difference'
                and t.subject = d.what || ' ' || d.subject
                and d.ended_at is null and t.settled_at is null
            where d.run_id = r.run_id))::text
    from data.reconcile_run r
    where r.provider = p_provider and case when p_run is null
        then r.state = 'finished' else r.run_id = p_run end
    order by r.run_id desc limit 1;
end;
