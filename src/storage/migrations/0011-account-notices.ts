/** Where the database says which organization's keys, limits, policy or connections changed. */
export const accountNoticeChannel = "tokenmarket_account";

/** What is said of an organization, and may also be said of it for the first time. */
const RULES: readonly string[] = [
  "limit_override",
  "dedicated_endpoint",
  "routing_policy",
  "connection",
];
const TABLES: readonly string[] = ["org", "api_key", ...RULES];

/** Sent with the commit of each change, by a process, a command or an operator alike. */
export const accountNoticesSql: string = `
create function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('${accountNoticeChannel}',
    case tg_op when 'DELETE' then old.org_id else new.org_id end);
  return null;
end $$;

${TABLES.map(
  (table) => `
create trigger ${table}_change_is_notified after update or delete on ${table}
  for each row execute function notify_account_change();`,
).join("")}

${RULES.map(
  (table) => `
create trigger new_${table}_is_notified after insert on ${table}
  for each row execute function notify_account_change();`,
).join("")}
`;
