-- The index of what expires next is for questions about expiry alone: they
-- write its condition exactly so. As `state = 'held'` it served every question
-- about held lines, and a plan made when the table was empty then read all of
-- an item's held lines to find one buyer's.
drop index data.hold_line_due;
create index hold_line_due on data.hold_line (item_id, expires_at)
    where (state = 'held') is true;
