-- Sessions: opening, looking, ending.

create function sandbox.session_json(p_session sandbox_data.session)
returns jsonb
language sql stable
begin atomic
    select '{"object": "checkout.session", "after_expiration": null,
        "allow_promotion_codes": null, "allowed_payment_method_types": null,
        "adaptive_pricing": {"enabled": false},
        "automatic_tax": {"enabled": false, "liability": null,
            "provider": null, "status": null},
        "billing_address_collection": null, "client_secret": null,
        "consent": null, "consent_collection": null,
        "currency_conversion": null, "custom_fields": [], "customer": null,
        "customer_creation": "if_required", "customer_details": null,
        "discounts": [], "invoice": null, "invoice_creation": null,
        "livemode": false, "mode": "payment", "payment_link": null,
        "payment_method_collection": "if_required",
        "payment_method_options": {}, "setup_intent": null,
        "shipping_options": [], "submit_type": null, "subscription": null,
        "total_details": {"amount_discount": 0, "amount_shipping": 0,
            "amount_tax": 0},
        "ui_mode": "hosted_page"}'::jsonb || jsonb_build_object(
        'id', s.id,
        'amount_subtotal', s.unit_amount * s.quantity,
        'amount_total', s.unit_amount * s.quantity,
        'currency', s.currency,
        'cancel_url', s.cancel_url,
        'success_url', s.success_url,
        'client_reference_id', s.client_reference_id,
        'customer_email', s.customer_email,
        'created', sandbox.epoch(s.created_at),
        'expires_at', sandbox.epoch(s.expires_at - s.shift),
        'locale', s.locale,
        'metadata', s.metadata,
        'payment_method_types', s.method_types,
        'payment_intent', p.id,
        'payment_status', case when p.state = 'succeeded'
            then 'paid' else 'unpaid' end,
        'status', s.status,
        'url', case when s.status = 'open' then s.url end)
    from (select (p_session).*) s
    left join sandbox_data.payment p using (session_id);
end;

-- Where a session stands, in one word: open; held (a payment is under way);
-- bank (paid by a debit that has not come yet); paid; failed (the debit will
-- not come); expired. NULL when there is none.
create function sandbox.session_view(p_session sandbox_data.session)
returns text
language sql stable
begin atomic
    select case
        when s.pay_at is not null and (s.status = 'open' or s.pay_anyway)
            then 'held'
        when s.status <> 'complete' then s.status
        when p.state = 'succeeded' then 'paid'
        when p.state = 'processing' then 'bank'
        else 'failed' end
    from (select (p_session).*) s
    left join sandbox_data.payment p using (session_id)
    where s.session_id is not null;
end;

create function sandbox.session_end(
    p_session sandbox_data.session, p_request text, p_key text)
returns sandbox_data.session
language plpgsql as $$
declare
    ended sandbox_data.session;
begin
    update sandbox_data.session set status = 'expired'
    where session_id = p_session.session_id and status = 'open'
    returning * into ended;
    perform sandbox.event_add('checkout.session.expired', ended,
        jsonb_build_object('object', sandbox.session_json(ended)),
        p_request, p_key);
    return ended;
end
$$;

-- A session, locked; ended first when its time is over. A row of NULLs when
-- there is none.
create function sandbox.session_lock(p_id text) returns sandbox_data.session
language plpgsql as $$
declare
    target sandbox_data.session;
begin
    select * into target from sandbox_data.session where id = p_id for update;
    if target.status = 'open' and target.expires_at <= sandbox.now() then
        target := sandbox.session_end(target, null, null);
    end if;
    return target;
end
$$;

-- The buyer is through with the page.
create function sandbox.session_complete(p_session_id bigint)
returns sandbox_data.session
language sql volatile
begin atomic
    update sandbox_data.session set status = 'complete', pay_at = null
    where session_id = p_session_id returning *;
end;

-- The parameter that says how one may pay was renamed with 2026-09-30.
create function sandbox.methods_problem(p_params jsonb, p_version text)
returns text
language sql immutable parallel safe
begin atomic
    select case
        when p_version !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([.][a-z]+)?$' then
            sandbox.refuse(null, null,
                'Invalid Stripe API version: ' || p_version)
        when left(p_version, 10) collate "C" < '2026-09-30' then
            sandbox.unknown_problem(p_params, '^(?!allowed_payment_method)')
        when exists (select from jsonb_object_keys(p_params) key
            where starts_with(key, 'payment_method_types')) then
            sandbox.refuse('payment_method_types_no_longer_supported',
                'payment_method_types', 'payment_method_types is no longer '
                'supported: use allowed_payment_method_types')
        end;
end;

-- Whether a session that is created at p_now may expire when it shall.
create function sandbox.expiry_fits(p_params jsonb, p_now timestamptz)
returns boolean
language sql immutable parallel safe
return coalesce((p_params ->> 'expires_at')::bigint between
    sandbox.epoch(p_now) + 1800 and sandbox.epoch(p_now) + 86400, true);

-- Why a session cannot be created; NULL when it can. p_real: the real time,
-- which a shop goes by that does not know of the sandbox's clock.
create function sandbox.session_problem(
    p_params jsonb, p_version text, p_now timestamptz, p_real timestamptz)
returns text
language sql immutable parallel safe
begin atomic
    select coalesce(
        sandbox.methods_problem(p_params, p_version),
        sandbox.unknown_problem(p_params, '^(mode|success_url|cancel_url|'
            'client_reference_id|customer_email|locale|expires_at|'
            'adaptive_pricing\[enabled\]|'
            '(allowed_)?payment_method_types\[[0-9]+\]|'
            'line_items\[0\]\[quantity\]|'
            'line_items\[0\]\[price_data\]\[(currency|unit_amount)\]|'
            'line_items\[0\]\[price_data\]\[product_data\]\[name\]|'
            '(payment_intent_data\[)?metadata\]?\[[^][]+\])$'),
        sandbox.missing_problem(p_params, array['mode', 'success_url',
            'line_items[0][quantity]', 'line_items[0][price_data][currency]',
            'line_items[0][price_data][unit_amount]',
            'line_items[0][price_data][product_data][name]']),
        case when p_params ->> 'mode' <> 'payment' then sandbox.refuse(
            null, 'mode', 'Invalid mode: this sandbox takes payment only')
        end,
        case when p_params ->> 'line_items[0][price_data][currency]'
            !~* '^[a-z]{3}$' then sandbox.refuse(null,
                'line_items[0][price_data][currency]', 'Invalid currency')
        end,
        sandbox.integer_problem(p_params, 'line_items[0][quantity]',
            1, 999999),
        sandbox.integer_problem(p_params,
            'line_items[0][price_data][unit_amount]', 1, 99999999),
        case when (p_params ->> 'line_items[0][quantity]')::bigint
            * (p_params ->> 'line_items[0][price_data][unit_amount]')::bigint
            > 99999999 then sandbox.refuse('amount_too_large', null,
                'The total amount must be no more than 99999999')
        end,
        sandbox.integer_problem(p_params, 'expires_at', 0, 999999999999),
        case when not sandbox.expiry_fits(p_params, p_now)
            and not sandbox.expiry_fits(p_params, p_real)
            then sandbox.refuse(null, 'expires_at', 'expires_at must be '
                'between 30 minutes and 24 hours after creation') end,
        sandbox.url_problem(p_params, 'success_url'),
        sandbox.url_problem(p_params, 'cancel_url'),
        case when length(p_params ->> 'client_reference_id') > 200
            then sandbox.refuse(null, 'client_reference_id',
                'client_reference_id can have up to 200 characters') end,
        sandbox.metadata_problem(p_params, 'metadata'),
        sandbox.metadata_problem(p_params, 'payment_intent_data[metadata]'));
end;

-- POST /v1/checkout/sessions. p_pay_url: where buyers reach the pay page.
create function sandbox.session_create(
    p_key text, p_params jsonb, p_request text, p_version text,
    p_pay_url text,
    out http_status integer, out answer text, out original text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    path constant text := 'POST /v1/checkout/sessions';
    real constant timestamptz := clock_timestamp();
    moment constant timestamptz := sandbox.now();
    shift constant interval := case
        when sandbox.expiry_fits(p_params, moment) then '0'
        else moment - real end;
    new_id constant text := sandbox.new_id('cs_test_', 58);
    made sandbox_data.session;
begin
    select r.* into http_status, answer, original
    from sandbox.replay(p_key, path, p_params) r;
    if http_status is not null then
        return;
    end if;
    answer := sandbox.session_problem(p_params, p_version, moment, real);
    if answer is not null then
        http_status := 400;
        return;
    end if;
    insert into session (id, api_version, name, unit_amount, quantity,
        currency, success_url, cancel_url, client_reference_id,
        customer_email, locale, method_types, metadata, payment_metadata,
        url, created_at, expires_at, shift, origin)
    select new_id, p_version,
        p_params ->> 'line_items[0][price_data][product_data][name]',
        (p_params ->> 'line_items[0][price_data][unit_amount]')::bigint,
        (p_params ->> 'line_items[0][quantity]')::bigint,
        lower(p_params ->> 'line_items[0][price_data][currency]'),
        p_params ->> 'success_url', p_params ->> 'cancel_url',
        p_params ->> 'client_reference_id', p_params ->> 'customer_email',
        p_params ->> 'locale',
        coalesce((select jsonb_agg(value order by key)
            from jsonb_each_text(p_params)
            where key ~ '^(allowed_)?payment_method_types'), '["card"]'),
        sandbox.metadata(p_params, 'metadata'),
        sandbox.metadata(p_params, 'payment_intent_data[metadata]'),
        p_pay_url || '/c/pay/' || new_id, moment,
        coalesce(to_timestamp((p_params ->> 'expires_at')::bigint) + shift,
            moment + interval '24 hours'), shift, coalesce(p_key, new_id)
    returning * into made;
    -- The sender sleeps until then at most.
    perform pg_notify('lastpair_sandbox', '');
    http_status := 200;
    answer := sandbox.session_json(made)::text;
    perform sandbox.keep(p_key, path, p_params, 200, answer, p_request);
end
$$;

-- GET /v1/checkout/sessions/:id
create function sandbox.session_get(
    p_id text, out http_status integer, out answer text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    target sandbox_data.session := sandbox.session_lock(p_id);
begin
    http_status := case when target.id is null then 404 else 200 end;
    answer := coalesce(case when target.id is not null
        then sandbox.session_json(target)::text end,
        sandbox.missing('session', 'checkout.session', p_id));
end
$$;

-- POST /v1/checkout/sessions/:id/expire
create function sandbox.session_expire(
    p_id text, p_key text, p_params jsonb, p_request text,
    out http_status integer, out answer text, out original text)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    path constant text := format('POST /v1/checkout/sessions/%s/expire', p_id);
    target sandbox_data.session;
begin
    select r.* into http_status, answer, original
    from sandbox.replay(p_key, path, p_params) r;
    if http_status is not null then
        return;
    end if;
    answer := sandbox.unknown_problem(p_params, '^$');
    if answer is not null then
        http_status := 400;
        return;
    end if;
    target := sandbox.session_lock(p_id);
    if target.id is null then
        http_status := 404;
        answer := sandbox.missing('session', 'checkout.session', p_id);
        return;
    elsif target.status = 'open' then
        http_status := 200;
        answer := sandbox.session_json(
            sandbox.session_end(target, p_request, p_key))::text;
    else
        http_status := 400;
        answer := sandbox.refuse(null, null, format('Only Checkout Sessions '
            'with a status in ["open"] can be expired. This Checkout '
            'Session has a status of `%s`.', target.status));
    end if;
    perform sandbox.keep(
        p_key, path, p_params, http_status, answer, p_request);
end
$$;

-- GET /v1/checkout/sessions
create function sandbox.session_search(
    p_params jsonb, out http_status integer, out answer text)
language plpgsql stable security definer set search_path = sandbox_data, pg_temp
as $$
declare
    most integer;
    last_id constant bigint := (select session_id from session
        where id = p_params ->> 'starting_after');
    items jsonb[];
begin
    http_status := 400;
    answer := coalesce(sandbox.list_problem(
            p_params, 'payment_intent|status', last_id is not null),
        case when p_params ->> 'status' not in
            ('open', 'complete', 'expired') then sandbox.refuse(null,
                'status', 'Invalid status: must be one of open, complete, or '
                'expired') end);
    if answer is not null then
        return;
    end if;
    most := sandbox.list_limit(p_params);
    items := array(select sandbox.session_json(s)
        from session s left join payment p using (session_id)
        where sandbox.asked(p_params, 'payment_intent', p.id)
            and sandbox.asked(p_params, 'status', s.status)
            and sandbox.created_fits(p_params, s.created_at)
            and (last_id is null or s.session_id < last_id)
        order by s.session_id desc limit most + 1);
    http_status := 200;
    answer := sandbox.list_json('/v1/checkout/sessions', items, most);
end
$$;
