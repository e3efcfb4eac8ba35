-- program_min: 11
-- What sign-ins under way are sealed with, in the cookie of their browser: made here once, so that every
-- instance has the same. `console_sign_in` is of the program of before, and is written no more.

create table console_secret (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);
-- 244 random bits.
insert into console_secret (secret)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- E-mails with an invitation of the whole installation in one hour since 1970.
create table invitation_hour (
  is_only boolean primary key default true check (is_only),
  hour bigint not null default 0,
  mails bigint not null default 0
);
insert into invitation_hour default values;
