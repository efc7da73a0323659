-- Who may call what: one role, and only what a process calls.
revoke all on schema sandbox, sandbox_data from public;
revoke all on all tables in schema sandbox_data from public;
revoke all on all functions in schema sandbox from public;
grant usage on schema sandbox to lastpair_sandbox;
grant execute on function
    sandbox.session_create(text, jsonb, text, text, text),
    sandbox.session_get(text),
    sandbox.session_expire(text, text, jsonb, text),
    sandbox.payment_get(text),
    sandbox.refund_create(text, jsonb, text),
    sandbox.refund_list(jsonb),
    sandbox.event_list(jsonb),
    sandbox.session_page(text),
    sandbox.session_list(integer),
    sandbox.session_pay(text, bigint, boolean),
    sandbox.session_decline(text),
    sandbox.session_bank(text, text),
    sandbox.refund_fail(text),
    sandbox.event_resend(text),
    sandbox.delivery_list(text, integer),
    sandbox.delivery_claim(integer),
    sandbox.delivery_done(bigint, integer, text),
    sandbox.tick(integer),
    sandbox.wait(integer)
to lastpair_sandbox;
