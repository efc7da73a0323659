-- What the gate in front of the database must know to refuse without it.

-- Everybody who has units of an item, held or paid: `buyer`, and the order's
-- `key` or NULL. One row of NULLs when they are too many to name; none when
-- there is no such item.
--
-- Held counts until it is returned, so that nobody is left out whom the next
-- take would find. Locks: the item's stock, so that takes under way have
-- ended and are seen.
create function api.gate_members(p_sku text)
returns table (buyer text, key text)
language plpgsql security definer set search_path = data, pg_temp as $$
declare
    which constant bigint := (select item_id from item where sku = p_sku);
begin
    -- 20,000 are read within a tenth of a second and 3 MB.
    if (select sum(held + sold) from stock where item_id = which) > 20000 then
        return query select null::text, null::text;
        return;
    end if;
    perform api.stock_lock(array[which]);
    return query
    select h.buyer::text, h.key from hold h
    where h.hold_id = any (array(
        select l.hold_id from hold_line l
        where l.item_id = which and (l.state = 'held') is true
        union
        select l.hold_id from hold_line l
        where l.item_id = which and (l.state = 'paid') is true));
end
$$;
