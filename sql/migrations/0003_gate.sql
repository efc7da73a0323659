-- Who has bought an item, for the gate. Written so that no other question uses
-- it: as `state = 'paid'` it would serve those about one buyer's paid lines,
-- and a plan made when the table was empty would then read all of an item's.
create index hold_line_sold on data.hold_line (item_id)
    where (state = 'paid') is true;
