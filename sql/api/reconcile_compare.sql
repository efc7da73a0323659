-- Where the provider's books and ours do not agree: what a run has listed and
-- heard, compared with payments, refunds and the inbox, in one statement.

-- Both sides of a difference, as a task says them.
create function api.reconcile_words(p_here text, p_there text) returns text
language sql immutable
return 'here: ' || p_here || '; at the provider: ' || p_there;

-- What does not agree, as far as the run knows. A thing of ours that was not
-- listed counts when the lists go back to it and it was there a minute before
-- the run began. What is not of our making is left out, and so is what
-- somebody has settled as it is. fresh_since: its news may be under way since
-- then.
create function api.reconcile_differences(p_run bigint)
returns table (what text, subject text, hold_id bigint, payment_id bigint,
    refund_id bigint, here text, there text, fresh_since timestamptz)
language sql stable
begin atomic
    with run as (select r.* from data.reconcile_run r
        where r.run_id = p_run),
    session as (
        select s.ref, s.kind, s.amount, s.currency, s.seen_at,
            concat_ws(' ', s.kind, s.amount, s.currency) as there,
            p.payment_id, coalesce(p.hold_id, h.hold_id) as hold_id,
            p.state, p.captured, p.amount as asked,
            p.currency as asked_currency, p.session_expires_at
        from run join data.reconcile_statement s
            on s.run_id = run.run_id and s.list = 'sessions'
        left join data.hold h on h.id = s.hold
        -- By the money's own name first: a page may have been opened twice.
        left join data.payment p on p.payment_id = coalesce(
            (select min(known.payment_id) from data.payment known
                where known.provider = run.provider
                    and known.payment_ref = s.payment_ref),
            (select known.payment_id from data.payment known
                where known.provider = run.provider
                    and known.session_id = s.session_id),
            (select known.payment_id from data.payment known
                where known.key = s.key and known.session_id is null))
        where p.payment_id is not null or s.hold is not null
            or s.key is not null),
    refund as (
        select s.ref, s.state, s.amount, s.currency, s.seen_at,
            concat_ws(' ', s.state, s.amount, s.currency) as there,
            p.payment_id, coalesce(p.hold_id, h.hold_id) as hold_id,
            p.currency as paid_currency, r.refund_id, r.state as here,
            r.amount as given
        from run join data.reconcile_statement s
            on s.run_id = run.run_id and s.list = 'refunds'
        left join data.hold h on h.id = s.hold
        left join data.refund r on r.refund_id = coalesce(
            (select known.refund_id from data.refund known
                where known.refund_ref = s.refund_ref),
            (select known.refund_id from data.refund known
                where known.key = s.key and known.refund_ref is null))
        left join data.payment p on p.payment_id = coalesce(r.payment_id,
            (select min(known.payment_id) from data.payment known
                where known.provider = run.provider
                    and known.payment_ref = s.payment_ref))
        where p.payment_id is not null or s.hold is not null
            or s.key is not null),
    event as (
        select s.ref, s.kind, s.seen_at, p.payment_id,
            coalesce(p.hold_id, h.hold_id) as hold_id
        from run join data.reconcile_statement s
            on s.run_id = run.run_id and s.list = 'events'
        left join data.hold h on h.id = s.hold
        left join data.payment p on p.payment_id = coalesce(
            (select known.payment_id from data.payment known
                where known.provider = run.provider
                    and known.session_id = s.session_id),
            (select min(known.payment_id) from data.payment known
                where known.provider = run.provider
                    and known.payment_ref = s.payment_ref))
        where (p.payment_id is not null or s.hold is not null
                or s.key is not null)
            and not exists (select from data.event e
                where e.provider = run.provider and e.event_id = s.ref)),
    found as (
        select case s.kind when 'paid' then 'paid_there'
                else 'pending_there' end as what, s.ref as subject,
            s.hold_id, s.payment_id, null::bigint as refund_id,
            coalesce(s.state, 'nothing') as here, s.there,
            -- A page that ended a while ago was not paid just now.
            case when s.session_expires_at < s.seen_at - interval '1 hour'
                then null else s.seen_at end as fresh_since
        from session s
        where (s.kind = 'paid'
                and coalesce(s.state, '') not in ('paid', 'mismatch'))
            or (s.kind = 'pending' and (s.state is null
                or s.state in ('opening', 'open')))
        union all
        select 'amount', s.ref, s.hold_id, s.payment_id, null,
            concat_ws(' ', 'paid', s.captured, 'of', s.asked,
                s.asked_currency), s.there, null
        from session s
        where s.kind = 'paid' and s.state in ('paid', 'mismatch')
            and (s.captured <> s.amount or s.asked <> s.amount
                or s.asked_currency <> s.currency)
        union all
        select 'paid_here', s.ref, s.hold_id, s.payment_id, null,
            concat_ws(' ', 'paid', s.captured, s.asked_currency), s.there,
            null
        from session s
        where s.kind <> 'paid' and s.state in ('paid', 'mismatch')
        union all
        select 'paid_here', coalesce(p.session_id, p.key), p.hold_id,
            p.payment_id, null,
            concat_ws(' ', 'paid', p.captured, p.currency), 'nothing', null
        from run join data.payment p on p.provider = run.provider
            and p.paid_at >= run.since
            and p.paid_at < run.started_at - interval '1 minute'
        where p.state in ('paid', 'mismatch')
            and coalesce(p.opened_at, p.created_at) >= run.since
            and not exists (select from session s
                where s.payment_id = p.payment_id)
        union all
        select 'refund_there', r.ref, r.hold_id, r.payment_id, null,
            'nothing', r.there, r.seen_at
        from refund r where r.refund_id is null
        union all
        select 'refund_state', r.ref, r.hold_id, r.payment_id, r.refund_id,
            r.here, r.state,
            -- Ours is ahead: only the page is old.
            case when (r.here, r.state) in (('succeeded', 'pending'),
                ('failed', 'pending'), ('failed', 'succeeded'))
                then null else r.seen_at end
        from refund r where r.here <> r.state
        union all
        select 'refund_amount', r.ref, r.hold_id, r.payment_id, r.refund_id,
            concat_ws(' ', r.given, r.paid_currency), r.there, null
        from refund r
        where r.given <> r.amount or (r.refund_id is not null
            and r.paid_currency <> r.currency)
        union all
        select 'refund_here', r.refund_ref, p.hold_id, p.payment_id,
            r.refund_id, concat_ws(' ', r.state, r.amount, p.currency),
            'nothing', null
        from run join data.refund r on r.created_at >= run.since
            and r.created_at < run.started_at - interval '1 minute'
        join data.payment p on p.payment_id = r.payment_id
            and p.provider = run.provider
        where r.refund_ref is not null and not exists (
            select from refund s where s.ref = r.refund_ref)
        union all
        select 'event', e.ref, e.hold_id, e.payment_id, null, 'nothing',
            e.kind, e.seen_at
        from event e)
    select f.what, f.subject, f.hold_id, f.payment_id, f.refund_id, f.here,
        f.there, f.fresh_since
    from found f
    where not exists (select from data.task t
        where t.settled_at is not null
            and ((t.kind = 'difference'
                    and t.subject = f.what || ' ' || f.subject
                    and t.detail = api.reconcile_words(f.here, f.there))
                or (t.kind = 'mismatch' and f.what = 'amount'
                    and t.payment_id = f.payment_id)));
end;

-- Compares, and keeps what differs. What agrees now is marked as repaired if
-- its news was applied; else it never was a difference, its news was under
-- way, and the row goes.
-- kept false: the lease is lost. differ: how many differ; wait_ms: how long
-- until none of those that nobody has asked about is younger than p_grace_ms.
create function api.reconcile_compare(
    p_run bigint, p_holder text, p_lease_ms integer, p_grace_ms bigint,
    out kept boolean, out differ bigint, out wait_ms bigint)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    run reconcile_run := api.reconcile_keep(p_run, p_holder, p_lease_ms);
    moment timestamptz := clock_timestamp();
begin
    kept := run.run_id is not null;
    if not kept then
        return;
    end if;
    with found as materialized (
        select * from api.reconcile_differences(p_run)),
    stored as (
        insert into reconcile_difference as d (run_id, what, subject, hold_id,
            payment_id, refund_id, here, there, fresh_since)
        select p_run, f.what, f.subject, f.hold_id, f.payment_id,
            f.refund_id, f.here, f.there, f.fresh_since
        from found f order by f.hold_id, f.what, f.subject
        on conflict (run_id, what, subject) do update
            set hold_id = excluded.hold_id, payment_id = excluded.payment_id,
                refund_id = excluded.refund_id, here = excluded.here,
                there = excluded.there, ended_at = null),
    gone as (
        delete from reconcile_difference d
        where d.run_id = p_run and d.ended_at is null and d.outcome is null
            and not exists (select from found f
                where f.what = d.what and f.subject = d.subject))
    update reconcile_difference d set ended_at = moment
    where d.run_id = p_run and d.ended_at is null and d.outcome is not null
        and not exists (select from found f
            where f.what = d.what and f.subject = d.subject);
    -- It may have taken longer than the lease.
    perform api.reconcile_keep(p_run, p_holder, p_lease_ms);
    select count(*), coalesce(max(api.ms_until(
            d.fresh_since + p_grace_ms * interval '1 ms', moment))
            filter (where d.asked_at is null), 0)
    into differ, wait_ms
    from reconcile_difference d
    where d.run_id = p_run and d.ended_at is null;
end
$$;
