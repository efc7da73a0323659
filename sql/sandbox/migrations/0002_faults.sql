-- The stand-in grows up: a clock of its own, faults on demand, and money that
-- is late, goes back slowly, or is disputed.

-- One row. `ahead`: how far the clock has been moved forward; `seed`: what
-- decides whom a fault with a percentage strikes.
create table sandbox_data.setting (
    one boolean primary key default true check (one),
    ahead interval not null default '0' check (ahead >= interval '0'),
    seed text not null default 'seed' check (length(seed) between 1 and 200)
);
insert into sandbox_data.setting default values;

-- `origin` is what faults know a session by, the same in each run: the key
-- that it was created with, else its id. `expires_at` is on the sandbox's
-- clock; one that was meant by the real one has been moved by `shift`, and is
-- told without it. `settle_at`: when the bank says `settle_to` of a debit.
alter table sandbox_data.session
    add column origin text,
    add column shift interval not null default '0',
    add column settle_at timestamptz,
    add column settle_to text check (settle_to in ('succeeded', 'failed')),
    add check ((settle_at is null) = (settle_to is null));
update sandbox_data.session set origin = id;
alter table sandbox_data.session alter column origin set not null;
create index session_settle on sandbox_data.session (settle_at)
    where settle_at is not null;

-- `dispute_at`: when the buyer will call it back from the bank.
alter table sandbox_data.payment add column dispute_at timestamptz;
create index payment_dispute on sandbox_data.payment (dispute_at)
    where dispute_at is not null;

-- `turn_at`: when it becomes what `turn_to` says.
alter table sandbox_data.refund
    drop constraint refund_status_check,
    add constraint refund_status_check check (
        status in ('pending', 'succeeded', 'failed')),
    add column origin text,
    add column turn_at timestamptz,
    add column turn_to text check (turn_to in ('succeeded', 'failed')),
    add check ((turn_at is null) = (turn_to is null)),
    add check (status <> 'failed' or turn_at is null);
update sandbox_data.refund set origin = id;
alter table sandbox_data.refund alter column origin set not null;
create index refund_turn on sandbox_data.refund (turn_at)
    where turn_at is not null;

-- The bank's process about a payment, one at a time. It has the money while this
-- is open; lost, the shop never sees it again. An inquiry only asks.
create table sandbox_data.dispute (
    dispute_id bigint generated always as identity primary key,
    payment_id bigint not null references sandbox_data.payment,
    id text collate "C" not null unique check (id ~ '^du_[0-9a-z]{24}$'),
    amount bigint not null check (amount between 1 and 99999999),
    status text not null check (status in ('warning_needs_response',
        'warning_closed', 'needs_response', 'won', 'lost')),
    created_at timestamptz not null,
    closed_at timestamptz,
    check ((status in ('warning_needs_response', 'needs_response'))
        = (closed_at is null))
);
create index dispute_payment on sandbox_data.dispute (payment_id);
create unique index dispute_open on sandbox_data.dispute (payment_id)
    where closed_at is null;

-- `sending`: claimed, so next_try is the end of the claim. `dropped`: a fault
-- keeps it from being sent.
alter table sandbox_data.delivery
    add column sending boolean not null default false,
    add column dropped boolean not null default false,
    add check (not dropped or next_try is null);

-- What goes wrong on demand.
create table sandbox_data.fault (
    fault_id bigint generated always as identity primary key,
    target text not null,
    kind text not null,
    percent integer not null check (percent between 1 and 100),
    times integer check (times > 0), -- NULL: no end
    ms bigint not null check (ms between 0 and 31536000000),
    created_at timestamptz not null,
    cleared_at timestamptz, -- by hand, or after so many times
    check (case target
        when 'delivery' then kind in ('duplicate', 'delay', 'reorder', 'drop')
        when 'payment' then kind = 'dispute'
        when 'refund' then kind in ('slow', 'conflict', 'rate', 'error',
            'error_after', 'unavailable', 'timeout', 'lost',
            'refund_pending', 'refund_fails', 'refund_pending_fails')
        when 'look' then kind in ('slow', 'rate', 'error', 'error_after',
            'unavailable', 'timeout', 'lost')
        else target in ('open', 'end', 'any') and kind in ('slow',
            'conflict', 'rate', 'error', 'error_after', 'unavailable',
            'timeout', 'lost') end),
    -- nginx gives an answer up after 120 s.
    check (kind not in ('slow', 'timeout') or ms <= 100000)
);
create index fault_active on sandbox_data.fault (target)
    where cleared_at is null;

-- Whom a fault has struck. Rows, not a counter: no two strikes wait for each
-- other.
create table sandbox_data.strike (
    fault_id bigint not null references sandbox_data.fault,
    subject text not null,
    created_at timestamptz not null
);
create index strike_fault on sandbox_data.strike (fault_id);

-- How often a subject has called, while there are faults.
create table sandbox_data.visit (
    target text not null,
    subject text not null,
    n integer not null check (n > 0),
    primary key (target, subject)
);

-- Keys of calls that a fault makes slow: in use until then.
create table sandbox_data.busy (
    key text collate "C" primary key,
    until timestamptz not null
);
