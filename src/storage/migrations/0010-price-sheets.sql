-- The prices that a pin stands for, by the size of the prompt: a listing with tiers has a sheet for
-- each, and every other one the sheet that is the pin itself. An attempt refers to the pin that it
-- was admitted with, and its tokens say by which sheet it was settled. A pin without a sheet is of a
-- listing that reports its own cost, or was recorded by an earlier version.
create table price_sheet (
  pin_id text not null references price_pin,
  -- Prompt, cached and written tokens together: the sheet is for more than these. 0: for any.
  above_prompt_tokens bigint not null check (above_prompt_tokens >= 0),
  sheet_pin_id text not null references price_pin,
  primary key (pin_id, above_prompt_tokens)
);
create trigger price_sheet_is_immutable before update or delete on price_sheet
  for each row execute function refuse_change();
create trigger price_sheet_is_kept before truncate on price_sheet
  for each statement execute function refuse_change();
