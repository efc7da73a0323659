-- What the shop's and the provider's books say of a drill, as name=value lines.
-- Needs the variable item and the temporary table known: what buyers were
-- told, one row per hold (id, how it ended, whether it was charged).

select count(*) as item_count from data.item where sku = :'item' \gset

with told as (
    select h.id, h.hold_id, h.state, h.reason, k.id as known, k.ended,
        coalesce(k.charged, 0) as charged
    from (select h.* from data.hold h
        where exists (select from data.hold_line l
            join data.item i using (item_id)
            where l.hold_id = h.hold_id and i.sku = :'item')) h
    full join known k on k.id = h.id),
-- The provider knows the hold by what it was told when the page was opened.
taken as (
    select s.metadata ->> 'hold_id' as id,
        sum(p.amount) as amount, sum(p.refunded) as refunded
    from sandbox_data.session s join sandbox_data.payment p using (session_id)
    where p.state = 'succeeded' group by 1),
both_sides as (
    select t.*, p.amount is not null as paid,
        p.refunded = p.amount as back
    from told t left join taken p on p.id = t.id),
units as (
    select sum(s.total) as total, sum(s.allowance) as allowance,
        sum(s.held) as held, sum(s.sold) as sold
    from data.stock s join data.item i using (item_id) where i.sku = :'item')
select f.name || '=' || coalesce(f.value, 0)
from units u
cross join (select
        count(hold_id) as holds,
        count(*) filter (where hold_id is null) as lost,
        count(*) filter (where known is null) as unknown,
        count(*) filter (where state = 'held') as live,
        count(*) filter (where state = 'paid') as paid_orders,
        count(*) filter (where case
            when ended in ('paid', 'retaken') then state <> 'paid'
            when ended = 'refunded' then reason is distinct from 'refunded'
            when ended in ('expired', 'unpaid')
                then reason is distinct from 'expired'
            when ended = 'dropped' then reason is distinct from 'dropped'
            else false end) as ends_differ,
        count(*) filter (where (charged = 1) <> paid
            and known is not null) as charges_differ,
        count(*) filter (where paid) as provider_charged,
        count(*) filter (where back) as provider_refunded,
        count(*) filter (where paid and not back
            and state is distinct from 'paid') as neither,
        count(*) filter (where paid and back and state = 'paid') as both,
        count(*) filter (where state = 'paid' and not paid) as given_away
    from both_sides) b
cross join (select count(*) as refunds from data.refund r
    join data.payment p using (payment_id) join told t using (hold_id)
    where r.state = 'succeeded') r
cross join (select
        count(*) filter (where not stuck) as owed,
        count(*) filter (where stuck) as stuck
    from data.outbox where done_at is null) o
cross join (select count(*) as under_way from sandbox_data.delivery
    where next_try is not null) d
cross join (select count(*) as coming from sandbox_data.session
    where pay_at is not null) c
cross join (select count(*) as person from data.event
    where outcome in ('person', 'unmatched', 'received')) e
cross join lateral (values
    ('items', :item_count), ('total', u.total), ('allowance', u.allowance),
    ('held', u.held), ('sold', u.sold),
    ('free', u.total + u.allowance - u.held - u.sold),
    ('holds', b.holds), ('lost', b.lost), ('foreign', b.unknown),
    ('live', b.live), ('paid_orders', b.paid_orders),
    ('ends_differ', b.ends_differ), ('charges_differ', b.charges_differ),
    ('provider_charged', b.provider_charged),
    ('provider_refunded', b.provider_refunded),
    ('neither', b.neither), ('both', b.both), ('given_away', b.given_away),
    ('refunds', r.refunds),
    ('owed', o.owed + d.under_way + c.coming),
    ('stuck', o.stuck), ('person', e.person)) as f (name, value);
