-- The provider's clock: how it is moved, and what it brings.

create function sandbox.clock_show() returns text
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select jsonb_build_object('now', sandbox.iso(sandbox.now()),
        'ahead_ms', (extract(epoch from ahead) * 1000)::bigint)::text
    from sandbox_data.setting;
end;

-- Moves it forward; it never goes back.
create function sandbox.clock_forward(p_ms bigint) returns text
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
begin
    update setting set ahead = ahead + sandbox.ms(p_ms);
    perform pg_notify('lastpair_sandbox', '');
    return sandbox.clock_show();
end
$$;

-- Payments put off and debits that the bank has decided on. A session that
-- another transaction has is left for the next time, as are those below.
create function sandbox.tick_payments(p_limit integer) returns integer
language plpgsql as $$
declare
    moment constant timestamptz := sandbox.now();
    target sandbox_data.session;
    n integer := 0;
begin
    for target in select * from sandbox_data.session where pay_at <= moment
        order by pay_at limit p_limit for update skip locked
    loop
        n := n + 1;
        if target.status = 'open' or target.pay_anyway then
            perform sandbox.session_take(target);
        else
            update sandbox_data.session set pay_at = null
            where session_id = target.session_id;
        end if;
    end loop;
    for target in select * from sandbox_data.session where settle_at <= moment
        order by settle_at limit p_limit for update skip locked
    loop
        n := n + 1;
        perform sandbox.session_settle(target, target.settle_to);
    end loop;
    return n;
end
$$;

-- Sessions whose time is over.
create function sandbox.tick_sessions(p_limit integer) returns integer
language plpgsql as $$
declare
    target sandbox_data.session;
    n integer := 0;
begin
    for target in select * from sandbox_data.session
        where status = 'open' and expires_at <= sandbox.now()
        order by expires_at limit p_limit for update skip locked
    loop
        n := n + 1;
        perform sandbox.session_end(target, null, null);
    end loop;
    return n;
end
$$;

-- Refunds that turn and payments that are disputed.
create function sandbox.tick_money(p_limit integer) returns integer
language plpgsql as $$
declare
    moment constant timestamptz := sandbox.now();
    target record;
    n integer := 0;
begin
    for target in select r.id, r.turn_to, s as source
        from sandbox_data.refund r
        join sandbox_data.payment p using (payment_id)
        join sandbox_data.session s using (session_id)
        where r.turn_at <= moment
        order by r.turn_at limit p_limit for update of s skip locked
    loop
        n := n + 1;
        perform sandbox.refund_turn(target.source, target.id, target.turn_to);
    end loop;
    for target in select p.payment_id, s as source
        from sandbox_data.payment p
        join sandbox_data.session s using (session_id)
        where p.dispute_at <= moment
        order by p.dispute_at limit p_limit for update of s skip locked
    loop
        n := n + 1;
        perform sandbox.dispute_open(
            target.source, target.payment_id, false);
    end loop;
    return n;
end
$$;

-- What the clock brings: up to p_limit of each kind; how many it was.
create function sandbox.tick(p_limit integer) returns integer
language plpgsql security definer set search_path = sandbox_data, pg_temp
as $$
begin
    return sandbox.tick_payments(p_limit) + sandbox.tick_sessions(p_limit)
        + sandbox.tick_money(p_limit);
end
$$;

-- Milliseconds until the sender or the clock has something to do: 0 when
-- there is, at most p_most.
create function sandbox.wait(p_most integer) returns integer
language sql volatile security definer
set search_path = sandbox_data, pg_temp
begin atomic
    select least(p_most, coalesce(min(t.ms), p_most))::integer
    from (select sandbox.ms_until(min(next_try), clock_timestamp()) as ms
        from sandbox_data.delivery where next_try is not null
        union all select sandbox.ms_until(least(
            (select min(expires_at) from sandbox_data.session
                where status = 'open'),
            (select min(pay_at) from sandbox_data.session
                where pay_at is not null),
            (select min(settle_at) from sandbox_data.session
                where settle_at is not null),
            (select min(turn_at) from sandbox_data.refund
                where turn_at is not null),
            (select min(dispute_at) from sandbox_data.payment
                where dispute_at is not null)), sandbox.now())) t;
end;
