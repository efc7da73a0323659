-- What the plain transaction works on: one item's stock, and holds.
create table stock (
    item_id bigint primary key,
    total bigint not null,
    held bigint not null default 0,
    check (held <= total)
) with (fillfactor = 50);
create table hold (
    hold_id bigint generated always as identity primary key,
    item_id bigint not null,
    buyer uuid not null,
    expires_at timestamptz not null
);
insert into stock values (1, 100000000);
