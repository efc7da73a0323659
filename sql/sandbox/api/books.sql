-- What the provider has of the shop's money, to compare with what the shop
-- believes.

create function sandbox.book_counts() returns jsonb
language sql stable
begin atomic
    select jsonb_build_object(
        'sessions', (select count(*) from sandbox_data.session),
        'payments', (select count(*) from sandbox_data.payment
            where state = 'succeeded'),
        'refunds', (select count(*) from sandbox_data.refund
            where status = 'succeeded'),
        'refunds_failed', (select count(*) from sandbox_data.refund
            where status = 'failed'),
        'disputes_open', (select count(*) from sandbox_data.dispute
            where closed_at is null),
        'deliveries_waiting', (select count(*) from sandbox_data.delivery
            where next_try is not null),
        'money_waiting', (select count(*) from sandbox_data.session
                where pay_at is not null)
            + (select count(*) from sandbox_data.session
                where settle_at is not null)
            + (select count(*) from sandbox_data.refund
                where turn_at is not null)
            + (select count(*) from sandbox_data.payment
                where dispute_at is not null));
end;

-- Sums in minor units by currency. Nothing of it is in the shop's hands:
-- captured less refunded, refund_pending and disputed_lost is what it has.
create function sandbox.books() returns text
language sql stable security definer
set search_path = sandbox_data, pg_temp
begin atomic
    with moved (what, currency, amount) as (
        select 'captured', s.currency, p.amount
        from sandbox_data.payment p
        join sandbox_data.session s using (session_id)
        where p.state = 'succeeded'
        union all select case r.status when 'pending' then 'refund_pending'
            else 'refunded' end, s.currency, r.amount
        from sandbox_data.refund r
        join sandbox_data.payment p using (payment_id)
        join sandbox_data.session s using (session_id)
        where r.status <> 'failed'
        union all select 'disputed_lost', s.currency, d.amount
        from sandbox_data.dispute d
        join sandbox_data.payment p using (payment_id)
        join sandbox_data.session s using (session_id)
        where d.status = 'lost'),
    sums as (
        select what, jsonb_object_agg(upper(currency), total) as amounts
        from (select what, currency, sum(amount) as total
            from moved group by what, currency) t
        group by what)
    select (jsonb_build_object('captured', '{}'::jsonb, 'refunded',
            '{}'::jsonb, 'refund_pending', '{}'::jsonb, 'disputed_lost',
            '{}'::jsonb)
        || coalesce((select jsonb_object_agg(what, amounts) from sums), '{}')
        || sandbox.book_counts())::text;
end;
