/** Holds on unusual use act, and end, as soon as the other rules of an organization. */
export const usageHoldNoticesSql: string = `
create trigger usage_hold_change_is_notified after insert or update or delete on usage_hold
  for each row execute function notify_account_change();
`;
