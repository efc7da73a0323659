-- What the other files share: ids, errors, the reading of parameters.
--
-- The stand-in for the payment provider: what Stripe would decide. Functions
-- only, created anew at each migrate, the files in the order of their names.
-- C reads a request, calls one function and sends what it answers.
--
-- Locks: the session's row, which stands for all that belongs to it; then,
-- for faults that strike so many times only, the lock of fault_strike. The
-- clock is sandbox.now(), read after the lock; deliveries go by the real one.
-- Answers of the API are http_status and answer (a body); `original` is the
-- request that a replayed answer was first given to.

-- The provider's clock: the real one, or ahead of it.
create function sandbox.now() returns timestamptz
language sql volatile
begin atomic
    select clock_timestamp() + ahead from sandbox_data.setting;
end;

-- A prefix and p_length random hexadecimal digits, at most 64.
create function sandbox.new_id(p_prefix text, p_length integer) returns text
language sql volatile
return p_prefix || left(replace(
    gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), p_length);

create function sandbox.epoch(t timestamptz) returns bigint
language sql immutable parallel safe
return floor(extract(epoch from t))::bigint;

-- Milliseconds from p_now until t; 0 when it is past, NULL when t is.
create function sandbox.ms_until(t timestamptz, p_now timestamptz)
returns bigint
language sql immutable parallel safe
return case when t is not null then greatest(0, ceil(
    extract(epoch from t - p_now) * 1000))::bigint end;

create function sandbox.ms(p_ms bigint) returns interval
language sql immutable parallel safe
return p_ms * interval '1 ms';

-- RFC 3339 in UTC with milliseconds.
create function sandbox.iso(t timestamptz) returns text
language sql immutable parallel safe
return to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

create function sandbox.error(
    p_type text, p_code text, p_param text, p_message text)
returns text
language sql immutable parallel safe
return jsonb_build_object('error', jsonb_strip_nulls(jsonb_build_object(
    'type', p_type, 'code', p_code, 'param', p_param,
    'message', p_message)))::text;

create function sandbox.refuse(p_code text, p_param text, p_message text)
returns text
language sql immutable parallel safe
return sandbox.error('invalid_request_error', p_code, p_param, p_message);

create function sandbox.missing(p_param text, p_what text, p_id text)
returns text
language sql immutable parallel safe
return sandbox.refuse('resource_missing', p_param,
    format('No such %s: ''%s''', p_what, p_id));

-- What is wrong with a whole number, or NULL.
create function sandbox.integer_problem(
    p_params jsonb, p_name text, p_least bigint, p_most bigint)
returns text
language sql immutable parallel safe
return case
    when p_params ->> p_name !~ '^[0-9]{1,12}$' then sandbox.refuse(
        'parameter_invalid_integer', p_name,
        'Invalid integer: ' || (p_params ->> p_name))
    when (p_params ->> p_name)::bigint not between p_least and p_most then
        sandbox.refuse(null, p_name, format(
            '%s must be from %s to %s', p_name, p_least, p_most))
    end;

-- The first parameter that p_known, a regular expression, does not know.
create function sandbox.unknown_problem(p_params jsonb, p_known text)
returns text
language sql immutable parallel safe
begin atomic
    select sandbox.refuse('parameter_unknown', key,
        'Received unknown parameter: ' || key)
    from jsonb_object_keys(p_params) key
    where key !~ p_known order by key limit 1;
end;

create function sandbox.missing_problem(p_params jsonb, p_names text[])
returns text
language sql immutable parallel safe
begin atomic
    select sandbox.refuse('parameter_missing', name,
        'Missing required param: ' || name || '.')
    from unnest(p_names) with ordinality as u (name, nr)
    where coalesce(p_params ->> name, '') = '' order by nr limit 1;
end;

-- {"k": "v"} of the parameters p_name[k].
create function sandbox.metadata(p_params jsonb, p_name text) returns jsonb
language sql immutable parallel safe
begin atomic
    select coalesce(jsonb_object_agg(
        substr(key, length(p_name) + 2, length(key) - length(p_name) - 2),
        value), '{}')
    from jsonb_each_text(p_params)
    where starts_with(key, p_name || '[') and value <> '';
end;

create function sandbox.metadata_problem(p_params jsonb, p_name text)
returns text
language sql immutable parallel safe
begin atomic
    select case
        when count(*) > 50 then sandbox.refuse(null, p_name,
            'Metadata can have up to 50 keys')
        when max(length(key)) > 40 then sandbox.refuse(null, p_name,
            'Metadata keys can have up to 40 characters')
        when max(length(value)) > 500 then sandbox.refuse(null, p_name,
            'Metadata values can have up to 500 characters')
        end
    from jsonb_each_text(sandbox.metadata(p_params, p_name));
end;

create function sandbox.url_problem(p_params jsonb, p_name text) returns text
language sql immutable parallel safe
return case when p_params ->> p_name
    !~ '^https?://[A-Za-z0-9.:-]+([/?#][^[:space:][:cntrl:]]*)?$'
    then sandbox.refuse('url_invalid', p_name, 'Not a valid URL') end;
