-- Whose session claimed a call: when that is gone, the call is nobody's, and
-- need not wait until its lease is over.
alter table data.outbox add column claimed_by integer;
create index outbox_claimed on data.outbox (claimed_by)
    where (done_at is null and claimed_by is not null) is true;
