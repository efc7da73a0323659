-- Who may call what: each process its own functions, nobody a table.
begin;
\ir lib/fixture.sql
select plan(20);

create table t.may (role text, function text);
insert into t.may
select 'lastpair_' || role, function from (values
    ('web', '{availability,hold_take,gate_members,hold_show,hold_drop,
        payment_start,payment_settle,payment_settle_all}'::text[]),
    ('sweeper', '{sweep}'),
    ('cashier', '{cashier_claim,cashier_wait,cashier_opened,cashier_expired,
        cashier_done,cashier_refunded,cashier_retry,cashier_refused,
        cashier_stray,payment_settle}'),
    ('cashier', '{reconcile_begin,reconcile_page,reconcile_compare,
        reconcile_next,reconcile_heard,reconcile_finish,reconcile_release,
        reconcile_show}'),
    ('courier', '{courier_claim,courier_wait,courier_sent,courier_retry,
        courier_refused,courier_void}'),
    ('operator', '{item_add,item_set,item_split,item_show,item_list,hold_list,
        order_show,order_list,order_refund,event_list,event_show,event_counts,
        event_replay_list,event_replay,payment_settle,task_list,task_settle,
        task_retry,audit}'),
    ('operator', '{reconcile_begin,reconcile_page,reconcile_compare,
        reconcile_next,reconcile_heard,reconcile_finish,reconcile_release,
        reconcile_show}')) m (role, functions)
cross join unnest(functions) function;

create view t.can as
select r.rolname::text as role, p.proname::text as function
from pg_roles r cross join pg_proc p
where r.rolname in ('lastpair_web', 'lastpair_sweeper', 'lastpair_cashier',
        'lastpair_courier', 'lastpair_operator', 'lastpair_sandbox')
    and p.pronamespace = 'api'::regnamespace
    and has_function_privilege(r.oid, p.oid, 'execute')
    and has_schema_privilege(r.oid, 'api', 'usage');

select set_eq(
    format('select function from t.can where role = %L', role),
    format('select function from t.may where role = %L', role),
    role || ' can call its functions and no other')
from unnest('{lastpair_web,lastpair_sweeper,lastpair_cashier,
    lastpair_courier,lastpair_operator,lastpair_sandbox}'::text[]) role;

select is_empty($$
    select p.proname from pg_proc p
    where p.pronamespace = 'api'::regnamespace
        and has_function_privilege('public', p.oid, 'execute')$$,
    'nobody else can call any function of api');
select is_empty($$
    select r.rolname, c.relname, privilege
    from pg_roles r cross join pg_class c
    cross join unnest('{select,insert,update,delete,truncate,references,
        trigger}'::text[]) privilege
    where r.rolname ~ '^lastpair_' and r.rolname <> 'lastpair_owner'
        and c.relnamespace = 'data'::regnamespace and c.relkind in ('r', 'v')
        and has_table_privilege(r.oid, c.oid, privilege)$$,
    'no role has any right on a table');
select is_empty($$
    select r.rolname, c.relname
    from pg_roles r cross join pg_class c
    where r.rolname ~ '^lastpair_' and r.rolname <> 'lastpair_owner'
        and c.relnamespace = 'data'::regnamespace and c.relkind = 'S'
        and has_sequence_privilege(r.oid, c.oid, 'usage')$$,
    'nor on a sequence');
select is_empty($$
    select r.rolname, n.nspname
    from pg_roles r cross join pg_namespace n
    where r.rolname ~ '^lastpair_' and r.rolname <> 'lastpair_owner'
        and (n.nspname = 'data'
                and has_schema_privilege(r.oid, n.oid, 'usage')
            or n.nspname in ('data', 'api')
                and has_schema_privilege(r.oid, n.oid, 'create'))$$,
    'nor a way into the schema of the tables, nor to add to either');
select is_empty($$
    select rolname from pg_roles where rolname ~ '^lastpair_'
        and (rolsuper or rolcreaterole or rolcreatedb or rolbypassrls
            or rolreplication)$$,
    'no role is more than a login');
select is_empty($$
    select p.proname from pg_proc p
    where p.pronamespace = 'api'::regnamespace and p.prosecdef
        and p.proconfig is distinct from '{"search_path=data, pg_temp"}'$$,
    'every function with the owner''s rights fixes its search path');
select set_eq(
    $$select proname::text from pg_proc
        where pronamespace = 'api'::regnamespace and prosecdef$$,
    'select distinct function from t.may',
    'and only what somebody may call has the owner''s rights');

set local role lastpair_web;
select throws_ok('select * from data.hold', '42501', null,
    'the web cannot read holds');
select throws_ok($$select api.stock_move('{1}', '{1}', '{-5}', null)$$,
    '42501', null, 'nor move stock by itself');
set local role lastpair_sweeper;
select throws_ok($$select api.hold_show('x', null)$$, '42501', null,
    'the sweeper cannot look at holds');
set local role lastpair_web;
select throws_ok($$select api.order_refund('x', null, 'x')$$, '42501', null,
    'the web gives no money back');
select throws_ok($$select api.task_settle(1, null, 'x')$$, '42501', null,
    'nor says that a matter is settled');
set local role lastpair_courier;
select throws_ok($$select api.mail_buyer(1, 'paid', null)$$, '42501', null,
    'the courier writes no mail of its own');
set local role lastpair_sandbox;
select throws_ok($$select api.availability('{x}')$$, '42501', null,
    'the stand-in provider cannot call the shop');
reset role;
select * from finish();
rollback;
