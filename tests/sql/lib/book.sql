-- A provider's own book, which says what is true whenever it is told: the money
-- that came in for an order of history.sql, and what somebody gave back there.
-- Calls are answered and news is made from it.
create table t.there (
    ref text primary key, payment text, key text, amount bigint, state text);
create table t.money (ref text primary key, session text, key text,
    amount bigint, dispute text);
-- What a provider leaves out that keeps no names of ours.
create function t.known(name text) returns text language sql
return case when current_setting('t.bare', true) is distinct from 'on'
    then name end;
create function t.bare() returns text language sql
return set_config('t.bare', 'on', true);

-- The story's money at the provider: '2500' by the page, '2500 b' by the other
-- one. p_there: what somebody gives back there,
-- as 're_x pi_n amount state', the state in the end.
create function t.book(p_money text[], p_there text[] default '{}')
returns void language sql
begin atomic
    insert into t.money
    select 'pi_' || t.me() || m.suffix, 'cs_' || t.me() || m.suffix,
        'cs-' || t.hid(t.me()) || m.attempt, m.amount, null
    from (select split_part(x, ' ', 2) as suffix,
            split_part(x, ' ', 3) as attempt,
            split_part(x, ' ', 1)::bigint as amount
        from unnest(p_money) x) m;
    insert into t.there
    select split_part(x, ' ', 1) || t.me(), 'pi_' || t.me()
        || split_part(x, ' ', 4), null, split_part(x, ' ', 2)::bigint,
        split_part(x, ' ', 3)
    from unnest(p_there) x;
end;

-- What the provider answers when it is asked to give back.
create function t.give(p_key text, p_payment text, p_amount bigint)
returns t.there language plpgsql as $$
declare
    own t.there;
    paid t.money;
    back bigint;
begin
    select * into own from t.there where key = p_key;
    if own.ref is not null then
        return own;
    end if;
    select * into paid from t.money where ref = p_payment;
    select coalesce(sum(amount), 0) into back from t.there
    where payment = p_payment and state <> 'failed';
    if paid.dispute in ('open', 'lost') then
        own.state := 'no: disputed';
    elsif back >= paid.amount then
        -- All has gone back: somebody did what was asked for.
        select * into own from t.there
        where payment = p_payment and state <> 'failed' and key is null
            and amount = p_amount order by ref limit 1;
        own.state := coalesce(own.state, 'no: none fits');
    elsif back + p_amount > paid.amount then
        own.state := 'no: more than is left';
    else
        insert into t.there values ('re_' || p_key, p_payment, p_key,
            p_amount, 'pending') returning * into own;
    end if;
    return own;
end
$$;

-- The money of a page, told by the page or by the payment.
create function t.paid(p_session text, by_page boolean, again text)
returns text language sql
return (select t.settle(concat_ws(' ', 'paid', by_page, again, m.ref), 'paid',
        t.known(t.hid(t.me())), case when by_page then m.session end, m.ref,
        null, null, m.amount, 'EUR', t.known(m.key))
    from t.money m where m.session = p_session);
create function t.refund_told(p_ref text, p_state text, again text)
returns text language sql
return (select t.settle(concat_ws(' ', p_ref, p_state, again), 'refund',
        case when r.key is not null then t.known(t.hid(t.me())) end, null,
        r.payment, r.ref, p_state, r.amount, 'EUR', t.known(r.key))
    from t.there r where r.ref = p_ref);

-- The bank's process about a page's money, which it may have ended before.
create function t.dispute_told(p_ref text, p_state text, again text)
returns text language sql
begin atomic
    update t.money set dispute = case when p_state = 'open'
        then coalesce(dispute, 'open') else p_state end
    where ref = p_ref;
    select t.dispute_event(concat_ws(' ', 'dispute', p_ref, p_state, again),
        p_ref, p_state);
end;

-- Our own refund goes on, or comes back.
create function t.ours_told(p_state text, again text) returns text
language sql
begin atomic
    update t.there set state = p_state
    where key = 'refund-' || t.hid(t.me())
        and array_position('{pending,succeeded,failed}', state)
            < array_position('{pending,succeeded,failed}', p_state);
    select t.refund_told('re_refund-' || t.hid(t.me()), p_state, again);
end;

-- The calls that are due, and those that they lead to, answered as the
-- provider's book has it.
create function t.calls() returns void language plpgsql as $$
declare
    call record;
    given t.there;
begin
    loop
        for call in select c.* from t.claim() c loop
            if call.kind = 'open' then
                perform api.cashier_opened(call.outbox_id, 'cs_' || t.me(),
                    'http://p');
            elsif call.kind = 'refund' then
                given := t.give(call.key, call.payment_ref, call.amount);
                if given.state ~ '^no: ' then
                    perform api.cashier_refused(call.outbox_id, given.state);
                else
                    perform api.cashier_refunded(call.outbox_id, given.ref,
                        given.state);
                end if;
            elsif exists (select from t.money where session = call.session_id)
            then
                -- A page that is paid cannot be ended: its news is.
                perform t.paid(call.session_id, true, 'end');
                perform api.cashier_done(call.outbox_id);
            elsif call.kind = 'expire' then
                perform api.cashier_expired(call.outbox_id);
            else
                perform api.cashier_done(call.outbox_id);
            end if;
        end loop;
        exit when not found;
    end loop;
end
$$;

-- The provider's book against ours, as a reconciliation compares them.
create function t.differences()
returns table (what text, subject text, here text, there text)
language plpgsql as $$
declare
    run bigint;
    hold constant text := t.hid(t.me());
begin
    insert into data.reconcile_run (provider, since, repair, started_by, list,
        started_at)
    values ('stripe', now() - interval '1 day', false, 't', null,
        clock_timestamp() + interval '2 minutes')
    returning run_id into run;
    insert into data.reconcile_statement (run_id, list, ref, kind, key, hold,
        session_id, payment_ref, amount, currency, seen_at)
    select run, 'sessions', m.session, 'paid', t.known(m.key),
        t.known(hold), m.session, m.ref, m.amount, 'EUR', clock_timestamp()
    from t.money m;
    insert into data.reconcile_statement (run_id, list, ref, kind, key, hold,
        payment_ref, refund_ref, state, amount, currency, seen_at)
    select run, 'refunds', r.ref, 'refund', t.known(r.key), case
            when r.key is not null then t.known(hold) end, r.payment, r.ref,
        r.state, r.amount, 'EUR', clock_timestamp()
    from t.there r;
    return query select d.what, d.subject, d.here, d.there
    from api.reconcile_differences(run) d;
    delete from data.reconcile_statement where run_id = run;
    delete from data.reconcile_run where run_id = run;
end
$$;
