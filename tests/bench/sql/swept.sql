-- Watches a backlog go, from the first slice on: how many holds were given
-- back in how many seconds, or a row of nothing after two minutes.
create temporary table watched (holds bigint, seconds numeric);
do $$
declare
    row_id bigint := (select item_id from data.item where sku = 'BENCH-SWEEP');
    at_first bigint := (select held from data.stock where item_id = row_id);
    now_held bigint;
    began timestamptz;
    begun_with bigint;
    patience timestamptz := clock_timestamp() + interval '2 min';
begin
    loop
        select held into now_held from data.stock where item_id = row_id;
        if began is null and now_held < at_first then
            began := clock_timestamp();
            begun_with := now_held;
        end if;
        exit when now_held = 0 or clock_timestamp() > patience;
        perform pg_sleep(0.005);
    end loop;
    if now_held = 0 then
        insert into watched values (begun_with,
            extract(epoch from clock_timestamp() - began));
    end if;
end
$$;
select holds, seconds from watched;
