-- A backlog: :count expired holds of an item that nobody has given back.
with goods as (
    select item_id, price, currency from data.item where sku = :'sku'),
made as (
    insert into data.hold (id, key, buyer, amount, currency, created_at,
        expires_at)
    select 'hld_' || substr(md5(gen_random_uuid()::text), 1, 22),
        gen_random_uuid()::text, gen_random_uuid(), g.price, g.currency,
        clock_timestamp() - interval '1 hour',
        clock_timestamp() - interval '50 min'
    from generate_series(1, :count) cross join goods g
    returning hold_id, buyer, amount, expires_at),
lines as (
    insert into data.hold_line (hold_id, item_id, bucket, qty, price, buyer,
        expires_at, lead)
    select m.hold_id, g.item_id, 1, 1, m.amount, m.buyer, m.expires_at, true
    from made m cross join goods g)
update data.stock s set held = held + :count
from goods g where s.item_id = g.item_id and s.bucket = 1;
