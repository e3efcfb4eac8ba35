-- program_min: 11
-- Company data of organizations, and the statements of months that are over.

create table org_company (
  org_id text primary key references org,
  legal_name text not null check (length(legal_name) between 1 and 200),
  address_lines text[] not null check (array_length(address_lines, 1) between 1 and 3),
  city text not null check (length(city) between 1 and 100),
  postal_code text not null check (length(postal_code) <= 20),
  country text not null check (country ~ '^[A-Z]{2}$'),
  tax_id_type text check (length(tax_id_type) <= 20),
  tax_id text check (length(tax_id) <= 40),
  billing_email text not null check (length(billing_email) <= 254),
  purchase_order text not null check (length(purchase_order) <= 30),
  changed_at timestamptz not null default now(),
  check ((tax_id is null) = (tax_id_type is null))
);

-- One for each month of an organization, made once. What it says is in `document`, whose hash is
-- kept, so that a changed text, and books that say something else by now, are noticed.
create sequence org_statement_number;
create table org_statement (
  org_id text not null references org,
  month date not null check (extract(day from month) = 1),
  number bigint not null unique default nextval('org_statement_number'),
  opening bigint not null,
  closing bigint not null,
  document text not null check (octet_length(document) <= 1000000),
  sha256 bytea not null check (octet_length(sha256) = 32),
  closed_at timestamptz not null default clock_timestamp(),
  primary key (org_id, month)
);
alter sequence org_statement_number owned by org_statement.number;
create trigger org_statement_is_insert_only before update or delete on org_statement
  for each row execute function refuse_change();
create trigger org_statement_is_kept before truncate on org_statement
  for each statement execute function refuse_change();
