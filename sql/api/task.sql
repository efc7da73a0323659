-- What waits for a person: each matter once, until somebody says how it was
-- settled. The operator is told by mail when one is written down, and again when
-- it comes up again after somebody has settled it: that is news, as whoever
-- settled it thinks that it is over. What is open is told once, whatever else
-- happens in it. That the operator's mail fails is on the list alone.

-- Writes a matter down; again only if it was settled meanwhile. Idempotent by
-- kind and subject.
create function api.task_add(
    p_kind text, p_subject text, p_hold_id bigint, p_payment_id bigint,
    p_refund_id bigint, p_outbox_id bigint, p_detail text)
returns void
language plpgsql as $$
declare
    made bigint;
begin
    insert into data.task as t (kind, subject, hold_id, payment_id,
        refund_id, outbox_id, detail)
    values (p_kind, p_subject, p_hold_id, p_payment_id, p_refund_id,
        p_outbox_id, p_detail)
    on conflict (kind, subject) do update
        set settled_at = null, settled_by = null, detail = excluded.detail,
            created_at = clock_timestamp()
        where t.settled_at is not null
            and t.kind in ('stuck', 'refused', 'difference', 'mail',
                'not_set_up')
    returning task_id into made;
    if made is not null and p_subject <> 'mail to the operator' then
        perform api.mail_operator(made);
    end if;
end
$$;

-- The matter has settled itself.
create function api.task_over(p_kind text, p_subject text, p_note text)
returns void
language plpgsql as $$
begin
    update data.task set settled_at = clock_timestamp(),
        settled_by = 'lastpair', note = p_note
    where kind = p_kind and subject = p_subject and settled_at is null;
end
$$;

-- What is open, oldest first; p_all: also what was settled. A JSON array.
create function api.task_list(p_all boolean) returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select coalesce(json_agg(json_build_object('task', t.task_id,
            'kind', t.kind, 'subject', t.subject, 'hold', h.id,
            'order', 'ord_' || h.hold_id, 'detail', t.detail,
            'created_at', api.iso(t.created_at),
            'settled_at', api.iso(t.settled_at),
            'settled_by', t.settled_by, 'note', t.note)
            order by t.task_id), '[]')::text
    from data.task t left join data.hold h using (hold_id)
    where p_all or t.settled_at is null;
end;

-- A person has dealt with it: done, no-such-task, settled (before). Mail that it
-- is about is not sent any more.
create function api.task_settle(p_task bigint, p_note text, p_by text)
returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target task;
begin
    select * into target from task where task_id = p_task for update;
    if target.task_id is null then
        return 'no-such-task';
    elsif target.settled_at is not null then
        return 'settled';
    end if;
    update task set settled_at = clock_timestamp(), settled_by = p_by,
        note = p_note
    where task_id = p_task;
    perform api.mail_settle(target, false);
    return 'done';
end
$$;

-- Makes a call once more that was given up, under its key, which is a new one
-- if the provider has said no under the one before; or sends mail again that
-- was: done, mail (sent again), no-such-task, settled (before), not-a-call
-- (nothing to call for). Locks the call, then the task, then such mail.
create function api.task_retry(p_task bigint, p_by text) returns text
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    target task;
begin
    perform 1 from outbox where outbox_id = (
        select outbox_id from task where task_id = p_task) for update;
    select * into target from task where task_id = p_task for update;
    if target.task_id is null then
        return 'no-such-task';
    elsif target.settled_at is not null then
        return 'settled';
    end if;
    if target.kind = 'mail' then
        perform api.mail_settle(target, true);
    else
        update outbox set stuck = false, try = 0, next_try = clock_timestamp()
        where outbox_id = target.outbox_id and stuck and done_at is null;
        if not found then
            return 'not-a-call';
        end if;
        perform pg_notify('lastpair_cashier', '');
    end if;
    update task set settled_at = clock_timestamp(), settled_by = p_by,
        note = case target.kind when 'mail' then 'sent again'
            else 'called again' end
    where task_id = p_task;
    return case target.kind when 'mail' then 'mail' else 'done' end;
end
$$;
