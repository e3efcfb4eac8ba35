import type { Pool, PoolClient } from "pg";

import {
  type ChangedBy,
  type ChangeLog,
  type Facts,
  type Note,
  formatUsd,
  microUsd,
  type MicroUsd,
  type OrgId,
  type PauseReason,
  type Public,
  readRows,
} from "../../kernel/index.ts";
import {
  chargeColumns,
  listedColumns,
  type ListedTopUp,
  pauseColumns,
  pausedColumns,
  type PausedTopUps,
  ruleColumns,
  type SavedCard,
  stateColumns,
  type TopUpCharge,
  type TopUpPause,
  type TopUpRule,
  type TopUpState,
  type TopUpTimes,
} from "./top-up-store.ts";
import * as sql from "./top-up-sql.ts";

/** Each method changes all or nothing. Those that begin or fail a purchase lock the rule's row. */
export class PostgresTopUpStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async read(orgId: OrgId, isTestMoney: boolean, monthMs: number): Promise<TopUpState> {
    const values = [orgId, isTestMoney, new Date(monthMs)];
    const [state] = await readRows(this.#pool, stateColumns, sql.STATE, values);
    return state ?? NOTHING;
  }

  async pauseOf(orgId: OrgId): Promise<TopUpPause | undefined> {
    return (await readRows(this.#pool, pauseColumns, sql.PAUSE_OF, [orgId]))[0];
  }

  /** Waits while a purchase under this rule begins or fails. Turning a rule on ends its pause. */
  async setRule(orgId: OrgId, rule: TopUpRule, by: ChangedBy): Promise<void> {
    await this.#changes.write(by, async (client, note) => {
      const was = await lockRule(client, orgId);
      const { isOn, belowMicroUsd, amountMicroUsd, monthMaxMicroUsd } = rule;
      const values = [orgId, isOn, belowMicroUsd, amountMicroUsd, monthMaxMicroUsd];
      await client.query(sql.SET_RULE, values);
      const before = was === undefined ? null : ruleFacts(was);
      note({ action: "topup.rule", orgId, target: orgId, before, after: ruleFacts(rule) });
    });
  }

  /** Turns the rule off until a person turns it on; false if it was off or does not exist. */
  async pause(orgId: OrgId, reason: PauseReason, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, (client, note) =>
      pauseTopUp(client, note, { orgId, reason }),
    );
  }

  /** Stores the organization's customer id at the payment provider; a new customer has no card. */
  async keepCustomer(orgId: OrgId, isTestMoney: boolean, customerId: string): Promise<void> {
    await this.#pool.query(sql.KEEP_CUSTOMER, [orgId, isTestMoney, customerId]);
  }

  async beginSetup(orgId: OrgId, isTestMoney: boolean, sessionId: string): Promise<void> {
    await this.#pool.query(sql.BEGIN_SETUP, [orgId, isTestMoney, sessionId]);
  }

  async endSetup(orgId: string, isTestMoney: boolean, sessionId: string): Promise<void> {
    await this.#pool.query(sql.END_SETUP, [orgId, isTestMoney, sessionId]);
  }

  /** False if another customer is stored, or already a card of this checkout or of a later one. */
  async saveCard(
    saved: {
      readonly orgId: string;
      readonly isTestMoney: boolean;
      readonly customerId: string;
      readonly card: SavedCard;
      readonly fromMs: number;
      readonly nowMs: number;
    },
    by: ChangedBy,
  ): Promise<boolean> {
    const { orgId, isTestMoney, customerId, card, fromMs, nowMs } = saved;
    return await this.#changes.write(by, async (client, note) => {
      const rule = await lockRule(client, orgId);
      const known = await client.query<CardRow>(sql.LOCK_CUSTOMER, [orgId, isTestMoney]);
      const [was] = known.rows;
      if (was?.customer_id !== customerId) return false;
      if (was.card_from !== null && was.card_from.getTime() >= fromMs) return false;
      await client.query(sql.SAVE_CARD, [
        orgId,
        isTestMoney,
        card.cardId,
        card.brand,
        card.last4,
        card.expMonth,
        card.expYear,
        new Date(fromMs),
        new Date(nowMs),
      ]);
      if (was.card_id !== null && was.card_id !== card.cardId) {
        await client.query(sql.DETACH_LATER, [was.card_id, orgId, isTestMoney]);
      }
      const before = was.card_last4 === null ? null : { card: was.card_last4 };
      const after = { brand: card.brand, card: card.last4 };
      note({ action: "card.save", orgId: was.org_id, target: card.cardId, before, after });
      // A rule of before, of a lost card or of test money, must not buy with a card saved now.
      if (was.card_id === null) await turnOff(client, note, was.org_id, rule);
      return true;
    });
  }

  /** Turns the rule off and queues the card to be detached; false if there was no card. */
  async removeCard(orgId: OrgId, isTestMoney: boolean, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, async (client, note) => {
      const rule = await lockRule(client, orgId);
      const known = await client.query<CardRow>(sql.LOCK_CUSTOMER, [orgId, isTestMoney]);
      const [was] = known.rows;
      if (was === undefined || was.card_id === null) return false;
      await client.query(sql.REMOVE_CARD, [orgId, isTestMoney]);
      await client.query(sql.DETACH_LATER, [was.card_id, orgId, isTestMoney]);
      const before = { card: was.card_last4 };
      note({ action: "card.remove", orgId, target: was.card_id, before, after: null });
      await turnOff(client, note, orgId, rule);
      return true;
    });
  }

  /** Returns removed cards that were not tried within the last minute, and marks them as tried. */
  async takeDetachments(isTestMoney: boolean, limit: number): Promise<readonly string[]> {
    const values = [isTestMoney, limit];
    const { rows } = await this.#pool.query<{ card_id: string }>(sql.TAKE_DETACHMENTS, values);
    return rows.map((row) => row.card_id);
  }

  async endDetachment(cardId: string): Promise<void> {
    await this.#pool.query("delete from card_detachment where card_id = $1", [cardId]);
  }

  async due(
    isTestMoney: boolean,
    { nowMs, monthMs }: TopUpTimes,
    limit: number,
  ): Promise<readonly OrgId[]> {
    const values = [isTestMoney, new Date(nowMs), new Date(monthMs), null, limit];
    const { rows } = await this.#pool.query<{ org_id: OrgId }>(sql.DUE, values);
    return rows.map((row) => row.org_id);
  }

  /** Commits a due purchase under the rule's lock and returns its charge, which is not sent yet. */
  async begin(
    wanted: {
      readonly orgId: OrgId;
      readonly purchaseId: string;
      readonly isTestMoney: boolean;
      readonly minMicroUsd: MicroUsd;
      readonly maxMicroUsd: MicroUsd;
      readonly expiresAtMs: number;
    } & TopUpTimes,
    by: ChangedBy,
  ): Promise<TopUpCharge | undefined> {
    const { orgId, purchaseId, isTestMoney, nowMs, monthMs } = wanted;
    return await this.#changes.write(by, async (client, note) => {
      const rule = await lockRule(client, orgId);
      if (rule?.isOn !== true) return undefined;
      const { amountMicroUsd } = rule;
      // Another instance may have made the purchase before this one got the lock.
      const asked = [isTestMoney, new Date(nowMs), new Date(monthMs), orgId, 1];
      type Due = Readonly<Record<"customer_id" | "card_id", string>>;
      const [card] = (await client.query<Due>(sql.DUE, asked)).rows;
      if (card === undefined) return undefined;
      if (amountMicroUsd < wanted.minMicroUsd || amountMicroUsd > wanted.maxMicroUsd) {
        await pauseTopUp(client, note, { orgId, reason: "amount_not_allowed" });
        return undefined;
      }
      const row = [purchaseId, orgId, amountMicroUsd, isTestMoney, new Date(nowMs)];
      await client.query(sql.INSERT_PURCHASE, [...row, new Date(wanted.expiresAtMs)]);
      const made = [purchaseId, orgId, amountMicroUsd, card.customer_id, card.card_id];
      await client.query(sql.INSERT_TOP_UP, [...made, new Date(nowMs)]);
      const amount_usd = formatUsd(amountMicroUsd);
      const after = { amount_usd, is_test_money: isTestMoney, automatic: true };
      note({ action: "purchase.start", orgId, target: purchaseId, before: null, after });
      return (await selectCharges(client, [purchaseId]))[0];
    });
  }

  /** Returns undecided purchases not checked since `beforeMs`, and marks them as checked. */
  async takeOpen(asked: {
    readonly isTestMoney: boolean;
    readonly beforeMs: number;
    readonly limit: number;
  }): Promise<readonly TopUpCharge[]> {
    const { isTestMoney, beforeMs, limit } = asked;
    const values = [isTestMoney, new Date(beforeMs), limit];
    const taken = await this.#pool.query<{ purchase_id: string }>(sql.TAKE_OPEN, values);
    const ids = taken.rows.map((row) => row.purchase_id);
    return ids.length === 0 ? [] : await selectCharges(this.#pool, ids);
  }

  async charge(purchaseId: string): Promise<TopUpCharge | undefined> {
    return (await selectCharges(this.#pool, [purchaseId]))[0];
  }

  async recover(
    made: Readonly<Record<"purchaseId" | "customerId" | "cardId", string>>,
  ): Promise<void> {
    await this.#pool.query(sql.RECOVER, [made.purchaseId, made.customerId, made.cardId]);
  }

  /** After a restore, the time from which payments are to be recovered before anything is bought. */
  async recoveryDueSince(): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ next_at: Date }>(sql.RECOVERY_DUE);
    return rows[0]?.next_at.getTime();
  }

  /** Lets purchases start again if the payments since `fromMs` are all that the restore lost. */
  async endRecovery(fromMs: number): Promise<void> {
    await this.#pool.query(sql.END_RECOVERY, [new Date(fromMs)]);
  }

  /**
   * Ends a purchase whose charge failed, and pauses its rule. Returns the purchase's state before;
   * undefined if nothing was left to do.
   */
  async fail(
    purchaseId: string,
    state: "failed" | "parked",
    reason: PauseReason,
    by: ChangedBy,
  ): Promise<string | undefined> {
    return await this.#changes.write(by, async (client, note) => {
      const known = await client.query<{ org_id: OrgId }>(sql.OWNER, [purchaseId]);
      const orgId = known.rows[0]?.org_id;
      if (orgId === undefined) return undefined;
      await lockRule(client, orgId);
      const { rows } = await client.query<{ was: string }>(sql.FAIL, [purchaseId, state, reason]);
      const was = rows[0]?.was;
      if (was === undefined) return undefined;
      if (was !== state) {
        const change = { before: { state: was }, after: { state, reason } };
        note({ action: "purchase.state", orgId, target: purchaseId, ...change });
      }
      await pauseTopUp(client, note, { orgId, reason });
      return was;
    });
  }

  async paused(): Promise<readonly PausedTopUps[]> {
    return await readRows(this.#pool, pausedColumns, sql.PAUSED);
  }

  async list(monthMs: number, limit: number): Promise<readonly ListedTopUp[]> {
    return await readRows(this.#pool, listedColumns, sql.LIST, [new Date(monthMs), limit]);
  }
}

export type TopUpStore = Public<PostgresTopUpStore>;

interface CardRow {
  readonly org_id: OrgId;
  readonly customer_id: string;
  readonly card_id: string | null;
  readonly card_last4: string | null;
  readonly card_from: Date | null;
}

const NOTHING: TopUpState = {
  rule: undefined,
  pause: undefined,
  card: undefined,
  customerId: undefined,
  setupSessionId: undefined,
  monthMicroUsd: microUsd(0n),
  hasOpenPurchase: false,
};

async function selectCharges(
  client: Pool | PoolClient,
  purchaseIds: readonly string[],
): Promise<readonly TopUpCharge[]> {
  const text = `${sql.SELECT_CHARGE} where t.purchase_id = any ($1)`;
  return await readRows(client, chargeColumns, text, [purchaseIds]);
}

async function lockRule(client: PoolClient, orgId: string): Promise<TopUpRule | undefined> {
  return (await readRows(client, ruleColumns, sql.LOCK_RULE, [orgId]))[0];
}

async function turnOff(
  client: PoolClient,
  note: Note,
  orgId: OrgId,
  rule: TopUpRule | undefined,
): Promise<void> {
  if (rule?.isOn !== true) return;
  await client.query(sql.TURN_OFF, [orgId]);
  const facts = { before: ruleFacts(rule), after: ruleFacts({ ...rule, isOn: false }) };
  note({ action: "topup.rule", orgId, target: orgId, ...facts });
}

/** Locks the rule. To avoid deadlocks, call it before the purchase is locked, as `fail` does. */
export async function lockRuleOfPurchase(client: PoolClient, purchaseId: string): Promise<void> {
  await client.query(sql.LOCK_RULE_OF_PURCHASE, [purchaseId]);
}

/** Turns the rule off in the caller's transaction; false if it was off or does not exist. */
export async function pauseTopUp(
  client: PoolClient,
  note: Note,
  { orgId, reason }: { readonly orgId: OrgId; readonly reason: PauseReason },
): Promise<boolean> {
  const { rowCount } = await client.query(sql.PAUSE, [orgId, reason]);
  if (rowCount !== 1) return false;
  const facts = { before: { on: true }, after: { on: false, reason } };
  note({ action: "topup.pause", orgId, target: orgId, ...facts });
  return true;
}

function ruleFacts(rule: TopUpRule): Facts {
  return {
    on: rule.isOn,
    below_usd: formatUsd(rule.belowMicroUsd),
    amount_usd: formatUsd(rule.amountMicroUsd),
    month_max_usd: formatUsd(rule.monthMaxMicroUsd),
  };
}
