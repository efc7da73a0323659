-- What is made up anew in each run, a hold's id above all, and the name that it
-- has in all runs: so that a seed strikes the same buyer again.
create table sandbox_data.alias (
    name text collate "C" primary key check (length(name) between 1 and 100),
    known_as text not null check (length(known_as) between 1 and 100)
);
