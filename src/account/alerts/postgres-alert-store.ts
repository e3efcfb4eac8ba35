import type { Pool, PoolClient } from "pg";

import {
  byGateway,
  type Change,
  type ChangedBy,
  type ChangeLog,
  type Facts,
  createRecordId,
  type OrgId,
  type Public,
  usdOrNull,
  inTransaction,
  readRows,
  type Row,
} from "../../kernel/index.ts";
import {
  type AlertDestination,
  type AlertRules,
  type DeliveryRecord,
  destinationColumns,
  type LinkedAddress,
  linkedColumns,
  logColumns,
  movedColumns,
  nameDestination,
  shortAddress,
  type NewDestination,
  ruleColumns,
} from "./alert-store.ts";
import * as sql from "./destination-sql.ts";

const DESTINATIONS_MAX = 10;
const LOG_LINES_MAX = 100;
/** A destination with this many waiting deliveries gets no further test alert. */
const WAITING_FOR_TESTS_MAX = 20;
const NO_RULES: AlertRules = {
  balanceBelowMicroUsd: null,
  capPercents: [],
  hasPurchases: false,
  hasRestrictions: false,
  hasKeyExpiry: false,
  hasTrouble: false,
  isBalanceFollowing: false,
};

/** Every method is limited to one organization, named by its id or by an e-mail link's token. */
export class PostgresAlertStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async rules(orgId: OrgId): Promise<AlertRules> {
    return await readRules(this.#pool, orgId);
  }

  async changeRules(orgId: OrgId, change: Partial<AlertRules>, by: ChangedBy): Promise<void> {
    await this.#changes.write(by, async (client, note) => {
      await client.query(LOCK_ORG_SQL, [orgId]);
      const known = await readRules(client, orgId);
      const rules = { ...known, ...change };
      await client.query(SET_RULES_SQL, [
        orgId,
        rules.balanceBelowMicroUsd,
        [...rules.capPercents],
        rules.hasPurchases,
        rules.hasRestrictions,
        rules.hasKeyExpiry,
        rules.hasTrouble,
        // Once a person has set an amount, the threshold no longer follows purchases.
        known.isBalanceFollowing && rules.balanceBelowMicroUsd === known.balanceBelowMicroUsd,
      ]);
      const before = ruleFacts(known);
      note({ action: "alert.rules", orgId, target: orgId, before, after: ruleFacts(rules) });
    });
  }

  async destinations(orgId: OrgId): Promise<readonly AlertDestination[]> {
    return await readRows(this.#pool, destinationColumns, sql.DESTINATIONS_SQL, [orgId]);
  }

  /** Lets a route refuse before expensive checks; `addDestination` counts again. */
  async isFull(orgId: OrgId): Promise<boolean> {
    return (await this.destinations(orgId)).length >= DESTINATIONS_MAX;
  }

  /** `taken`: the address is in use; `bound`: a limit of confirmation e-mails is reached. */
  async addDestination(
    orgId: OrgId,
    wanted: NewDestination,
    by: ChangedBy,
  ): Promise<AlertDestination | "taken" | "full" | "bound"> {
    const { destinationId, channel, address, kinds, sealedSecret = null, confirm } = wanted;
    return await this.#changes.write(by, async (client, note) => {
      await client.query(LOCK_ORG_SQL, [orgId]);
      const { rows: counted } = await client.query<Counted>(sql.COUNT_SQL, [orgId]);
      if (Number(counted[0]?.count ?? 0) >= DESTINATIONS_MAX) return "full";
      const there = await client.query(sql.IS_THERE_SQL, [orgId, channel, address]);
      if (there.rowCount !== 0) return "taken";
      if (confirm !== undefined && !(await mayAsk(client, { orgId, address }, confirm))) {
        return "bound";
      }
      const added = [destinationId, orgId, channel, address, kinds, sealedSecret];
      const values = [...added, confirm?.hash ?? null];
      const [made] = await readRows(client, destinationColumns, sql.ADD_SQL, values);
      const asked = confirm === undefined ? {} : { reader: "asked" };
      const named = nameDestination({ channel, address });
      const after = { ...named, ...asked, ...(kinds === null ? {} : { kinds }) };
      note({ action: "alert.destination", orgId, target: destinationId, before: null, after });
      return made ?? "taken";
    });
  }

  async findLink(hash: Buffer): Promise<LinkedAddress | undefined> {
    return (await readRows(this.#pool, linkedColumns, sql.FIND_LINK_SQL, [hash]))[0];
  }

  /** Uses a link to start or stop alerts; undefined if it is unknown, or a used start link. */
  async useLink(hash: Buffer): Promise<LinkedAddress | undefined> {
    const found = await this.findLink(hash);
    if (found === undefined) return undefined;
    const { destinationId: target, orgId, address, link } = found;
    return await this.#changes.write(byGateway("alerts"), async (client, note) => {
      await client.query(LOCK_ORG_SQL, [orgId]);
      const { rows } = await client.query<Pick<Row, "destination_id">>(sql.USE_LINK_SQL[link], [
        target,
      ]);
      // A second click on a link that stops alerts changes nothing and gets the same answer.
      if (rows.length === 0) return link === "stop" ? found : undefined;
      const changed = rows.map(({ destination_id: id }) => id);
      if (link === "stop")
        await client.query(sql.DROP_WAITING_SQL, [changed, "its reader stopped"]);
      const before = nameDestination({ channel: "email", address });
      const after = { ...before, reader: link === "stop" ? "stopped" : "confirmed" };
      note({ action: "alert.destination", orgId, target, before, after });
      return found;
    });
  }

  /**
   * Disabling drops waiting deliveries. Undefined if the destination does not exist; `taken`:
   * another destination has its address; `reader`: only the reader of its address can enable it.
   */
  async changeDestination(
    orgId: OrgId,
    destinationId: string,
    change: { readonly isEnabled?: boolean; readonly kinds?: readonly string[] | null },
    by: ChangedBy,
  ): Promise<AlertDestination | "taken" | "reader" | undefined> {
    const which = [orgId, destinationId];
    return await this.#changes.write(by, async (client, note) => {
      await client.query(LOCK_ORG_SQL, [orgId]);
      const [known] = await readRows(client, destinationColumns, sql.FIND_SQL, which);
      if (known === undefined) return undefined;
      const wasEnabled = known.disabledAtMs === null;
      const { isEnabled = wasEnabled, kinds = known.kinds } = change;
      if (isEnabled && !wasEnabled) {
        const { disabledReason: why } = known;
        if (why === "unconfirmed" || why === "stopped") return "reader";
        const { rowCount } = await client.query(sql.IS_TAKEN_SQL, which);
        if (rowCount !== 0) return "taken";
      }
      const values = [...which, kinds, isEnabled];
      const [changed] = await readRows(client, destinationColumns, sql.CHANGE_SQL, values);
      if (!isEnabled) {
        await client.query(sql.DROP_WAITING_SQL, [[destinationId], "the destination was disabled"]);
      }
      const before = { is_enabled: wasEnabled, kinds: known.kinds };
      const after = { is_enabled: isEnabled, kinds };
      note({ action: "alert.destination", orgId, target: destinationId, before, after });
      return changed;
    });
  }

  /** The former secret stays valid for a day. Undefined if there is no such webhook. */
  async rotateSecret(
    orgId: OrgId,
    destinationId: string,
    sealedSecret: Buffer,
    by: ChangedBy,
  ): Promise<AlertDestination | undefined> {
    return await this.#changes.write(by, async (client, note) => {
      const values = [orgId, destinationId, sealedSecret];
      const [rotated] = await readRows(client, destinationColumns, sql.ROTATE_SQL, values);
      if (rotated === undefined) return undefined;
      const after = { address: shortAddress(rotated.address) };
      note({ action: "alert.secret", orgId, target: destinationId, before: null, after });
      return rotated;
    });
  }

  async removeDestination(orgId: OrgId, destinationId: string, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, async (client, note) => {
      type Removed = Pick<AlertDestination, "channel" | "address">;
      const { rows } = await client.query<Removed>(sql.REMOVE_SQL, [orgId, destinationId]);
      const [removed] = rows;
      if (removed === undefined) return false;
      await client.query(sql.DROP_WAITING_SQL, [[destinationId], "the destination was removed"]);
      const before = nameDestination(removed);
      note({ action: "alert.destination", orgId, target: destinationId, before, after: null });
      return true;
    });
  }

  /** The event's id; undefined if no such destination is enabled; false if too many alerts wait. */
  async sendTest(orgId: OrgId, destinationId: string): Promise<string | false | undefined> {
    return await inTransaction(this.#pool, async (client) => {
      const { rowCount } = await client.query(sql.ACTIVE_SQL, [orgId, destinationId]);
      if (rowCount === 0) return undefined;
      const { rows } = await client.query<Counted>(sql.COUNT_WAITING_SQL, [destinationId]);
      if (Number(rows[0]?.count ?? 0) >= WAITING_FOR_TESTS_MAX) return false;
      const eventId = createRecordId("evt");
      await client.query(sql.INSERT_TEST_SQL, [eventId, orgId, destinationId]);
      return eventId;
    });
  }

  /**
   * Queues a failed delivery again with the same event id. `busy` if the delivery has not failed or
   * is being tried; undefined if it does not exist or its destination is disabled.
   */
  async sendAgain(
    orgId: OrgId,
    destinationId: string,
    eventId: string,
  ): Promise<"busy" | true | undefined> {
    return await inTransaction(this.#pool, async (client) => {
      const { rowCount } = await client.query(sql.ACTIVE_SQL, [orgId, destinationId]);
      if (rowCount === 0) return undefined;
      const asked = [destinationId, eventId];
      const { rows } = await client.query<{ is_queued: boolean }>(sql.AGAIN_SQL, asked);
      if (rows[0] === undefined) return undefined;
      return rows[0].is_queued ? true : "busy";
    });
  }

  async log(orgId: OrgId): Promise<readonly DeliveryRecord[]> {
    return await readRows(this.#pool, logColumns, LOG_SQL, [orgId, LOG_LINES_MAX]);
  }
}

export type AlertStore = Public<PostgresAlertStore>;

type Counted = Readonly<Record<"count", bigint>>;

async function mayAsk(
  client: PoolClient,
  { orgId, address }: { readonly orgId: OrgId; readonly address: string },
  { perHourMax }: { readonly perHourMax: number },
): Promise<boolean> {
  await client.query(sql.LOCK_ADDRESS_SQL, [address]);
  const bounds = [orgId, address, perHourMax];
  return (await client.query(sql.CLAIM_CONFIRMATION_SQL, bounds)).rowCount === 1;
}

/**
 * A trigger turns on default alerts for an organization's first owner with a verified address.
 * Returns the change-log entries of the alerts that it turned on in this transaction.
 */
export async function findNewAlerts(
  query: (sql: string, values: unknown[]) => Promise<readonly Row[]>,
  orgId: OrgId,
): Promise<readonly Change[]> {
  const [rules] = (await query(`${RULES_SQL} and purchases_since = now()`, [orgId])).map(
    ruleColumns.read,
  );
  if (rules === undefined) return [];
  const made = (await query(sql.NEW_DESTINATIONS_SQL, [orgId])).map(destinationColumns.read);
  return [
    { action: "alert.rules", orgId, target: orgId, before: null, after: ruleFacts(rules) },
    ...made.map((each): Change => {
      const { destinationId: target } = each;
      const after = nameDestination(each);
      return { action: "alert.destination", orgId, target, before: null, after };
    }),
  ];
}

/**
 * Members' addresses need no confirmation, so they must not outlive the membership; nor must an
 * address that the member added and that its reader could still confirm. Runs in the transaction of
 * the removal, and returns the entries for the change log.
 */
export async function removeMemberDestinations(
  client: Pick<PoolClient, "query">,
  orgId: OrgId,
  { accountId, email }: Readonly<Record<"accountId" | "email", string>>,
): Promise<readonly Change[]> {
  type Removed = Readonly<Record<"destination_id" | "address", string>>;
  const values = [orgId, email, accountId];
  const { rows } = await client.query<Removed>(sql.REMOVE_MEMBER_SQL, values);
  const ids = rows.map(({ destination_id: id }) => id);
  await client.query(sql.DROP_WAITING_SQL, [ids, "the destination was removed"]);
  return rows.map((row): Change => {
    const before = nameDestination({ channel: "email", address: row.address });
    const target = row.destination_id;
    return { action: "alert.destination", orgId, target, before, after: null };
  });
}

/** Runs in the transaction that changes a member's address; returns entries for the change logs. */
export async function moveMemberDestinations(
  query: (sql: string, values: unknown[]) => Promise<readonly Row[]>,
  { accountId, from, to }: Readonly<Record<"accountId" | "from" | "to", string>>,
): Promise<readonly Change[]> {
  const moved = (await query(sql.MOVE_ADDRESS_SQL, [accountId, from, to])).map(movedColumns.read);
  const pickIds = (ofRemoved: boolean): readonly string[] =>
    moved.filter(({ isThere }) => isThere === ofRemoved).map(({ destinationId: id }) => id);
  await query(sql.DROP_WAITING_SQL, [pickIds(true), "the destination was removed"]);
  // Whoever reads the old mailbox now must not see the new address, nor stop its alerts.
  await query(sql.END_STOP_LINKS_SQL, [pickIds(false)]);
  return moved.map(({ destinationId: target, orgId, isThere }): Change => {
    const before = nameDestination({ channel: "email", address: from });
    const after = isThere ? null : nameDestination({ channel: "email", address: to });
    return { action: "alert.destination", orgId, target, before, after, isMaskedChange: true };
  });
}

function ruleFacts(rules: AlertRules): Facts {
  const { balanceBelowMicroUsd: below, capPercents } = rules;
  return {
    balance_below_usd: usdOrNull(below),
    cap_percents: capPercents.map(String),
    purchases: rules.hasPurchases,
    restrictions: rules.hasRestrictions,
    key_expiry: rules.hasKeyExpiry,
    provider_trouble: rules.hasTrouble,
  };
}

async function readRules(client: Pool | PoolClient, orgId: OrgId): Promise<AlertRules> {
  return (await readRows(client, ruleColumns, RULES_SQL, [orgId]))[0] ?? NO_RULES;
}

const RULES_SQL = `select ${ruleColumns.sql} from alert_rules where org_id = $1`;

const LOCK_ORG_SQL = "select from org where org_id = $1 for no key update";

/* An alert that is already on keeps its `…_since` instant. */
const SET_RULES_SQL = `
  insert into alert_rules
    (org_id, balance_below, cap_percents, purchases_since, restrictions_since,
    key_expiry_since, trouble_since, balance_follows)
  values ($1, $2, $3, case when $4 then now() end, case when $5 then now() end,
    case when $6 then now() end, case when $7 then now() end, $8)
  on conflict (org_id) do update set
    balance_below = excluded.balance_below, cap_percents = excluded.cap_percents,
    purchases_since = case when $4 then coalesce(alert_rules.purchases_since, now()) end,
    restrictions_since = case when $5 then coalesce(alert_rules.restrictions_since, now()) end,
    key_expiry_since = case when $6 then coalesce(alert_rules.key_expiry_since, now()) end,
    trouble_since = case when $7 then coalesce(alert_rules.trouble_since, now()) end,
    balance_follows = excluded.balance_follows`;

const LOG_SQL = `
  select ${logColumns.sql} from (
    select * from alert_event where org_id = $1 order by at desc limit $2
  ) e
  left join alert_delivery d using (event_id)
  left join alert_destination t using (destination_id)
  order by at desc, event_id, delivery_id
  limit $2`;
