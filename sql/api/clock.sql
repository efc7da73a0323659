-- Moments as they travel. Every decision reads clock_timestamp() after its
-- locks, so that a wait never shortens a hold; no other clock decides.

-- RFC 3339 in UTC with milliseconds.
create function api.iso(t timestamptz) returns text
language sql stable parallel safe
return to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- Never below 0; NULL when there is no such moment.
create function api.ms_until(t timestamptz, p_now timestamptz)
returns bigint
language sql immutable parallel safe
return case when t <= p_now then 0
    else ceil(extract(epoch from t - p_now) * 1000)::bigint end;
