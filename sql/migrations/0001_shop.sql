-- The shop's tables. The record of stock is `stock`; a hold's units are its
-- `hold_line` rows; the two are kept equal by every function in api and
-- compared by api.audit():
--     stock.held = sum(qty) of its lines in state held
--     stock.sold = sum(qty) of its lines in state paid

create table data.item (
    item_id bigint generated always as identity primary key,
    -- Text, compared byte by byte; it is also a file name and part of a URL.
    sku text collate "C" not null unique check (
        length(sku) between 1 and 100
        and sku !~ '^[.[:space:]]|[[:space:]]$|[/\\[:cntrl:]]'),
    title text not null check (
        length(title) between 1 and 200 and title !~ '[[:cntrl:]]'),
    kind text not null default 'count' check (kind in ('count', 'unit')),
    price bigint not null check (price between 1 and 99999999),
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    hold_seconds integer not null check (hold_seconds between 1 and 86400),
    per_buyer integer not null check (per_buyer between 1 and 1000),
    -- What the operator wants; opens_at and closes_at apply on top.
    status text not null default 'open' check (
        status in ('open', 'paused', 'closed')),
    opens_at timestamptz,
    closes_at timestamptz check (closes_at > opens_at),
    -- Steps of the ladder for a late payment, tried in this order.
    late text[] not null default '{retake,refund}' check (
        late in ('{retake,refund}', '{refund}')),
    version bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    -- No order can exceed what every payment method takes.
    check (price * per_buyer <= 99999999)
);

-- An item's units, over one or more buckets. Updated in place (HOT): nothing
-- but the key is indexed, and half of each page is left for new versions.
create table data.stock (
    item_id bigint not null references data.item,
    bucket integer not null check (bucket between 1 and 1000),
    total bigint not null check (total between 0 and 1000000000),
    allowance bigint not null default 0 check (
        allowance between 0 and 1000000000),
    held bigint not null default 0 check (held >= 0),
    sold bigint not null default 0 check (sold >= 0),
    version bigint not null default 1,
    primary key (item_id, bucket),
    constraint never_more check (held + sold <= total + allowance)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000);

-- One row is an order and its hold: they begin and end together. `id` is the
-- hold's unguessable name; the order's number for people is ord_<hold_id>.
create table data.hold (
    hold_id bigint generated always as identity (start 1001) primary key,
    id text collate "C" not null unique check (
        id ~ '^hld_[A-Za-z0-9_-]{22}$'),
    key text collate "C" unique check (length(key) between 16 and 255),
    buyer uuid not null,
    email text check (length(email) <= 254),
    amount bigint not null check (amount between 1 and 99999999),
    currency text not null,
    state text not null default 'held' check (
        state in ('held', 'paid', 'released')),
    reason text check (
        reason in ('expired', 'dropped', 'payment_failed', 'refunded')),
    created_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > created_at),
    ended_at timestamptz,
    check ((state = 'released') = (reason is not null)),
    check ((state = 'held') = (ended_at is null))
) with (fillfactor = 90);

-- Which units: one row per item and bucket. A line stays `held` (and counted
-- in stock.held) until somebody who holds the lock on its stock row returns
-- it; whether it is still in force is judged by expires_at.
create table data.hold_line (
    hold_id bigint not null references data.hold,
    item_id bigint not null,
    bucket integer not null,
    qty bigint not null check (qty between 1 and 1000),
    price bigint not null check (price between 1 and 99999999),
    buyer uuid not null,
    state text not null default 'held' check (
        state in ('held', 'paid', 'released')),
    expires_at timestamptz not null,
    -- The first of the rows that one item's units are spread over.
    lead boolean not null,
    primary key (hold_id, item_id, bucket),
    foreign key (item_id, bucket) references data.stock
) with (fillfactor = 90);

-- Promise 3: one live hold per buyer and item.
create unique index hold_line_one_live on data.hold_line (buyer, item_id)
    where state = 'held' and lead;
create index hold_line_paid on data.hold_line (buyer, item_id)
    where state = 'paid';
-- For questions about expiry alone: they write this condition exactly so. As
-- `state = 'held'` it would serve every question about held lines, and a plan
-- made when the table was empty would then read all of an item's held lines
-- to find one buyer's.
create index hold_line_due on data.hold_line (item_id, expires_at)
    where (state = 'held') is true;

-- Money in: one row per pay page asked for. All that the provider is told is
-- fixed here before the first call, so that each retry says the same.
create table data.payment (
    payment_id bigint generated always as identity primary key,
    hold_id bigint not null references data.hold,
    attempt integer not null default 1 check (attempt between 1 and 9),
    provider text not null,
    key text not null unique,
    amount bigint not null check (amount between 1 and 99999999),
    currency text not null,
    title text not null,
    return_url text not null,
    session_expires_at timestamptz not null,
    -- opening: asked for; open: the buyer can pay; checking: the provider
    -- says that money is on its way; refused: the provider would not open it;
    -- mismatch: another amount was paid, a person decides.
    state text not null default 'opening' check (state in ('opening', 'open',
        'checking', 'paid', 'failed', 'expired', 'refused', 'mismatch')),
    session_id text,
    url text,
    payment_ref text,
    captured bigint not null default 0 check (captured >= 0),
    created_at timestamptz not null default clock_timestamp(),
    opened_at timestamptz,
    paid_at timestamptz,
    unique (hold_id, attempt),
    unique (provider, session_id),
    check (state <> 'open' or (session_id is not null and url is not null)),
    check ((state in ('paid', 'mismatch')) = (captured > 0))
);
create index payment_ref on data.payment (payment_ref)
    where payment_ref is not null;

-- Money out. One refund per payment: a repeat finds this row.
create table data.refund (
    refund_id bigint generated always as identity primary key,
    payment_id bigint not null unique references data.payment,
    key text not null unique,
    amount bigint not null check (amount between 1 and 99999999),
    reason text not null check (reason in ('paid_late', 'paid_twice')),
    state text not null default 'owed' check (
        state in ('owed', 'pending', 'succeeded', 'failed')),
    refund_ref text unique,
    created_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz
);

-- The inbox, kept for ever: what each webhook said, in the provider's bytes
-- and in our words, and what came of it.
create table data.event (
    event_seq bigint generated always as identity primary key,
    provider text not null,
    event_id text not null,
    type text not null,
    kind text not null check (kind in ('paid', 'pending', 'failed', 'expired',
        'refund', 'dispute', 'ignore', 'unusable')),
    hold text,
    session_id text,
    payment_ref text,
    refund_ref text,
    refund_state text,
    amount bigint,
    currency text,
    received_at timestamptz not null default clock_timestamp(),
    deliveries bigint not null default 1,
    outcome text not null check (outcome in ('received', 'applied', 'repeat',
        'refund', 'ignored', 'unmatched', 'person', 'unusable')),
    detail text,
    body bytea not null,
    unique (provider, event_id)
);
-- Few rows: events that came before our own record, or belong elsewhere.
create index event_unmatched on data.event (hold)
    where outcome = 'unmatched';

-- Calls that the cashier owes the provider. Claiming a row moves next_try on,
-- so that a row whose cashier died comes back by itself.
create table data.outbox (
    outbox_id bigint generated always as identity primary key,
    kind text not null check (kind in ('open', 'expire', 'refund')),
    payment_id bigint not null references data.payment,
    key text not null,
    try integer not null default 0,
    next_try timestamptz not null,
    stuck boolean not null default false,
    last_error text,
    created_at timestamptz not null default clock_timestamp(),
    done_at timestamptz,
    unique (kind, payment_id)
);
create index outbox_due on data.outbox (next_try)
    where done_at is null and not stuck;

-- Who changed an item, from what to what.
create table data.item_change (
    change_id bigint generated always as identity primary key,
    item_id bigint not null references data.item,
    changed_at timestamptz not null default clock_timestamp(),
    changed_by text not null,
    before jsonb not null,
    after jsonb not null
);
