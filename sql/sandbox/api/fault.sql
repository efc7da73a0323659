-- Faults on demand. Whether one strikes is decided by the seed, the fault, a
-- subject, and how often that subject has come, never by who comes first: the
-- same seed and the same subjects give the same faults again.

-- p_n: how often the subject has come, this time included.
create function sandbox.fault_hits(
    p_seed text, p_fault sandbox_data.fault, p_subject text, p_n integer)
returns boolean
language sql immutable parallel safe
return ('x' || left(md5(concat_ws('/', p_seed, (p_fault).target,
        (p_fault).kind, (p_fault).ms, p_subject, p_n)), 8))::bit(32)::bigint
    % 100 < (p_fault).percent;

-- A subject that names a hold, by the name that the hold has in every run.
create function sandbox.subject_known(p_subject text) returns text
language sql stable
begin atomic
    select coalesce((select replace(p_subject, a.name, a.known_as)
        from sandbox_data.alias a
        where a.name = substring(p_subject from 'hld_[A-Za-z0-9_-]{22}')),
        p_subject);
end;

-- The oldest fault of these that strikes, written down; no row when none
-- does. Those with a number of strikes are counted one after the other.
create function sandbox.fault_strike(
    p_targets text[], p_kinds text[], p_subject text, p_n integer)
returns sandbox_data.fault
language plpgsql as $$
declare
    chosen sandbox_data.fault;
    struck bigint := 0;
begin
    for chosen in select f.*
        from sandbox_data.fault f cross join sandbox_data.setting s
        where f.cleared_at is null and f.target = any (p_targets)
            and f.kind = any (p_kinds)
            and sandbox.fault_hits(s.seed, f,
                sandbox.subject_known(p_subject), p_n)
        order by f.fault_id
    loop
        if chosen.times is not null then
            perform sandbox.fault_lock();
            select count(*) into struck from sandbox_data.strike
            where fault_id = chosen.fault_id;
        end if;
        continue when struck >= chosen.times;
        insert into sandbox_data.strike (fault_id, subject, created_at)
        values (chosen.fault_id, p_subject, clock_timestamp());
        update sandbox_data.fault set cleared_at = clock_timestamp()
        where fault_id = chosen.fault_id and struck + 1 >= times;
        return chosen;
    end loop;
    return null;
end
$$;

-- Held by who counts strikes, until its transaction ends.
create function sandbox.fault_lock() returns void
language sql volatile
begin atomic
    select pg_advisory_xact_lock(hashtext('sandbox.fault'), 0);
end;

-- What a call is known by: its key; without one, whatever what it asks for
-- was made with.
create function sandbox.call_subject(
    p_key text, p_path text, p_id text, p_params jsonb)
returns text
language sql stable
begin atomic
    select coalesce(p_key,
        (select s.origin from sandbox_data.session s where s.id = p_id),
        (select r.origin from sandbox_data.refund r where r.id = p_id),
        (select s.origin from sandbox_data.session s
            join sandbox_data.payment p using (session_id)
            where p.id in (p_id, p_params ->> 'payment_intent')),
        p_path);
end;

-- What goes wrong with a call, before it is carried out: a kind and its
-- milliseconds; NULL when nothing does. p_target: open, end, refund, look.
create function sandbox.call_fault(
    p_target text, p_key text, p_path text, p_id text, p_params jsonb,
    out kind text, out ms bigint)
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    who text;
    turn integer;
    chosen sandbox_data.fault;
begin
    if p_key is not null and exists (select from busy
        where key = p_key and until > clock_timestamp())
    then
        kind := 'conflict';
        return;
    end if;
    if not exists (select from fault where cleared_at is null
        and target in (p_target, 'any'))
    then
        return;
    end if;
    who := sandbox.call_subject(p_key, p_path, p_id, p_params);
    insert into visit values (p_target, who, 1)
    on conflict (target, subject) do update set n = visit.n + 1
    returning n into turn;
    chosen := sandbox.fault_strike(array[p_target, 'any'], array['slow',
        case when p_target <> 'look' then 'conflict' end, 'rate', 'error',
        'error_after', 'unavailable', 'timeout', 'lost'], who, turn);
    kind := chosen.kind;
    ms := chosen.ms;
    if kind = 'slow' and p_key is not null then
        delete from busy where until <= clock_timestamp();
        insert into busy values (p_key, clock_timestamp() + sandbox.ms(ms))
        on conflict (key) do update set until = excluded.until;
    end if;
end
$$;

-- The levers -----------------------------------------------------------------

create function sandbox.fault_default_ms(p_kind text, p_timeout_ms bigint)
returns bigint
language sql immutable parallel safe
return case p_kind when 'slow' then 2000 when 'timeout' then p_timeout_ms
    when 'duplicate' then 500 when 'delay' then 3000
    when 'reorder' then 3000 else 0 end;

-- Adds one; p_times and p_ms may be left out. p_timeout_ms: longer than the
-- shop waits for an answer. What makes no sense, the table's constraints
-- refuse.
create function sandbox.fault_add(
    p_target text, p_kind text, p_percent integer, p_times integer,
    p_ms bigint, p_timeout_ms bigint)
returns bigint
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    insert into sandbox_data.fault (target, kind, percent, times, ms,
        created_at)
    values (p_target, p_kind, p_percent, p_times, coalesce(p_ms,
        sandbox.fault_default_ms(p_kind, p_timeout_ms)), clock_timestamp())
    returning fault_id;
end;

-- Ends one, also one that is over, or all. How many that were.
create function sandbox.fault_clear(p_fault_id bigint) returns bigint
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
declare
    n bigint;
begin
    perform sandbox.fault_lock();
    update fault set cleared_at = coalesce(cleared_at, clock_timestamp())
    where fault_id = p_fault_id or (p_fault_id is null and cleared_at is null);
    get diagnostics n = row_count;
    return n;
end
$$;

-- The newest, those that are over among them.
create function sandbox.fault_list(p_limit integer)
returns table (fault bigint, target text, kind text, percent integer,
    times integer, ms bigint, struck bigint, active boolean, created text)
language sql stable security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select f.fault_id, f.target, f.kind, f.percent, f.times, f.ms,
        (select count(*) from sandbox_data.strike k
            where k.fault_id = f.fault_id),
        f.cleared_at is null, sandbox.iso(f.created_at)
    from sandbox_data.fault f
    order by f.cleared_at is null desc, f.fault_id desc limit p_limit;
end;

create function sandbox.seed_show() returns text
language sql stable security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select seed from sandbox_data.setting;
end;

-- Gives what a run makes up a name that all runs have.
create function sandbox.alias_add(p_name text, p_as text) returns text
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    insert into sandbox_data.alias values (p_name, p_as)
    on conflict (name) do update set known_as = excluded.known_as
    returning known_as;
end;

-- A new run: nobody has come yet.
create function sandbox.seed_set(p_seed text) returns text
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
begin
    delete from visit;
    update setting set seed = p_seed;
    return p_seed;
end
$$;
