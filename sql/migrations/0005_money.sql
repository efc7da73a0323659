-- Money comes and goes in more ways than once in and once back.

-- The ladder for late money: free units, then the allowance, then back. What
-- was called retake took from both.
alter table data.item drop constraint item_late_check;
alter table data.item alter column late
    set default '{retake,allowance,refund}';
update data.item set late = '{retake,allowance,refund}'
where late = '{retake,refund}';
alter table data.item add constraint item_late_check check (late in (
    '{refund}', '{retake,refund}', '{allowance,refund}',
    '{retake,allowance,refund}'));

alter table data.payment
    -- Since when the provider says that money is on its way.
    add column checking_at timestamptz,
    -- Which step of the ladder served it when it came late.
    add column late text check (late in ('retake', 'allowance'));

-- The bank's own process about a payment, of which there may be several.
create table data.dispute (
    dispute_id bigint generated always as identity primary key,
    payment_id bigint not null references data.payment,
    -- The provider's name for it; NULL where it has none.
    ref text,
    state text not null check (state in (
        'inquiry',          -- the bank asks, and has taken nothing yet
        'inquiry_closed',   -- nor will it, unless it thinks again
        'open',             -- it has taken the money, for now
        'won',              -- and gave it back to us
        'lost')),           -- or to the buyer
    -- NULL: all of the payment.
    amount bigint check (amount > 0),
    opened_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    check ((ended_at is null) = (state in ('inquiry', 'open')))
);
create unique index dispute_once on data.dispute
    (payment_id, coalesce(ref, ''));

-- All money that goes back, whoever sent it: a key of ours is there when we
-- ask for it; without one, somebody did it at the provider.
alter table data.refund
    drop constraint refund_payment_id_key,
    drop constraint refund_reason_check,
    drop constraint refund_state_check,
    alter column key drop not null,
    add column asked_by text,
    -- void: the money had gone back another way before ours did.
    add constraint refund_state_check check (state in (
        'owed', 'pending', 'succeeded', 'failed', 'void')),
    add constraint refund_reason_check check (reason in (
        'paid_late', 'paid_twice', 'asked_for', 'at_provider')),
    add constraint refund_key_check check (
        (key is null) = (reason = 'at_provider')),
    add constraint refund_made_check check (
        reason <> 'at_provider' or refund_ref is not null);
create index refund_payment on data.refund (payment_id);

-- What an event says of a refund or a dispute, and whose key it carries;
-- refund_ref is the provider's name for the one or the other.
alter table data.event rename column refund_state to state;
alter table data.event add column key text;
alter table data.event drop constraint event_kind_check;
alter table data.event add constraint event_kind_check check (kind in (
    'paid', 'pending', 'failed', 'expired', 'refund', 'dispute', 'look',
    'ignore', 'unusable'));
-- Events that wait for our record: by their hold, session or payment. Each
-- question about what waits, here and below, has an index that serves no
-- other: plans that were made while little waited are kept, and would read all
-- of it through another's. Statements write these conditions exactly so.
drop index data.event_unmatched;
create index event_waits_hold on data.event (hold)
    where (outcome = 'unmatched') is true and hold is not null;
create index event_waits_session on data.event (session_id)
    where (outcome = 'unmatched') is true and session_id is not null;
create index event_waits_payment on data.event (payment_ref)
    where (outcome = 'unmatched') is true and payment_ref is not null;
create index event_outcome on data.event (outcome, event_seq);

-- A refund's call is about that refund; the others are about their payment.
-- Pay pages are opened in the order of their holds, not of their calls.
alter table data.outbox
    drop constraint outbox_kind_check,
    drop constraint outbox_kind_payment_id_key,
    add column refund_id bigint references data.refund,
    add column hold_id bigint,
    -- Whose session claimed it: when that is gone, the call is nobody's, and
    -- need not wait until its lease is over.
    add column claimed_by integer;
update data.outbox o set hold_id = p.hold_id
from data.payment p where p.payment_id = o.payment_id;
update data.outbox o set refund_id = r.refund_id
from data.refund r where r.payment_id = o.payment_id and o.kind = 'refund';
alter table data.outbox
    alter column hold_id set not null,
    add constraint outbox_kind_check check (
        kind in ('open', 'expire', 'refund', 'fetch')),
    add constraint outbox_refund_check check (
        (kind = 'refund') = (refund_id is not null));
create unique index outbox_once on data.outbox (kind, payment_id)
    where refund_id is null;
create unique index outbox_refund on data.outbox (refund_id)
    where refund_id is not null;
drop index data.outbox_due;
create index outbox_due on data.outbox (kind, next_try)
    where done_at is null and not stuck;
create index outbox_open on data.outbox (hold_id)
    where (kind = 'open' and done_at is null and not stuck) is true;
create index outbox_claimed on data.outbox (claimed_by)
    where (done_at is null and claimed_by is not null) is true;

-- What waits for a person. Each matter is written down once, however often
-- it comes up, and stays until somebody says how it was settled.
create table data.task (
    task_id bigint generated always as identity primary key,
    kind text not null check (kind in (
        'stuck',            -- a call that the provider does not answer
        'refused',          -- or that it will not carry out
        'mismatch',         -- another amount or currency than asked for
        'unclear',          -- money whose place is not known
        'refund_failed',    -- the buyer must be paid another way
        'dispute',          -- answer the bank in time
        'dispute_lost',
        'difference',       -- the provider's books say something else
        'mail',             -- that could not be sent
        'not_set_up')),     -- a provider that calls wait for
    -- What it is about, once for each kind: a call's, an event's key.
    subject text not null,
    hold_id bigint references data.hold,
    payment_id bigint references data.payment,
    refund_id bigint references data.refund,
    outbox_id bigint references data.outbox,
    detail text,
    created_at timestamptz not null default clock_timestamp(),
    settled_at timestamptz,
    settled_by text,
    note text,
    unique (kind, subject),
    check ((settled_at is null) = (settled_by is null))
);
create index task_open on data.task (task_id) where settled_at is null;
create index task_hold on data.task (hold_id) where hold_id is not null;

-- Mail that is owed: to a buyer about an order, or to the operator about a
-- task. What it says is read when it is sent.
create table data.mail (
    mail_id bigint generated always as identity primary key,
    kind text not null check (kind in ('paid', 'paid_late', 'pending',
        'payment_failed', 'refund_owed', 'refunded', 'refund_failed', 'task')),
    hold_id bigint references data.hold,
    refund_id bigint references data.refund,
    task_id bigint unique references data.task,
    try integer not null default 0,
    next_try timestamptz not null,
    stuck boolean not null default false,
    last_error text,
    created_at timestamptz not null default clock_timestamp(),
    done_at timestamptz,
    check ((kind = 'task') = (task_id is not null)),
    check ((kind = 'task') = (hold_id is null))
);
create unique index mail_once on data.mail (hold_id, kind,
    coalesce(refund_id, 0)) where hold_id is not null;
create index mail_due on data.mail (next_try)
    where done_at is null and not stuck;
create index mail_stuck on data.mail (mail_id)
    where done_at is null and stuck;

-- What was only to be seen by looking becomes a task. A dispute counts as open:
-- the news of its end, if it came, is in the inbox and can be replayed. Its
-- name was not read before: it is in the bytes, and so is what it began as.
insert into data.dispute (payment_id, ref, state, amount, opened_at)
select distinct on (p.payment_id, b.ref) p.payment_id, b.ref,
    case when b.body ~ '"status": *"warning_' then 'inquiry'
        else 'open' end,
    nullif(e.amount, 0), e.received_at
from data.event e
cross join lateral (select encode(e.body, 'escape') as body,
    substring(encode(e.body, 'escape') from '"(d[pu]_[0-9A-Za-z]+)"')
        as ref) b
join data.payment p on p.provider = e.provider
    and p.payment_ref = e.payment_ref and p.captured > 0
where e.kind = 'dispute' and e.outcome = 'person'
order by p.payment_id, b.ref, e.event_seq;
-- Until the bank has decided, nothing of such an order is sent.
update data.outbox o set done_at = clock_timestamp()
where o.kind = 'refund' and o.done_at is null
    and exists (select from data.dispute d join data.payment p
            using (payment_id)
        where p.hold_id = o.hold_id and d.ended_at is null);
insert into data.task (kind, subject, hold_id, payment_id, detail)
select 'dispute', case d.state when 'inquiry' then 'inquiry '
        else 'dispute ' end || d.dispute_id, p.hold_id, payment_id,
    'the payment is disputed' || coalesce(': ' || d.ref, '')
from data.dispute d join data.payment p using (payment_id);
insert into data.task (kind, subject, hold_id, payment_id, detail)
select 'mismatch', 'payment ' || payment_id, hold_id, payment_id,
    format('paid %s, asked for %s %s', captured, amount, currency)
from data.payment where state = 'mismatch';
insert into data.task (kind, subject, hold_id, payment_id, refund_id,
    outbox_id, detail)
select 'stuck', 'call ' || o.outbox_id, o.hold_id, o.payment_id,
    o.refund_id, o.outbox_id, o.last_error
from data.outbox o where o.stuck and o.done_at is null and o.kind <> 'open';
insert into data.task (kind, subject, hold_id, payment_id, refund_id, detail)
select 'refund_failed', 'refund ' || r.refund_id, p.hold_id, p.payment_id,
    r.refund_id, r.reason
from data.refund r join data.payment p using (payment_id)
where r.state = 'failed';
insert into data.task (kind, subject, hold_id, detail)
select 'unclear', 'event ' || e.event_seq, h.hold_id, e.detail
from data.event e left join data.hold h on h.id = e.hold
where e.outcome = 'person'
    and not exists (select from data.refund r
        where r.refund_ref = e.refund_ref and r.state = 'failed')
    and not exists (select from data.payment p
        where p.provider = e.provider and p.captured > 0
            and (p.session_id = e.session_id or p.payment_ref = e.payment_ref)
            and case e.kind when 'paid' then p.state = 'mismatch'
                when 'dispute' then exists (select from data.dispute d
                    where d.payment_id = p.payment_id) end);
