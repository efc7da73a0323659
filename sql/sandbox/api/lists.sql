-- What the API's lists have in common: newest first, in pages.

-- p_known: the list's own parameters, a regular expression; p_cursor: whether
-- there is what starting_after names.
create function sandbox.list_problem(
    p_params jsonb, p_known text, p_cursor boolean)
returns text
language sql immutable parallel safe
begin atomic
    select coalesce(sandbox.unknown_problem(p_params,
            '^(limit|starting_after|created\[(gte|gt|lte|lt)\]|'
            || p_known || ')$'),
        sandbox.integer_problem(p_params, 'limit', 1, 100),
        (select min(sandbox.integer_problem(
                p_params, name, 0, 999999999999))
            from jsonb_object_keys(p_params) name
            where starts_with(name, 'created')),
        case when p_params ? 'starting_after' and not p_cursor
            then sandbox.missing('starting_after', 'object',
                p_params ->> 'starting_after') end);
end;

create function sandbox.list_limit(p_params jsonb) returns integer
language sql immutable parallel safe
return coalesce((p_params ->> 'limit')::integer, 10);

-- Whether a thing of that time is asked for.
create function sandbox.created_fits(p_params jsonb, t timestamptz)
returns boolean
language sql immutable parallel safe
return coalesce(sandbox.epoch(t) >= (p_params ->> 'created[gte]')::bigint,
        true)
    and coalesce(sandbox.epoch(t) > (p_params ->> 'created[gt]')::bigint, true)
    and coalesce(sandbox.epoch(t) <= (p_params ->> 'created[lte]')::bigint,
        true)
    and coalesce(sandbox.epoch(t) < (p_params ->> 'created[lt]')::bigint,
        true);

-- Whether a parameter that may be left out asks for this.
create function sandbox.asked(p_params jsonb, p_name text, p_value text)
returns boolean
language sql immutable parallel safe
return p_params ->> p_name is null or p_params ->> p_name = p_value;

-- A list as the API gives it; p_items has one more than p_limit when more
-- follow.
create function sandbox.list_json(
    p_url text, p_items jsonb[], p_limit integer)
returns text
language sql immutable parallel safe
return jsonb_build_object('object', 'list', 'url', p_url,
    'has_more', coalesce(cardinality(p_items), 0) > p_limit,
    'data', coalesce(to_jsonb(p_items[1:p_limit]), '[]'))::text;
