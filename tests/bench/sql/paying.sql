-- :count buyers who are on the provider's page: live holds of an item, each
-- with a session that is open, as the cashier leaves them. Prints each hold's
-- id and its session's.
with goods as (
    select item_id, price, currency, title from data.item where sku = :'sku'),
made as (
    insert into data.hold (id, key, buyer, amount, currency, created_at,
        expires_at)
    select 'hld_' || substr(md5(gen_random_uuid()::text), 1, 22),
        gen_random_uuid()::text, gen_random_uuid(), g.price, g.currency,
        clock_timestamp(), clock_timestamp() + interval '12 hours'
    from generate_series(1, :count) cross join goods g
    returning hold_id, id, buyer, amount, currency, created_at, expires_at),
lines as (
    insert into data.hold_line (hold_id, item_id, bucket, qty, price, buyer,
        expires_at, lead)
    select m.hold_id, g.item_id, 1, 1, m.amount, m.buyer, m.expires_at, true
    from made m cross join goods g),
payments as (
    insert into data.payment (hold_id, provider, key, amount, currency, title,
        return_url, session_expires_at, state, session_id, url, created_at,
        opened_at)
    select m.hold_id, 'stripe', 'cs-' || m.id, m.amount, m.currency,
        '1 x ' || g.title, 'http://127.0.0.1/order/' || m.id,
        m.expires_at + interval '31 min', 'open', 'cs_test_' || md5(m.id),
        'https://checkout.stripe.com/c/pay/cs_test_' || md5(m.id),
        m.created_at, m.created_at
    from made m cross join goods g
    returning payment_id, hold_id, key, session_id, session_expires_at,
        created_at),
calls as (
    insert into data.outbox (kind, payment_id, hold_id, key, try, next_try,
        done_at)
    select kind, payment_id, hold_id, key, 1,
        case kind when 'open' then created_at else session_expires_at end,
        case kind when 'open' then created_at end
    from payments cross join unnest(array['open', 'expire']) kind),
stock as (
    update data.stock s set held = held + :count
    from goods g where s.item_id = g.item_id and s.bucket = 1)
select m.id, 'cs_test_' || md5(m.id) from made m;
