-- program_min: 11
-- concurrently
-- Days that are summed up for reports and not yet for listings: few once an upgrade is made up for.

create index concurrently usage_rolled_without_listings on usage_rolled (day)
  where not has_listings;
