-- program_min: 11
-- concurrently

create index concurrently upgrade_by_route on attempt (route);
create index concurrently upgrade_by_amount on transfer (amount);
