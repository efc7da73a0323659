-- How many buckets an item's units are spread over: those from 1 on. A stock
-- row above is of a bucket that was merged away: it counts the units that are
-- out from it and is given no other.
alter table data.item add column buckets integer not null default 1
    check (buckets between 1 and 1000);

update data.item i set buckets = s.buckets
from (select item_id, max(bucket) as buckets from data.stock
    group by item_id) s
where s.item_id = i.item_id;
