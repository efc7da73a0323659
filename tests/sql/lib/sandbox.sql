-- What the stand-in provider's tests share. Nothing from elsewhere is due or
-- listed.
delete from sandbox_data.delivery;
delete from sandbox_data.dispute;
delete from sandbox_data.refund;
delete from sandbox_data.payment;
delete from sandbox_data.event;
delete from sandbox_data.session;
delete from sandbox_data.idempotency;
delete from sandbox_data.strike;
delete from sandbox_data.fault;
delete from sandbox_data.visit;
delete from sandbox_data.busy;
update sandbox_data.setting set ahead = '0', seed = 'seed';

create function pg_temp.good() returns jsonb
language sql as $$
select '{"mode": "payment", "line_items[0][quantity]": "2",
    "line_items[0][price_data][currency]": "eur",
    "line_items[0][price_data][unit_amount]": "4999",
    "line_items[0][price_data][product_data][name]": "Lamp",
    "client_reference_id": "ord_7", "metadata[hold_id]": "hld_1",
    "payment_intent_data[metadata][hold_id]": "hld_2",
    "allowed_payment_method_types[0]": "card",
    "adaptive_pricing[enabled]": "false",
    "success_url": "https://shop.example/o?cs={CHECKOUT_SESSION_ID}",
    "cancel_url": "https://shop.example/o"}'::jsonb
$$;

create function pg_temp.open(
    p_more jsonb default '{}', p_key text default null)
returns text
language sql as $$
select answer::jsonb ->> 'id' from sandbox.session_create(p_key,
    pg_temp.good() || p_more, 'req_1', '2026-10-28.endive', 'http://pay')
$$;

-- A paid session's payment.
create function pg_temp.paid(p_key text default null) returns text
language plpgsql as $$
declare
    id text := pg_temp.open('{}', p_key);
begin
    perform sandbox.session_pay(id, 0, false);
    return pg_temp.intent(id);
end
$$;

-- What a creation with other parameters is refused for: code, else message.
create function pg_temp.refused(
    p_more jsonb, p_version text default '2026-10-28.endive')
returns text
language sql as $$
select concat_ws(' ', http_status, answer::jsonb #>> '{error,code}',
    answer::jsonb #>> '{error,param}')
from sandbox.session_create(null, jsonb_strip_nulls(pg_temp.good() || p_more),
    'req_1', p_version, 'http://pay')
$$;

create function pg_temp.events(p_id text) returns text
language sql as $$
select string_agg(e.type, ' ' order by e.event_seq)
from sandbox_data.event e join sandbox_data.session s using (session_id)
where s.id = p_id
$$;

create function pg_temp.intent(p_id text) returns text
language sql as $$
select p.id from sandbox_data.payment p
join sandbox_data.session s using (session_id) where s.id = p_id
$$;

create function pg_temp.get(p_id text) returns jsonb
language sql as $$ select answer::jsonb from sandbox.session_get(p_id) $$;

-- Gives a payment back; the refund's status, or the error's code or message.
create function pg_temp.refund(
    p_payment text, p_amount text default null, p_key text default null)
returns text
language sql as $$
select coalesce(answer::jsonb ->> 'status', answer::jsonb #>> '{error,code}',
    answer::jsonb #>> '{error,message}')
from sandbox.refund_create(p_key, jsonb_strip_nulls(jsonb_build_object(
    'payment_intent', p_payment, 'amount', p_amount)), 'r')
$$;

create function pg_temp.fault(
    p_target text, p_kind text, p_percent integer default 100,
    p_times integer default null, p_ms bigint default null)
returns bigint
language sql as $$
select sandbox.fault_add(p_target, p_kind, p_percent, p_times, p_ms, 25000)
$$;

-- What a call with this key meets.
create function pg_temp.meets(p_target text, p_key text) returns text
language sql as $$
select concat_ws(' ', kind, ms) from sandbox.call_fault(
    p_target, p_key, 'POST /v1/x', null, '{}')
$$;
