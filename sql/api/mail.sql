-- Mail that is owed, and the courier who sends it: a row is claimed (that
-- moves next_try on: it comes back if the courier dies), the mail goes out
-- outside any transaction, and what came of it is recorded. Killed in between,
-- it goes out again under the same Message-ID.
--
-- Locks: mail rows, the last of what they are about: whoever owes a mail has the
-- hold or task of it locked already, and the courier reads those without locks.
-- Mail that is given up is a matter of its own: that row, then its task. Whoever
-- settles that locks it, and then such mail alone as was given up before.

-- Owes the buyer of a hold a mail of this kind, once for each refund that it
-- is about (p_refund_id may be NULL); nothing when the buyer left no address.
-- Part of the caller's transaction: what is rolled back is not told.
create function api.mail_buyer(
    p_hold_id bigint, p_kind text, p_refund_id bigint)
returns void
language plpgsql as $$
begin
    insert into data.mail (kind, hold_id, refund_id, next_try)
    select p_kind, h.hold_id, p_refund_id, clock_timestamp()
    from data.hold h where h.hold_id = p_hold_id and h.email <> ''
    on conflict do nothing;
    if found then
        perform pg_notify('lastpair_courier', '');
    end if;
end
$$;

-- Owes the operator a mail about a task; once more, as a new mail, when the
-- matter has come up again. One that is being sent at this moment tells of what
-- was before: its tries begin again, so that what comes of it does not count.
create function api.mail_operator(p_task_id bigint) returns void
language plpgsql as $$
begin
    insert into data.mail as m (kind, task_id, next_try)
    values ('task', p_task_id, clock_timestamp())
    on conflict (task_id) do update
        set try = 0, next_try = clock_timestamp(), stuck = false,
            last_error = null, created_at = clock_timestamp(), done_at = null;
    perform pg_notify('lastpair_courier', '');
end
$$;

-- Whether what a mail would say is not true any more: another mail says, or
-- will say, what has become of it.
create function api.mail_is_over(p_mail data.mail) returns boolean
language sql stable
return case
    when p_mail.kind = 'task' then (select t.settled_at is not null
        from data.task t where t.task_id = p_mail.task_id)
    when p_mail.kind in ('paid', 'paid_late') then (select h.state <> 'paid'
        from data.hold h where h.hold_id = p_mail.hold_id)
    when p_mail.kind = 'pending' then not exists (select from data.payment p
            where p.hold_id = p_mail.hold_id and p.state = 'checking')
    -- The money came after all, or is on its way again; or the buyer is still
    -- at another pay page.
    when p_mail.kind = 'payment_failed' then exists (select
        from data.hold h left join data.payment p on p.hold_id = h.hold_id
            and p.state in ('checking', 'paid', 'mismatch')
        where h.hold_id = p_mail.hold_id and (p.payment_id is not null
            or (h.state = 'held' and h.expires_at > clock_timestamp())))
    else not exists (select from data.refund r
        where r.refund_id = p_mail.refund_id and r.state = any (
            case p_mail.kind when 'refund_owed' then '{owed,pending}'
                when 'refunded' then '{succeeded}'
                else '{failed}' end::text[])) end;

-- All that a mail says, as things are now. `mail` names it: the same at each
-- try, and no other mail's. No pay page's address, no key.
create function api.mail_document(p_mail data.mail) returns text
language sql stable
return (select json_build_object(
        'mail', concat_ws('-', p_mail.kind, p_mail.mail_id,
            (extract(epoch from p_mail.created_at) * 1000000)::bigint),
        'order', 'ord_' || h.hold_id,
        'hold', h.id,
        'state', h.state,
        'lines', (select json_agg(json_build_object(
                'title', i.title, 'qty', l.qty) order by i.sku)
            from (select item_id, sum(qty) as qty from data.hold_line
                where hold_id = h.hold_id group by item_id) l
            join data.item i using (item_id)),
        'price', json_build_object(
            'amount', h.amount, 'currency', h.currency),
        'late', (select p.late from data.payment p
            where p.hold_id = h.hold_id and p.late is not null
            order by p.attempt desc limit 1),
        'refund', (select json_build_object('state', r.state,
                'reason', r.reason, 'amount', r.amount,
                'currency', p.currency)
            from data.refund r join data.payment p using (payment_id)
            where r.refund_id = p_mail.refund_id),
        'task', (select json_build_object('task', t.task_id,
                'kind', t.kind, 'subject', t.subject, 'detail', t.detail,
                'order', 'ord_' || t.hold_id)
            from data.task t where t.task_id = p_mail.task_id))::text
    from (values (p_mail.hold_id)) m (hold_id)
    left join data.hold h on h.hold_id = m.hold_id);

-- Claims up to p_limit mails that are due, oldest first, with whom they go to
-- (NULL: the operator) and all that they say; a claimed row comes back after
-- p_lease_ms unless its outcome is recorded. Mails that are over are done
-- without being sent. Several couriers are harmless.
create function api.courier_claim(p_limit integer, p_lease_ms integer)
returns table (mail_id bigint, kind text, try integer, recipient text,
    document text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    moment timestamptz := clock_timestamp();
begin
    return query
    with due as (
        select m.mail_id from mail m
        where m.done_at is null and not m.stuck and m.next_try <= moment
        order by m.next_try limit p_limit for update skip locked),
    claimed as (
        update mail m
        set try = m.try + 1,
            next_try = clock_timestamp() + p_lease_ms * interval '1 ms',
            done_at = case when api.mail_is_over(m) then clock_timestamp() end
        from due where m.mail_id = due.mail_id
        returning m)
    select (c.m).mail_id, (c.m).kind, (c.m).try,
        (select h.email from hold h where h.hold_id = (c.m).hold_id),
        api.mail_document(c.m)
    from claimed c where (c.m).done_at is null
    order by (c.m).mail_id;
end
$$;

-- Milliseconds until a mail is due: 0 when one is, at most p_most.
create function api.courier_wait(p_most integer) returns integer
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select least(p_most, coalesce(api.ms_until(min(next_try),
        clock_timestamp()), p_most))::integer
    from data.mail where done_at is null and not stuck;
end;

-- The mail has been handed in. Again: changes nothing.
create function api.courier_sent(p_mail_id bigint) returns void
language sql security definer set search_path = data, pg_temp
begin atomic
    update data.mail set done_at = clock_timestamp(), last_error = null
    where mail_id = p_mail_id and done_at is null and try > 0;
end;

-- It could not be handed in: try again in p_delay_ms. After p_tries tries the
-- row is stuck, for a person. True when it is; NULL when it is done already.
create function api.courier_retry(
    p_mail_id bigint, p_error text, p_delay_ms bigint, p_tries integer)
returns boolean
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target mail;
begin
    update mail
    set next_try = clock_timestamp() + p_delay_ms * interval '1 ms',
        last_error = left(p_error, 500), stuck = try >= p_tries
    where mail_id = p_mail_id and done_at is null and not stuck
    returning * into target;
    if target.stuck then
        perform api.mail_give_up(target);
    end if;
    return target.stuck;
end
$$;

-- The mail server will not have it, as for an address that there is not: the
-- row is stuck at once.
create function api.courier_refused(p_mail_id bigint, p_error text)
returns void
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target mail;
begin
    update mail set stuck = true, last_error = left(p_error, 500)
    where mail_id = p_mail_id and done_at is null and not stuck and try > 0
    returning * into target;
    if target.mail_id is not null then
        perform api.mail_give_up(target);
    end if;
end
$$;

-- A mail is not tried any more, and a person is told: of all such mail to
-- buyers once, of all to the operator once, as many fail for one reason.
create function api.mail_give_up(p_mail data.mail) returns void
language plpgsql as $$
begin
    perform api.task_add('mail', case when p_mail.hold_id is null
            then 'mail to the operator' else 'mail to buyers' end,
        null, null, null, null, format('of %s, perhaps of others, too: %s',
            coalesce('ord_' || p_mail.hold_id, 'task ' || p_mail.task_id),
            p_mail.last_error));
end
$$;

-- What such a task, which is locked, is about is sent again, or not at all.
create function api.mail_settle(p_task data.task, p_again boolean)
returns void
language plpgsql as $$
begin
    update data.mail set stuck = stuck and not p_again,
        try = case when p_again then 0 else try end,
        next_try = clock_timestamp(),
        done_at = case when not p_again then clock_timestamp() end
    where stuck and done_at is null and p_task.kind = 'mail'
        and (hold_id is null) = (p_task.subject = 'mail to the operator');
    if found then
        perform pg_notify('lastpair_courier', '');
    end if;
end
$$;

-- Nobody has set up mail, or said where the operator's goes: it will not be
-- sent later either, when its news is old.
create function api.courier_void(p_mail_id bigint) returns void
language sql security definer set search_path = data, pg_temp
begin atomic
    update data.mail
    set done_at = clock_timestamp(), last_error = 'no mail is set up'
    where mail_id = p_mail_id and done_at is null;
end;
