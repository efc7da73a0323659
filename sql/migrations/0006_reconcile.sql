-- Comparisons with the provider's books.

-- One comparison. It goes through the lists that the provider has, newest
-- first, page by page; each page is stored together with where it ended, so
-- that a run that was killed goes on there. Whoever is at it holds a lease.
create table data.reconcile_run (
    run_id bigint generated always as identity primary key,
    provider text not null,
    -- What was made there earlier is not looked at.
    since timestamptz not null,
    repair boolean not null,
    started_by text not null,
    started_at timestamptz not null default clock_timestamp(),
    state text not null default 'running' check (
        state in ('running', 'finished', 'given_up')),
    -- The list that is read, NULL after the last, and its next page.
    list text check (list in ('sessions', 'refunds', 'events')),
    cursor text,
    sessions bigint not null default 0,
    refunds bigint not null default 0,
    events bigint not null default 0,
    holder text,
    lease_until timestamptz,
    ended_at timestamptz,
    check ((state = 'running') = (ended_at is null))
);
create unique index reconcile_run_one on data.reconcile_run (provider)
    where state = 'running';

-- What the provider has listed in a run, in our words; gone when it ends.
create table data.reconcile_statement (
    run_id bigint not null references data.reconcile_run,
    list text not null check (list in ('sessions', 'refunds', 'events')),
    ref text not null,
    kind text not null,
    key text,
    hold text,
    session_id text,
    payment_ref text,
    refund_ref text,
    state text,
    amount bigint,
    currency text,
    seen_at timestamptz not null,
    primary key (run_id, list, ref)
);

-- What a run found not to agree, and what became of it. Each is looked at
-- once at the provider before it counts. The ids are of our own rows, if any
-- is meant.
create table data.reconcile_difference (
    difference_id bigint generated always as identity primary key,
    run_id bigint not null references data.reconcile_run,
    what text not null check (what in (
        'paid_there',       -- money came, and we do not know of it
        'paid_here',        -- we were told of money, and it is not there
        'pending_there',    -- it is on its way
        'amount',
        'refund_there', 'refund_here', 'refund_state', 'refund_amount',
        'event')),          -- news that did not reach us
    -- The provider's name of the thing, or our key.
    subject text not null,
    hold_id bigint,
    payment_id bigint,
    refund_id bigint,
    here text not null,
    there text not null,
    -- Since when it may be that the news is on its way; NULL: it is not.
    fresh_since timestamptz,
    asked_at timestamptz,
    -- What came of the news when it was applied.
    outcome text,
    -- They agree since then.
    ended_at timestamptz,
    unique (run_id, what, subject)
);

-- Money that came in some time.
create index payment_paid on data.payment (paid_at)
    where paid_at is not null;
