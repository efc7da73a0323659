-- Plays what may happen to one order, in every order in which it may come,
-- each thing twice: the delivery again, then every fact once more under
-- another event id. After each step no state may have gone backwards; at the end the
-- cashier makes the calls that are due, the audit must find nothing, no event
-- may wait, and the money must add up.
--
-- Each play has numbers of its own, so that none reads what is left of those
-- before it: n for the order's hold, its page cs_n (paid by pi_n) and another
-- page of it, cs_nb; n + 1 for a rival's hold. Their item is In.
create sequence t.plays increment 2;
create function t.me() returns integer language sql
return current_setting('t.me')::integer;
create function t.mine() returns text language sql
return 'I' || t.me();
create table t.seen (what text primary key, rank bigint not null);

-- Everything of the order that may only rise. By indexes: rows of what was
-- played before are dead, but there.
create view t.ranks as
with h as materialized (select * from data.hold where id = t.hid(t.me())),
    p as (select p.* from h join data.payment p using (hold_id))
select 'hold' as what, case when reason = 'refunded' then 3
    else array_position('{held,released,paid}', state) - 1 end as rank
from h
union all
select 'payment ' || key, case state when 'opening' then 0 when 'open' then 1
    when 'checking' then 2 when 'paid' then 4 when 'mismatch' then 4
    else 3 end
from p
union all
select 'captured ' || key, captured from p
union all
select 'dispute ' || d.dispute_id, array_position(
    '{inquiry,inquiry_closed,open,won,lost}', d.state)
from p join data.dispute d using (payment_id)
union all
select 'refund ' || r.refund_id, array_position(
    '{owed,void,pending,succeeded,failed}', r.state)
from p join data.refund r using (payment_id);

-- What has gone backwards since the last look; NULL: nothing.
create function t.look() returns text language plpgsql as $$
declare
    fallen text := (select string_agg(what, ', ')
        from t.ranks r join t.seen s using (what) where r.rank < s.rank);
begin
    insert into t.seen select * from t.ranks
    on conflict (what) do update set rank = excluded.rank;
    return fallen;
end
$$;

-- The calls that are due, answered as by a provider that does what it is told.
create function t.drain() returns void language plpgsql as $$
declare
    call record;
begin
    for call in select c.* from t.claim() c loop
        if call.kind = 'open' then
            perform api.cashier_opened(call.outbox_id, 'cs_' || t.me(),
                'http://p');
        elsif call.kind = 'expire' then
            perform api.cashier_expired(call.outbox_id);
        elsif call.kind = 'refund' then
            perform api.cashier_refunded(call.outbox_id, 're_' || call.key,
                'pending');
        else
            perform api.cashier_done(call.outbox_id);
        end if;
    end loop;
end
$$;

-- One thing happens. `again` goes into the event's id.
create function t.happens(step text, again text) returns void
language plpgsql as $$
declare
    me constant integer := t.me();
    hold constant text := t.hid(me);
    ref constant text := 'pi_' || me;
    id constant text := concat_ws(' ', me, step, again);
    word text := split_part(step, ' ', 1);
    rest text := split_part(step, ' ', 2);
    nr bigint := substring(step from ' ([0-9]+)$');
begin
    case word
    -- The page: its own news, and the second source of "paid".
    when 'paid', 'pending', 'failed', 'expired' then
        perform t.event(id, word, me);
    when 'intent' then
        perform t.settle(id, 'paid', hold, null, ref, null, null, 2500,
            'EUR');
    when 'short' then
        perform t.event(id, 'paid', me, 2400);
    when 'twin' then
        perform t.event(id, 'paid', me, null, 'EUR', 'cs_' || me || 'b',
            ref || 'b');
    -- Somebody gives back at the provider: a state and an amount.
    when 'hand' then
        perform t.refund_event(id, ref, 're_hand' || me, rest, nr);
    -- Our own refund, whose key the provider repeats.
    when 'ours' then
        perform t.refund_event(id, ref, 're_refund-' || hold, rest, 2500,
            'refund-' || hold);
    when 'named' then
        perform t.settle(id, 'refund', hold, null, ref, 're_named' || me,
            rest, nr, 'EUR');
    -- The same, of the other page's money, and told with the order's name.
    when 'hand2' then
        perform t.settle(id, 'refund', hold, null, ref || 'b',
            're_handb' || me, rest, nr, 'EUR');
    when 'dispute' then
        perform t.dispute_event(id, ref, rest, coalesce(nr, 2500),
            nullif(split_part(step, ' ', 3), ''));
    -- What we do.
    when 'opened' then
        perform api.cashier_opened(t.call(me, 'open'), 'cs_' || me,
            'http://p');
    when 'ended' then
        perform api.cashier_expired(t.call(me, 'expire'));
    when 'calls' then
        perform t.drain();
    when 'back' then
        perform t.give_back(me);
    when 'drop' then
        perform api.hold_drop(hold, t.buyer(me));
    when 'sweep' then
        perform api.sweep(100);
    end case;
end
$$;

-- How it ended, in words that can be compared.
create function t.ending() returns text language sql
return (select concat_ws(', ',
    concat_ws(' ', h.state, h.reason),
    (select string_agg(p.late, ' ') from data.payment p
        where p.hold_id = h.hold_id),
    (select 'in ' || sum(p.captured) || ' back '
            || sum(api.payment_returned(p.payment_id))
        from data.payment p where p.hold_id = h.hold_id),
    (select string_agg(r.state, ' ' order by r.state) from data.refund r
        where r.state <> 'void'),
    (select string_agg(d.state, ' ' order by d.state) from data.payment p
        join data.dispute d using (payment_id) where p.hold_id = h.hold_id),
    t.tasks())
    from data.hold h where h.id = t.hid(t.me()));

-- What is wrong at the end; NULL: nothing.
create function t.wrong() returns text language sql
return (select string_agg(what, '; ') from (
    select what || ' ' || which as what from api.audit()
    union all
    select 'waits: ' || event_id from data.event
    where outcome in ('received', 'unmatched')
    union all
    -- What was kept is what the goods cost, less what was given back in part.
    select format('%s was kept of a %s order of %s', kept, h.state, h.amount)
    from data.hold h
    cross join lateral (select sum(p.captured
            - api.payment_returned(p.payment_id)) as kept
        from data.payment p where p.hold_id = h.hold_id
            and p.state = 'paid'
            and api.dispute_summary(p.payment_id) is distinct from 'lost') k
    where kept <> 0 and not exists (select from data.refund r
            where r.state = 'failed')
        and (h.state <> 'paid' or kept + (select coalesce(sum(r.amount), 0)
            from data.refund r join data.payment p using (payment_id)
            where p.hold_id = h.hold_id and r.reason <> 'paid_twice'
                and r.state <> 'void') <> h.amount)) w);

-- Plays one order of steps from a setup, and undoes it all: how it ended, or
-- what went wrong.
create function t.play(setup text, steps text[]) returns text
language plpgsql as $$
declare
    step text;
    again text;
    found_wrong text;
    first_end text;
begin
    perform set_config('t.me', nextval('t.plays')::text, true);
    execute setup;
    perform t.look();
    foreach again in array '{a,b}'::text[] loop
        foreach step in array steps loop
            perform t.happens(step, again);
            if again = 'a' then
                perform t.happens(step, again);
            end if;
            found_wrong := t.look();
            if found_wrong is not null then
                raise exception using errcode = 'LP001', message
                    = 'backwards after ' || step || ': ' || found_wrong;
            end if;
        end loop;
        perform t.drain();
        found_wrong := coalesce(t.look(), case again
            when 'b' then t.wrong() end);
        if found_wrong is not null
            or first_end is distinct from t.ending() and again = 'b'
        then
            raise exception using errcode = 'LP001', message = concat_ws(
                ': ', again, t.ending(), found_wrong);
        end if;
        first_end := t.ending();
    end loop;
    raise exception using errcode = 'LP001', message = first_end;
exception when sqlstate 'LP001' then
    return sqlerrm;
end
$$;

create function t.orders(things text[]) returns setof text[]
language sql
begin atomic
    with recursive so_far (made, rest) as (
        select '{}'::text[], things
        union all
        select made || rest[n], rest[:n - 1] || rest[n + 1:]
        from so_far cross join lateral generate_subscripts(rest, 1) n)
    select made from so_far where cardinality(rest) = 0;
end;

-- A history: from the setup, these steps in every order end in one of these
-- ways. `causes` are pairs that can only come in this order.
create function t.history(
    what text, setup text, steps text[], ends text[],
    causes text[] default '{}')
returns text language plpgsql as $$
begin
    return (select is(string_agg(made::text || ' ends: ' || ended, E'\n'
            order by made), null, format('%s: each of %s orders', what,
            (select count(*) from t.orders(steps))))
        from (select made, t.play(setup, made) as ended
            from t.orders(steps) made
            where not exists (select from unnest(causes) c
                where array_position(made, split_part(c, ' > ', 1))
                    > array_position(made, split_part(c, ' > ', 2)))) p
        where ended <> all (ends));
end
$$;
