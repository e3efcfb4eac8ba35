import type { RecordedChange } from "../changes/index.ts";
import type { KnownPerson } from "../team/index.ts";

/** Of the changes: the accounts that made them, and those that they were made to. */
export function accountsIn(changes: readonly RecordedChange[]): readonly string[] {
  const ids = changes.flatMap(({ by, target }) => [by.id, target]);
  return [...new Set(ids)].filter((id) => id.startsWith(ACCOUNT_PREFIX));
}
const ACCOUNT_PREFIX = "acct_";

/** A person as the organization knows them. */
export function nameOfPerson({ email, isMember }: KnownPerson): string {
  return isMember ? email : `${email} (former member)`;
}
