-- Past holds :from to :upto of an item, as months of selling leave them: of ten
-- two paid, one given up, the others expired. All that the schema demands of
-- them is true, so its checks of references need not be run one by one.
set session_replication_role = replica;
with goods as (
    select item_id, price, currency from data.item where sku = :'sku'),
made as (
    insert into data.hold (id, key, buyer, amount, currency, state, reason,
        created_at, expires_at, ended_at)
    select 'hld_' || substr(md5(gen_random_uuid()::text), 1, 22),
        gen_random_uuid()::text, gen_random_uuid(), g.price, g.currency,
        case when n % 10 < 2 then 'paid' else 'released' end,
        case when n % 10 = 2 then 'dropped'
            when n % 10 > 2 then 'expired' end,
        at, at + interval '10 min', at + interval '11 min'
    from generate_series(:from::bigint, :upto::bigint) n
    cross join goods g
    cross join lateral (select clock_timestamp() - interval '1 day'
        - (:total - n) * interval '1 s' as at) moment
    returning hold_id, id, buyer, amount, currency, state, created_at,
        expires_at),
lines as (
    insert into data.hold_line (hold_id, item_id, bucket, qty, price, buyer,
        state, expires_at, lead)
    select m.hold_id, g.item_id, 1, 1, m.amount, m.buyer, m.state,
        m.expires_at, true
    from made m cross join goods g),
payments as (
    insert into data.payment (hold_id, provider, key, amount, currency, title,
        return_url, session_expires_at, state, session_id, payment_ref,
        captured, created_at, opened_at, paid_at)
    select hold_id, 'stripe', 'cs-' || id, amount, currency, 'past',
        'http://127.0.0.1/order/' || id, expires_at, 'paid',
        'cs_test_' || md5(id), 'pi_' || md5(id), amount, created_at,
        created_at, created_at + interval '1 min'
    from made where state = 'paid')
update data.stock s
set sold = sold + (select count(*) from made where state = 'paid')
from goods g where s.item_id = g.item_id and s.bucket = 1;
