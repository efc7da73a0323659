-- Walks through every order in which a story's happenings can come. Unlike
-- history.sql it knows what is true at the provider (book.sql), and looks at
-- all of it after each single step: the audit finds nothing, no state goes
-- backwards, what the buyer was told last is so, and a happening that is told
-- again under another event id changes nothing. At the end the calls that are
-- due are made, and the inbox is read again.
--
-- Orders that begin alike are walked together: each step is taken once, then
-- all that can follow, then it is undone.
create table t.told (nr bigint generated always as identity, kind text,
    refund_id bigint);

-- The same statement as api.audit, in a function that keeps its plan.
do $do$
begin
    execute format($f$
        create function t.audit() returns table (promise integer, what text,
            which text) language plpgsql as $$
        begin
            return query %s
        end
        $$ $f$, (select regexp_replace(pg_get_function_sqlbody(
            'api.audit()'::regprocedure),
            '^BEGIN ATOMIC\s*(.*)\s*END$', '\1')));
end
$do$;

-- A hold of somebody who left an address.
create function t.take_mailed(n integer, sku text) returns text language sql
return (select outcome from api.hold_take(array[t.hid(n)], array[t.buyer(n)],
    '{t}', array[null::text], array['b' || n || '@buyer.test'], '{1}',
    array[sku], '{1}'::bigint[]));

create procedure t.begin(units bigint, extra bigint default 0,
    ladder text[] default '{retake,allowance,refund}')
language plpgsql as $$
begin
    perform t.item(t.mine(), units, allowance => extra, late => ladder);
    perform t.take_mailed(t.me(), t.mine());
    perform t.start(t.me(), t.me());
    perform 1 from t.claim();
end
$$;
-- The page is open.
create procedure t.page(units bigint, extra bigint default 0,
    ladder text[] default '{retake,allowance,refund}')
language plpgsql as $$
begin
    call t.begin(units, extra, ladder);
    perform api.cashier_opened(t.call(t.me(), 'open'), 'cs_' || t.me(),
        'http://p');
end
$$;
-- The first page was refused, and has been asked for again.
create procedure t.second(units bigint) language plpgsql as $$
begin
    call t.begin(units);
    perform api.cashier_refused(t.call(t.me(), 'open'), 'no');
    update data.payment set created_at = created_at - interval '10 s'
    where key = 'cs-' || t.hid(t.me());
    perform t.start(t.me(), t.me());
    perform 1 from t.claim();
    perform api.cashier_opened(t.call(t.me(), 'open'),
        'cs_' || t.me() || 'b', 'http://p');
end
$$;
-- And the hold over, the unit a rival's.
create procedure t.gone(units bigint, extra bigint default 0,
    ladder text[] default '{retake,allowance,refund}')
language plpgsql as $$
begin
    call t.page(units, extra, ladder);
    perform t.age(t.me());
    perform t.take(t.me() + 1, t.me() + 1, t.mine());
end
$$;

-- The provider tells something, under an event id of its own; `again` makes
-- another one of it. False: that is not its news.
create function t.told(step text, again text) returns boolean
language plpgsql as $$
declare
    me constant integer := t.me();
    hold constant text := t.hid(me);
    page constant text := 'cs_' || me;
    word constant text := split_part(step, ' ', 1);
    rest constant text := split_part(step, ' ', 2);
begin
    case word
    -- Each page's money is told by the page and by the payment.
    when 'paid' then perform t.paid(page, true, again);
    when 'intent' then perform t.paid(page, false, again);
    when 'twin' then perform t.paid(page || 'b', true, again);
    when 'twin-intent' then perform t.paid(page || 'b', false, again);
    when 'pending', 'failed', 'expired' then
        perform t.settle(concat_ws(' ', me, step, again), word,
            t.known(hold), page, case when word <> 'expired'
                then 'pi_' || me end, null, null, 2500, 'EUR',
            t.known('cs-' || hold));
    when 'dispute' then
        perform t.dispute_told('pi_' || me, rest, again);
    when 'hand', 'hand2' then
        perform t.refund_told('re_' || word || me, rest, again);
    when 'ours' then perform t.ours_told(rest, again);
    else return false;
    end case;
    return true;
end
$$;

-- One happening, told or done.
create function t.step(step text, again text) returns void
language plpgsql as $$
declare
    me constant integer := t.me();
begin
    if t.told(step, again) then
        return;
    end if;
    case split_part(step, ' ', 1)
    when 'opened' then
        perform api.cashier_opened(t.call(me, 'open'), 'cs_' || me,
            'http://p');
    when 'unopened' then
        perform api.cashier_refused(t.call(me, 'open'), 'no');
    when 'calls' then perform t.calls();
    -- Taken by the provider, and the cashier dies.
    when 'sent' then
        perform t.give(c.key, c.payment_ref, c.amount)
        from t.claim() c where c.kind = 'refund';
        update data.outbox set next_try = clock_timestamp()
        where kind = 'refund' and done_at is null;
    when 'stuck' then
        perform api.cashier_retry(t.call(me, 'refund'), 'none', 0, 0);
    when 'retry' then
        perform api.task_retry(task_id, 'ann') from data.task
        where kind in ('stuck', 'refused') and settled_at is null;
    when 'back' then perform t.give_back(me);
    when 'part' then
        perform t.give_back(me, split_part(step, ' ', 2)::bigint);
    when 'drop' then perform api.hold_drop(t.hid(me), t.buyer(me));
    when 'lapse' then
        perform t.age(me);
        perform api.outbox_expire_now(hold_id) from data.hold
        where id = t.hid(me);
    when 'rival' then perform t.take(me + 1, me + 1, t.mine());
    end case;
end
$$;

-- The whole inbox is read again, the newest first.
create function t.reread() returns void language plpgsql as $$
declare
    seq bigint;
begin
    for seq in select event_seq from data.event order by event_seq desc loop
        perform api.event_replay(e.event_seq, e.event_id, e.type, e.kind,
            e.key, e.hold, e.session_id, e.payment_ref, e.refund_ref,
            e.state, e.amount, e.currency, e.detail)
        from data.event e where e.event_seq = seq;
    end loop;
end
$$;

-- All that matters of the order, in one text.
create function t.digest() returns text language plpgsql as $$
declare
    mine constant data.hold := (select h from data.hold h
        where id = t.hid(t.me()));
begin
    return concat_ws(E'\n', concat_ws(' ', mine.state, mine.reason),
        (select string_agg(concat_ws(' ', key, state, session_id, payment_ref,
                captured, late, api.dispute_summary(payment_id)), E'\n'
                order by payment_id)
            from data.payment where hold_id = mine.hold_id),
        (select string_agg(concat_ws(' ', r.refund_ref, r.key, r.amount,
                r.state), E'\n' order by r.refund_id)
            from data.payment p join data.refund r using (payment_id)
            where hold_id = mine.hold_id),
        (select string_agg(concat_ws(' ', kind, subject, settled_at), E'\n'
            order by task_id) from data.task),
        (select string_agg(concat_ws(' ', kind, refund_id, done_at is null,
                stuck), E'\n' order by outbox_id)
            from data.outbox where hold_id = mine.hold_id),
        (select string_agg(concat_ws(' ', kind, refund_id), E'\n'
            order by mail_id) from data.mail where hold_id = mine.hold_id),
        t.stock(t.mine()));
end
$$;

-- The courier sends what is owed.
create function t.courier() returns void language plpgsql as $$
declare
    m record;
begin
    for m in select c.mail_id, c.kind, l.refund_id
        from api.courier_claim(100, 60000) c join data.mail l using (mail_id)
        where l.task_id is null
        order by 1
    loop
        insert into t.told (kind, refund_id) values (m.kind, m.refund_id);
        perform api.courier_sent(m.mail_id);
    end loop;
end
$$;

-- What is wrong now; NULL: nothing.
create function t.amiss() returns text language plpgsql as $$
declare
    mine constant data.hold := (select h from data.hold h
        where id = t.hid(t.me()));
    word text;
begin
    perform t.courier();
    -- The last word on whether there are goods.
    select kind into word from t.told
    where kind in ('paid', 'paid_late', 'payment_failed', 'refunded',
        'refund_owed', 'refund_failed')
        and not (mine.state = 'paid' and refund_id is not null)
    order by nr desc limit 1;
    return (select string_agg(what, '; ') from (
        select what || ' ' || which as what from t.audit()
        union all
        select 'the buyer was told last: ' || coalesce(word, 'nothing')
        where (mine.state = 'paid')
            <> (coalesce(word, '') in ('paid', 'paid_late'))
            -- One that somebody made there is told when it has arrived.
            and not exists (select from data.payment p
                join data.refund r using (payment_id)
                where p.hold_id = mine.hold_id and r.state = 'pending'
                    and r.key is null)
        union all
        select 'an open task without its mail' from data.task k
        where k.settled_at is null and not exists (select from data.mail m
            where m.task_id = k.task_id)) w);
end
$$;

-- What is wrong when all has been told, done and looked up; NULL: nothing.
create function t.amiss_at_last() returns text language plpgsql as $$
declare
    mine constant data.hold := (select h from data.hold h
        where id = t.hid(t.me()));
    kept bigint;
    tasks constant text := t.tasks();
begin
    select coalesce(sum(m.amount - coalesce(case when m.dispute = 'lost'
            then m.amount end, (select sum(r.amount) from t.there r
                where r.payment = m.ref and r.state <> 'failed'), 0)), 0)
    into kept from t.money m;
    return (select string_agg(what, '; ') from (
        select 'waits: ' || e.event_id as what from data.event e
        where e.outcome in ('received', 'unmatched')
        union all
        select format('there %s is kept of a %s order', kept, mine.state)
        where tasks is null and (mine.state = 'paid') <> (kept > 0)
        union all
        select format('there %s is kept of an order of %s', kept, mine.amount)
        where tasks is null and kept > mine.amount
        union all
        select 'a page outlives its hold: ' || p.key from data.payment p
        where p.hold_id = mine.hold_id and p.state = 'open'
            and mine.state <> 'held'
        union all
        select format('task %s is missing', k) from (
            select 'refund_failed' as k from t.there r
            where r.state = 'failed' and exists (select from t.money m
                where m.ref = r.payment)
            union select 'dispute_lost' from t.money where dispute = 'lost'
            union select 'dispute' from t.money where dispute = 'open') need
        where coalesce(tasks, '') !~ ('(^|,)' || k || '(,|$)')
        union all
        select format('books: %s %s, here %s, there %s', d.what, d.subject,
            d.here, d.there)
        from t.differences() d
        where d.what <> 'amount' or coalesce(tasks, '') !~ 'mismatch') w);
end
$$;

-- When all has been told and done: how it ended, or what is wrong.
create function t.arrived(made text[]) returns text language plpgsql as $$
declare
    said text;
    was text;
begin
    perform t.calls();
    said := t.amiss();
    was := t.digest();
    perform t.reread();
    perform t.calls();
    said := concat_ws('; ', said, case when t.digest() <> was
            then 'reading again makes ' || t.digest() || ' of ' || was end,
        'back: ' || t.look(), t.amiss_at_last());
    return made::text || ' ends: ' || case when said = '' then t.ending()
        else 'AMISS: ' || said end;
end
$$;

-- Takes one more step, and once more under another event id.
create function t.taken(step text) returns text language plpgsql as $$
declare
    said text;
    was text;
begin
    perform t.step(step, 'a');
    said := concat_ws('; ', t.amiss(), 'back: ' || t.look());
    was := t.digest();
    if step !~ '^(part|lapse|rival|retry)' then
        perform t.step(step, 'b');
    end if;
    return concat_ws('; ', nullif(said, ''), case when t.digest() <> was
        then 'again makes ' || t.digest() || ' of ' || was end);
end
$$;

-- All orders that go on from the steps made: how each ended.
create function t.walk(made text[], rest text[], causes text[])
returns text[] language plpgsql as $$
declare
    ends text[] := '{}';
    said text;
begin
    if cardinality(rest) = 0 then
        return array[t.arrived(made)];
    end if;
    for n in 1 .. cardinality(rest) loop
        continue when exists (select from unnest(causes) c
            where split_part(c, ' > ', 2) = rest[n]
                and split_part(c, ' > ', 1) = any (rest));
        begin
            said := t.taken(rest[n]);
            ends := ends || case when said = '' then t.walk(made || rest[n],
                    rest[:n - 1] || rest[n + 1:], causes)
                else array[(made || rest[n])::text || ' AMISS: ' || said]
                end;
            raise exception using errcode = 'LP001';
        exception when sqlstate 'LP001' then
            null;
        end;
    end loop;
    return ends;
end
$$;

-- A story: from the setup, these steps in every order end in just these ways.
-- `causes` are pairs that can only come in this order.
create function t.story(
    what text, setup text, steps text[], ends text[],
    causes text[] default '{}')
returns text language plpgsql as $$
declare
    orders text[];
begin
    begin
        perform set_config('t.me', nextval('t.plays')::text, true);
        execute setup;
        perform t.look();
        orders := t.walk('{}', steps, causes);
        raise exception using errcode = 'LP001';
    exception when sqlstate 'LP001' then
        null;
    end;
    return (select is(concat_ws(E'\n', min(o) filter (
                where split_part(o, ' ends: ', 2) <> all (ends)),
            (select 'none ends: ' || min(e) from unnest(ends) e
                having count(*) filter (where not exists (select
                    from unnest(orders) r where r like '% ends: ' || e)) > 0)),
            '', format('%s: each of %s orders', what, count(*)))
        from unnest(orders) o);
end
$$;
