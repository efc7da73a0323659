-- Who may call what. No role has any right on a table; everything in api and
-- data is closed to PUBLIC first.

revoke all on schema data, api from public;
revoke all on all tables in schema data from public;
revoke all on all functions in schema api from public;

grant usage on schema api to lastpair_web, lastpair_sweeper,
    lastpair_cashier, lastpair_operator;

grant execute on function
    api.availability(text[]),
    api.hold_take(text[], uuid[], boolean[], text[], text[], integer[],
        text[], bigint[]),
    api.gate_members(text),
    api.hold_show(text, uuid),
    api.hold_drop(text, uuid),
    api.payment_start(text, uuid, text, text, integer, integer),
    api.payment_settle(text, text, text, text, text, text, text, text, text,
        text, bigint, text, text, bytea),
    api.payment_settle_all(text[], text[], text[], text[], text[], text[],
        text[], text[], text[], text[], bigint[], text[], text[], bytea[])
to lastpair_web;

grant execute on function api.sweep(integer) to lastpair_sweeper;

grant execute on function
    api.cashier_claim(text, integer, integer, integer, integer, integer),
    api.cashier_wait(text, integer),
    api.cashier_opened(bigint, text, text),
    api.cashier_expired(bigint),
    api.cashier_done(bigint),
    api.cashier_refunded(bigint, text, text),
    api.cashier_retry(bigint, text, bigint, integer),
    api.cashier_refused(bigint, text, text),
    api.cashier_stray(text, boolean),
    -- What the cashier finds at the provider goes through the inbox, too.
    api.payment_settle(text, text, text, text, text, text, text, text, text,
        text, bigint, text, text, bytea)
to lastpair_cashier;

grant execute on function
    api.item_add(text, text, bigint, text, bigint, bigint, integer, integer,
        integer, timestamptz, timestamptz, text[]),
    api.item_set(text, bigint, text, bigint, bigint, text, text),
    api.item_split(text, integer, text),
    api.item_show(text),
    api.item_list(),
    api.hold_list(text, text, integer),
    api.order_show(text),
    api.order_list(text, text, integer),
    api.order_refund(text, bigint, text),
    api.event_list(text, integer),
    api.event_show(text),
    api.event_counts(),
    api.event_replay_list(text, text, bigint, integer),
    api.event_replay(bigint, text, text, text, text, text, text, text, text,
        text, bigint, text, text),
    -- What reconciliation finds goes through the inbox, too.
    api.payment_settle(text, text, text, text, text, text, text, text, text,
        text, bigint, text, text, bytea),
    api.task_list(boolean),
    api.task_settle(bigint, text, text),
    api.task_retry(bigint, text),
    api.audit()
to lastpair_operator;

grant usage on schema api to lastpair_courier;
grant execute on function
    api.courier_claim(integer, integer),
    api.courier_wait(integer),
    api.courier_sent(bigint),
    api.courier_retry(bigint, text, bigint, integer),
    api.courier_refused(bigint, text),
    api.courier_void(bigint)
to lastpair_courier;

-- The books are compared by the cashier, and when the operator asks for it.
grant execute on function
    api.reconcile_begin(text, timestamptz, bigint, bigint, bigint, boolean,
        boolean, text, text, integer),
    api.reconcile_page(bigint, text, integer, text, text, text, text[],
        text[], text[], text[], text[], text[], text[], text[], bigint[],
        text[]),
    api.reconcile_compare(bigint, text, integer, bigint),
    api.reconcile_next(bigint, text, integer, bigint),
    api.reconcile_heard(bigint, text, integer, bigint, text, text[], text[],
        text[], text[], text[], text[], text[], text[], bigint[], text[]),
    api.reconcile_finish(bigint, text, integer),
    api.reconcile_release(bigint, text),
    api.reconcile_show(text, bigint)
to lastpair_cashier, lastpair_operator;
