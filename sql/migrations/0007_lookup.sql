-- Each question about what waits has an index that serves no other: plans that
-- were made while little waited are kept, and would read all of it through
-- another's index. Statements write these conditions exactly so.

-- Events that wait for our record: by their hold, session or payment.
drop index data.event_unmatched;
drop index data.event_unmatched_session;
drop index data.event_unmatched_payment;
create index event_waits_hold on data.event (hold)
    where (outcome = 'unmatched') is true and hold is not null;
create index event_waits_session on data.event (session_id)
    where (outcome = 'unmatched') is true and session_id is not null;
create index event_waits_payment on data.event (payment_ref)
    where (outcome = 'unmatched') is true and payment_ref is not null;

-- A refund's call, by its refund; the others have none.
alter table data.outbox drop constraint outbox_refund_id_key;
create unique index outbox_refund on data.outbox (refund_id)
    where refund_id is not null;

-- Pay pages that are to be opened, by their holds.
drop index data.outbox_open;
create index outbox_open on data.outbox (hold_id)
    where (kind = 'open' and done_at is null and not stuck) is true;
