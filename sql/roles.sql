-- The login roles: one owner and one role per process. Run once by a
-- superuser, and again at each upgrade: it adds only what is missing.
-- How each may log in (peer, scram, certificates) is pg_hba.conf's business.

do $$
declare
    role_name text;
begin
    foreach role_name in array array[
        'lastpair_owner',    -- owns the schemas; used by migrate alone
        'lastpair_web',      -- request workers
        'lastpair_sweeper',
        'lastpair_cashier',
        'lastpair_courier',  -- sends mail
        'lastpair_operator', -- the command line
        'lastpair_sandbox'   -- the stand-in provider, in its own schemas
    ] loop
        if not exists (select from pg_roles where rolname = role_name) then
            execute format('create role %I login', role_name);
        end if;
    end loop;
end
$$;
