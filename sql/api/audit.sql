-- Every promise that a query can check: one row per breach, none when all
-- hold. `promise` is the number in the list of promises, `what` a sentence,
-- `which` the row. Reads one snapshot; locks nothing; safe on a live shop.
create function api.audit()
returns table (promise integer, what text, which text)
language sql stable security definer set search_path = data, pg_temp
begin atomic
    with counted as (
        select s.item_id, s.bucket, s.total, s.allowance, s.held, s.sold,
            coalesce(sum(l.qty) filter (where l.state = 'held'), 0) as lines_held,
            coalesce(sum(l.qty) filter (where l.state = 'paid'), 0) as lines_sold
        from data.stock s left join data.hold_line l
            on l.item_id = s.item_id and l.bucket = s.bucket
                and l.state <> 'released'
        group by s.item_id, s.bucket),
    named as (
        select c.*, format('%s bucket %s', i.sku, c.bucket) as name
        from counted c join data.item i using (item_id)),
    -- What came in, and what of it has gone or goes back.
    paid as (
        select p.payment_id, p.key, p.hold_id, p.state, p.captured,
            p.currency, h.state as hold_state,
            exists (select from data.dispute d
                where d.payment_id = p.payment_id and d.ended_at is null)
                as disputed,
            coalesce((select sum(coalesce(d.amount, p.captured))
                from data.dispute d where d.payment_id = p.payment_id
                    and d.state = 'lost'), 0) as lost,
            coalesce((select sum(r.amount) from data.refund r
                where r.payment_id = p.payment_id
                    and r.state not in ('failed', 'void')), 0) as returned
        from data.payment p join data.hold h using (hold_id)
        where p.captured > 0)
    select 1, format('held %s + sold %s is more than total %s + allowance %s',
        held, sold, total, allowance), name
    from named where held + sold > total + allowance
    union all
    select 1, format('stock says %s held, the holds say %s',
        held, lines_held), name
    from named where held <> lines_held
    union all
    select 1, format('stock says %s sold, the orders say %s',
        sold, lines_sold), name
    from named where sold <> lines_sold
    union all
    select 1, 'an item without a stock row', i.sku from data.item i
    where i.buckets > (select count(*) from data.stock s
        where s.item_id = i.item_id and s.bucket <= i.buckets)
    union all
    select 1, 'a line without its stock row', format('hold %s, item %s',
        l.hold_id, l.item_id)
    from data.hold_line l
    where l.state <> 'released' and not exists (select from data.stock s
        where s.item_id = l.item_id and s.bucket = l.bucket)
    union all
    select 2, 'a line without its hold', format('hold %s, item %s',
        l.hold_id, l.item_id)
    from data.hold_line l
    where not exists (select from data.hold h where h.hold_id = l.hold_id)
    union all
    select 2, 'the lines do not add up to the hold''s amount', h.id
    from data.hold h
    where h.amount is distinct from (select sum(l.qty * l.price)
        from data.hold_line l where l.hold_id = h.hold_id)
    union all
    select 2, format('a %s hold with a line that is %s', h.state, l.state),
        h.id
    from data.hold h join data.hold_line l using (hold_id)
    where (h.state = 'paid') <> (l.state = 'paid')
        or (h.state = 'held' and l.state = 'released')
    union all
    select 3, format('%s live holds of one buyer for one item', count(*)),
        i.sku
    from data.hold_line l join data.item i using (item_id)
    where l.lead and l.state = 'held' and l.expires_at > clock_timestamp()
    group by i.sku, l.buyer having count(*) > 1
    union all
    select 3, format('%s units for one buyer, the limit is %s',
        sum(l.qty), i.per_buyer), i.sku
    from data.hold_line l join data.item i using (item_id)
    where l.state = 'paid'
        or (l.state = 'held' and l.expires_at > clock_timestamp())
    group by i.sku, i.per_buyer, l.buyer having sum(l.qty) > i.per_buyer
    union all
    select 4, format('%s %s came in, and are neither goods nor on their way '
        'back nor anybody''s task', p.captured - p.returned - p.lost,
        p.currency), p.key
    from paid p
    where p.captured > p.returned + p.lost and p.hold_state <> 'paid'
        and not p.disputed and not exists (select from data.task t
            -- One that was won is no excuse.
            where t.payment_id = p.payment_id and t.kind <> 'dispute')
    union all
    select 4, 'served, and all the money has gone back', h.id
    from data.hold h left join (
        select hold_id from paid where captured > returned
        group by hold_id) kept using (hold_id)
    where h.state = 'paid' and kept.hold_id is null
    union all
    -- Counted for all at once: looked for order by order, in what came in, it
    -- would take an hour when there are many.
    select 4, 'served and paid for more than once', h.id
    from paid p join data.hold h using (hold_id)
    where p.hold_state = 'paid' and p.state = 'paid'
        and p.captured > p.returned + p.lost and not p.disputed
        and not exists (select from data.task t
            where t.payment_id = p.payment_id and t.kind <> 'dispute')
    group by h.hold_id, h.id having count(*) > 1
    union all
    select 4, 'served without a payment of its amount', h.id
    from data.hold h
    where h.state = 'paid' and not exists (
        select from data.payment p
        where p.hold_id = h.hold_id and p.state = 'paid'
            and p.captured = h.amount and p.currency = h.currency)
    union all
    select 4, format('%s goes back of a payment of %s',
        p.returned, p.captured), p.key
    from paid p where p.returned > p.captured
    union all
    select 4, 'a refund is owed, and nobody is told to send it',
        coalesce(r.key, r.refund_ref)
    from data.refund r join data.payment p using (payment_id)
    where r.state = 'owed' and not exists (
        select from data.outbox o
        where o.refund_id = r.refund_id and o.done_at is null)
        and not exists (select from data.payment q
            join data.dispute d using (payment_id)
            where q.hold_id = p.hold_id and d.ended_at is null)
    union all
    select 4, 'a refund failed, and it is nobody''s task',
        coalesce(r.key, r.refund_ref)
    from data.refund r
    where r.state = 'failed' and not exists (select from data.task t
        where t.refund_id = r.refund_id)
    union all
    select 4, format('a dispute is %s, and it is nobody''s task',
        replace(d.state, '_', ' ')), format('dispute %s %s', d.dispute_id,
            d.ref)
    from data.dispute d
    where d.state in ('inquiry', 'open', 'lost') and not exists (
        select from data.task t
        where t.kind = case d.state when 'lost' then 'dispute_lost'
                else 'dispute' end
            and t.subject = case d.state when 'inquiry' then 'inquiry '
                else 'dispute ' end || d.dispute_id)
    union all
    select 4, 'another amount was paid, and it is nobody''s task', p.key
    from data.payment p
    where p.state = 'mismatch' and not exists (select from data.task t
        where t.payment_id = p.payment_id)
    union all
    select 4, 'a call is given up, and it is nobody''s task', o.key
    from data.outbox o
    where o.stuck and o.done_at is null and o.kind <> 'open'
        and not exists (select from data.task t
            where t.outbox_id = o.outbox_id)
    union all
    select 5, 'an event without an outcome', e.provider || ' ' || e.event_id
    from data.event e where e.outcome = 'received'
    union all
    select 5, 'an event waits though its payment is known',
        e.provider || ' ' || e.event_id
    from data.event e
    where e.outcome = 'unmatched'
        and e.received_at < clock_timestamp() - interval '1 minute'
        and exists (select from data.payment p
            where p.provider = e.provider and (p.session_id = e.session_id
                or p.payment_ref = e.payment_ref));
end;
