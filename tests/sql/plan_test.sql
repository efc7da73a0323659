-- Plans are made once a session, at worst on tables that were analyzed when
-- they were empty. What a call reads must not grow with what is there all the
-- same. The settings are those of io/pg_session.c.
begin;
\ir lib/fixture.sql
select plan(35);
\set then ''
\ir lib/plan.sql
