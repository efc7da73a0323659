-- Plans are also made anew now and then, on tables that have filled up while
-- what is known of them is from when they were empty.
begin;
\ir lib/fixture.sql
select plan(35);
\set then 'discard plans;'
\ir lib/plan.sql
