-- Calls to a provider that is not set up any more. Refunds among them become a
-- task each, through the cashier; of all others there is one task, while any
-- has been due for a minute: a cashier elsewhere may have the provider set up.

-- Has that task written down, kept up to date or settled, as things are. How
-- many calls wait. Settled by a person, it is not written down again for the
-- same calls. p_set_up: they go out, so nobody is needed.
create function api.cashier_stray(p_provider text, p_set_up boolean)
returns bigint
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    due constant timestamptz := clock_timestamp() - interval '1 minute';
    subject_is constant text := 'provider ' || p_provider;
    waits record;
    words text;
begin
    -- Most shops have never had another provider.
    p_set_up := p_set_up or not exists (select from payment
        where provider = p_provider);
    select count(*) as n, max(o.created_at) as last,
        count(*) filter (where o.kind = 'open') as opens,
        count(*) filter (where o.kind = 'expire') as ends,
        count(*) filter (where o.kind = 'fetch') as looks
    into waits
    from outbox o
    where not p_set_up and o.kind = any ('{open,expire,fetch}')
        and o.done_at is null and not o.stuck and o.next_try <= due
        and api.payment_provider(o.payment_id) = p_provider;
    if waits.n = 0 then
        perform api.task_over('not_set_up', subject_is, 'nothing waits');
        return 0;
    end if;
    words := format('no settings for %s: %s calls wait (open a page %s, end '
        'a page %s, look at a payment %s)', p_provider, waits.n, waits.opens,
        waits.ends, waits.looks);
    update task set detail = words
    where kind = 'not_set_up' and subject = subject_is and settled_at is null;
    if not found then
        perform api.task_add('not_set_up', subject_is, null, null, null, null,
            words)
        where not exists (select from task
            where kind = 'not_set_up' and subject = subject_is
                and settled_at > waits.last);
    end if;
    return waits.n;
end
$$;
