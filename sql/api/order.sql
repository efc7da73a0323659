-- Orders, as the operator looks at them.

-- An order with its payments, refund and events; by its number or its hold's
-- id. NULL when there is none.
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
                'refund', (select json_build_object('state', r.state,
                        'reason', r.reason, 'refund', r.refund_ref,
                        'amount', r.amount, 'key', r.key)
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
            from data.event e where e.hold = h.id))::text
    from data.hold h
    where h.id = p_name or 'ord_' || h.hold_id = p_name;
end;
