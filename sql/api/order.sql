-- Orders, as the operator looks at them.

-- The number of an order that is named by it (ord_12) or by its hold's id. NULL
-- when there is none.
create function api.order_number(p_name text) returns bigint
language plpgsql stable as $$
begin
    if p_name ~ '^ord_[0-9]{1,18}$' then
        return (select hold_id from data.hold
            where hold_id = substr(p_name, 5)::bigint);
    end if;
    return (select hold_id from data.hold where id = p_name);
end
$$;

-- An order with its payments, refunds, events and tasks. NULL when there is
-- none of that name.
create function api.order_show(p_name text) returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select json_build_object(
        'hold', api.hold_document(
            h.hold_id, true, null, clock_timestamp())::json,
        'created_at', api.iso(h.created_at),
        'ended_at', api.iso(h.ended_at),
        'payments', (select coalesce(json_agg(json_build_object(
                'provider', p.provider, 'state', p.state, 'key', p.key,
                'session', p.session_id, 'payment', p.payment_ref,
                'captured', p.captured, 'paid_at', api.iso(p.paid_at),
                'late', p.late,
                'dispute', api.dispute_summary(p.payment_id),
                'disputes', (select json_agg(json_build_object(
                        'dispute', d.ref, 'state', d.state,
                        'amount', d.amount,
                        'opened_at', api.iso(d.opened_at),
                        'ended_at', api.iso(d.ended_at))
                        order by d.dispute_id)
                    from data.dispute d where d.payment_id = p.payment_id),
                'refunds', (select coalesce(json_agg(json_build_object(
                        'state', r.state, 'reason', r.reason,
                        'refund', r.refund_ref, 'amount', r.amount,
                        'key', r.key, 'asked_by', r.asked_by)
                        order by r.refund_id), '[]')
                    from data.refund r where r.payment_id = p.payment_id),
                'calls', (select json_agg(json_build_object(
                        'kind', o.kind, 'try', o.try, 'stuck', o.stuck,
                        'error', o.last_error, 'done_at', api.iso(o.done_at))
                        order by o.outbox_id)
                    from data.outbox o where o.payment_id = p.payment_id))
                order by p.attempt), '[]')
            from data.payment p where p.hold_id = h.hold_id),
        'events', (select coalesce(json_agg(json_build_object(
                'event', e.event_id, 'type', e.type, 'outcome', e.outcome,
                'detail', e.detail, 'deliveries', e.deliveries,
                'received_at', api.iso(e.received_at))
                order by e.event_seq), '[]')
            from data.event e where e.hold = h.id),
        'tasks', (select coalesce(json_agg(json_build_object(
                'task', t.task_id, 'kind', t.kind, 'detail', t.detail,
                'settled_at', api.iso(t.settled_at), 'note', t.note)
                order by t.task_id), '[]')
            from data.task t where t.hold_id = h.hold_id))::text
    from data.hold h
    where h.hold_id = api.order_number(p_name);
end;

-- The newest orders that money came for: what was asked, came and went back.
-- p_state (of the hold) and p_sku may be NULL.
create function api.order_list(p_state text, p_sku text, p_limit integer)
returns text
language sql stable security definer set search_path = data, pg_temp
begin atomic
    select coalesce(json_agg(r order by r.number desc), '[]')::text
    from (select h.hold_id as number, 'ord_' || h.hold_id as order,
            h.id as hold, h.state, h.reason, h.amount, h.currency,
            p.captured, p.refunded, api.iso(p.paid_at) as paid_at
        from data.hold h
        cross join lateral (select sum(q.captured) as captured,
                sum(r.returned) as refunded, min(q.paid_at) as paid_at
            from data.payment q
            cross join lateral (select coalesce(sum(f.amount), 0) as returned
                from data.refund f where f.payment_id = q.payment_id
                    and f.state not in ('failed', 'void')) r
            where q.hold_id = h.hold_id and q.captured > 0) p
        where p.captured > 0 and (p_state is null or h.state = p_state)
            and (p_sku is null or exists (select from data.hold_line l
                join data.item i using (item_id)
                where l.hold_id = h.hold_id and i.sku = p_sku))
        order by h.hold_id desc limit p_limit) r;
end;
