import type { Pool } from "pg";

import {
  type ChangedBy,
  type ChangeLog,
  type Clock,
  maskedEmail,
  normaliseEmail,
  type Public,
  queryInTime,
} from "../../kernel/index.ts";
import { createBrowserToken } from "./browser-token.ts";
import type { SignInToResolve } from "./identity-store.ts";
import type { Run } from "./identity-changes.ts";

/** Stores sign-in links, which need no identity provider, and each instance's console address. */
export class PostgresClaimLinkStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** `email` is null if the person who opens the link enters the address. */
  async addClaim(
    claim: {
      readonly tokenHash: Buffer;
      readonly email: string | null;
      readonly expiresAtMs: number;
    },
    by: ChangedBy,
  ): Promise<void> {
    const { tokenHash, email, expiresAtMs } = claim;
    const values = [tokenHash, email, new Date(expiresAtMs)];
    await this.#changes.write(by, async (client, note) => {
      await client.query(ADD_CLAIM_SQL, values);
      const target = email === null ? "anyone who has the link" : maskedEmail(email);
      const after = { expires_at: new Date(expiresAtMs).toISOString() };
      note({ action: "console-link.create", orgId: null, target, before: null, after });
    });
  }

  async findClaim(
    tokenHash: Buffer,
    nowMs: number,
  ): Promise<{ readonly email: string | null } | undefined> {
    const { rows } = await queryInTime<{ email: string | null }>(this.#pool, {
      text: "select email from local_claim where token_hash = $1 and expires_at > $2",
      values: [tokenHash, new Date(nowMs)],
    });
    return rows[0];
  }

  async noteConsole(instanceId: string, url: string): Promise<void> {
    await queryInTime(this.#pool, { text: NOTE_CONSOLE_SQL, values: [instanceId, url] });
  }

  async findConsole(): Promise<string | undefined> {
    const { rows } = await queryInTime<{ url: string }>(this.#pool, { text: FIND_CONSOLE_SQL });
    return rows[0]?.url;
  }
}

export type ClaimLinkStore = Public<PostgresClaimLinkStore>;

/** True if the sign-in uses no link; false if the link is used, expired, or for another address. */
export async function takeClaim(
  run: Run,
  { linkHash, claim, nowMs }: SignInToResolve & { readonly linkHash: Buffer | undefined },
): Promise<boolean> {
  if (linkHash === undefined) return true;
  const taken = await run(TAKE_CLAIM_SQL, [linkHash, claim.emailNorm, new Date(nowMs)]);
  return taken.length === 1;
}

const NOTE_CONSOLE_SQL = `
  with gone as (
    delete from console_address a where a.instance_id <> $1
      and not exists (select from instance i where i.instance_id = a.instance_id)
  )
  insert into console_address (instance_id, url) values ($1, $2)
  on conflict (instance_id) do update set url = excluded.url`;

const FIND_CONSOLE_SQL = `
  select a.url from console_address a join instance_lease l using (instance_id)
  where l.lease_until > now() order by l.lease_until desc limit 1`;

const ADD_CLAIM_SQL = "insert into local_claim (token_hash, email, expires_at) values ($1, $2, $3)";

const TAKE_CLAIM_SQL = `
  delete from local_claim where token_hash = $1 and expires_at > $3
    and (email is null or email = $2) returning token_hash`;

const CLAIM_MINUTES = 15;

/**
 * Makes a link that signs in a browser once, within 15 minutes. Only commands call this, no route,
 * so it takes a shell on the machine. With `email` the link works for that address only.
 */
export async function makeClaimLink(options: {
  readonly store: ClaimLinkStore;
  readonly clock: Clock;
  readonly consoleUrl: string;
  readonly email?: string;
  readonly by: ChangedBy;
}) {
  const { store, clock, consoleUrl, email, by } = options;
  const { token, hash } = createBrowserToken();
  const expiresAtMs = clock.nowMs() + CLAIM_MINUTES * 60_000;
  const claimed = email === undefined ? null : normaliseEmail(email);
  await store.addClaim({ tokenHash: hash, email: claimed, expiresAtMs }, by);
  return { url: `${consoleUrl}/auth/link?t=${token}`, expiresAtMs };
}
