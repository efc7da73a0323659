-- What the stand-in for the payment provider remembers. Nothing of the
-- shop's is here and nothing here is the shop's: they meet over HTTP only.

create schema if not exists sandbox_data;

-- A pay page. `payment_status` is not stored: it is `paid` when the payment
-- has succeeded.
create table sandbox_data.session (
    session_id bigint generated always as identity primary key,
    id text collate "C" not null unique check (
        id ~ '^cs_test_[0-9a-z]{58}$'),
    api_version text not null,
    name text not null check (name <> ''),
    unit_amount bigint not null check (unit_amount between 1 and 99999999),
    quantity bigint not null check (quantity between 1 and 999999),
    currency text not null check (currency ~ '^[a-z]{3}$'),
    success_url text not null,
    cancel_url text,
    client_reference_id text,
    customer_email text,
    locale text,
    method_types jsonb not null,
    metadata jsonb not null,
    payment_metadata jsonb not null,
    url text not null,
    status text not null default 'open' check (
        status in ('open', 'complete', 'expired')),
    created_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > created_at),
    -- A payment under way that is carried out then; pay_anyway: also when the
    -- session has expired meanwhile.
    pay_at timestamptz,
    pay_anyway boolean not null default false,
    check (unit_amount * quantity <= 99999999),
    check (status <> 'complete' or pay_at is null)
);
create index session_lapse on sandbox_data.session (expires_at)
    where status = 'open';
create index session_pay on sandbox_data.session (pay_at)
    where pay_at is not null;

-- One payment per session, by construction; tries at it change its row.
create table sandbox_data.payment (
    payment_id bigint generated always as identity primary key,
    session_id bigint not null unique references sandbox_data.session,
    id text collate "C" not null unique check (id ~ '^pi_[0-9a-z]{24}$'),
    charge_id text collate "C" unique check (charge_id ~ '^ch_[0-9a-z]{24}$'),
    amount bigint not null check (amount between 1 and 99999999),
    state text not null check (
        state in ('requires_payment_method', 'processing', 'succeeded')),
    error text check (error in ('card_declined', 'debit_failed')),
    refunded bigint not null default 0 check (refunded between 0 and amount),
    created_at timestamptz not null,
    check ((state = 'succeeded') = (charge_id is not null)),
    check (state = 'succeeded' or refunded = 0)
);

create table sandbox_data.refund (
    refund_id bigint generated always as identity primary key,
    payment_id bigint not null references sandbox_data.payment,
    id text collate "C" not null unique check (id ~ '^re_[0-9a-z]{24}$'),
    amount bigint not null check (amount between 1 and 99999999),
    reason text,
    metadata jsonb not null,
    status text not null default 'succeeded' check (
        status in ('succeeded', 'failed')),
    created_at timestamptz not null
);
create index refund_payment on sandbox_data.refund (payment_id);

-- What was answered under an Idempotency-Key.
create table sandbox_data.idempotency (
    key text collate "C" primary key check (length(key) between 1 and 255),
    path text not null,
    params jsonb not null,
    status integer not null,
    body text not null,
    request_id text not null,
    created_at timestamptz not null
);

-- `body` is sent as it stands, at every try.
create table sandbox_data.event (
    event_seq bigint generated always as identity primary key,
    id text collate "C" not null unique check (id ~ '^evt_[0-9a-z]{24}$'),
    type text not null,
    session_id bigint not null references sandbox_data.session,
    body text not null,
    created_at timestamptz not null
);
create index event_session on sandbox_data.event (session_id);

-- Webhooks: one row when the event happens and one per resending by hand.
-- Claiming a row moves next_try on: it comes back if the sender dies.
create table sandbox_data.delivery (
    delivery_id bigint generated always as identity primary key,
    event_seq bigint not null references sandbox_data.event,
    tries integer not null default 0,
    next_try timestamptz, -- NULL: delivered or given up
    last_status integer, -- 0: no answer
    last_error text,
    created_at timestamptz not null,
    done_at timestamptz, -- when the shop took it
    check (done_at is null or next_try is null)
);
create index delivery_due on sandbox_data.delivery (next_try)
    where next_try is not null;
create index delivery_event on sandbox_data.delivery (event_seq);
