import { expect } from "vitest";

import { unreachable } from "../../src/kernel/core/assert.ts";
import { mondayOf, periodsByEnd, utcDay } from "../../src/kernel/core/cap-period.ts";
import {
  type AttemptId,
  createRecordId,
  createRequestId,
  type KeyId,
  type OrgId,
  type ProviderId,
  type RequestId,
} from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import {
  BatchFault,
  type CloseVerdict,
  type Membership,
} from "../../src/ledger/ledger-batch-store.ts";
import type {
  ModelAttempt,
  ModelClose,
  ModelCloseOutcome,
  ModelMember,
  ModelReserve,
  ModelReserveOutcome,
} from "../../src/ledger/ledger-model.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { CreditFault } from "../../src/ledger/postgres-credit-store.ts";
import { BooksModel } from "./books-model.ts";
import {
  closeRow,
  keyOf,
  marginPinOf,
  orgWithKey,
  pinMargin,
  pinPrices,
  reserveRow,
  usageOwing,
  voidRow,
} from "./ledger-rows.ts";
import { type FreshBackend, tamper } from "./postgres.ts";
import { PurchaseModel } from "./purchase-model.ts";
import { lateOf } from "./reserve-batch.ts";
import { testOperator } from "./test-operator.ts";

export const ORGS = 2;
export const KEYS_PER_ORG = 2;
export const INSTANCES = 2;
const LEASE_MS = 3_600_000;
const NO_ATTEMPT = 9_000_000_000n;

/** The next attempt id, with the time of today as in the ids that an instance makes. */
let lastAttempt = (BigInt(Date.now() - Date.UTC(2025, 0, 1)) << 22n) + 1n;
let worldsMade = 0;

interface KeySpec {
  readonly org: number;
  readonly key: number;
}
interface ReserveSpec extends KeySpec {
  readonly amount: bigint;
}
interface RollSpec extends ReserveSpec {
  readonly close: CloseSpec | null;
}
interface CloseSpec {
  /** Counts attempts back from the last one; a number too large names an unknown attempt. */
  readonly pick: number;
  readonly costPico: bigint;
  /** The debt to the provider; it counts only for attempts whose prices have a margin. */
  readonly owedPico: bigint;
  readonly kind: "usage" | "void";
}
/** A refund or dispute of a purchase; `pick` counts purchases back from the last one. */
interface ClaimSpec {
  readonly pick: number;
  readonly claim: number;
  readonly kind: "refund" | "dispute";
  readonly amount: bigint;
  readonly isReversed: boolean;
}
/** The steps on the ledger. `by` and `instance` are numbers of instances. */
interface Steps {
  readonly reserve: { readonly by: number; readonly rows: readonly ReserveSpec[] };
  readonly roll: { readonly by: number; readonly rows: readonly RollSpec[] };
  readonly close: { readonly rows: readonly CloseSpec[] };
  /** Annuls a reserve whose answer was lost: that of a known attempt, or one still to arrive. */
  readonly annul: {
    readonly by: number;
    readonly pick: number | null;
    readonly late: ReserveSpec;
  };
  readonly grant: { readonly org: number; readonly amount: bigint; readonly ref: number };
  readonly buy: { readonly org: number; readonly amount: bigint };
  /** The payment provider reports a payment; `pick` counts purchases back from the last one. */
  readonly pay: { readonly pick: number };
  readonly claim: ClaimSpec;
  readonly cap: KeySpec & { readonly cap: bigint | null };
  readonly "period cap": KeySpec & { readonly period: "day" | "week"; readonly cap: bigint | null };
  readonly month: object;
  readonly week: object;
  readonly "attach job": { readonly pick: number };
  readonly adopt: { readonly by: number; readonly limit: number };
  readonly join: { readonly instance: number };
  /** The lease of `instance` ends, and another instance takes over. */
  readonly "take over": { readonly instance: number };
  readonly recover: object;
  /** The books are reopened as after a restore, while no instance is alive. */
  readonly reopen: { readonly open: "void" | "charge" };
}
export type LedgerCommand = {
  [Name in keyof Steps]: { readonly do: Name } & Steps[Name];
}[keyof Steps];

/** The same organizations in the database and in the model, on which each step runs. */
export class LedgerFixture {
  readonly model: BooksModel = new BooksModel();
  readonly purchases: PurchaseModel = new PurchaseModel(this.model);
  readonly orgs: { readonly id: OrgId; readonly keys: readonly KeyId[] }[] = [];
  readonly members: Membership[] = [];
  readonly attempts: ReserveRow[] = [];
  readonly answers: Set<string> = new Set();
  readonly #number = ++worldsMade;
  #weeks = 0;
  readonly #provider = `provider-${this.#number}` as ProviderId;
  /** The last request of each key, and how many attempts the request has begun. */
  readonly #latest = new Map<string, { readonly requestId: RequestId; attempts: number }>();
  /** The request of each attempt, by attempt id. */
  readonly #places = new Map<bigint, Pick<ReserveRow, "requestId" | "ordinal">>();
  readonly #dead = new Set<number>();
  readonly #backend: FreshBackend;

  constructor(backend: FreshBackend) {
    this.#backend = backend;
  }

  static async make(backend: FreshBackend): Promise<LedgerFixture> {
    const fixture = new LedgerFixture(backend);
    await backend.query("select ensure_attempt_partitions(0)");
    for (let i = 0; i < INSTANCES; i++) await fixture.#join(i);
    await pinPrices(backend, { pinId: fixture.#provider, providerId: fixture.#provider });
    await pinMargin(backend, fixture.#provider);
    for (let i = 0; i < ORGS; i++) {
      const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 100n });
      const keys = [keyId];
      while (keys.length < KEYS_PER_ORG) keys.push(await keyOf(backend, orgId));
      fixture.orgs.push({ id: orgId, keys });
      fixture.model.addOrg(orgId, keys);
      fixture.model.grant(orgId, 100n, `start ${orgId}`);
    }
    return fixture;
  }

  /** Closes all open attempts, so that no later fixture sees them. */
  async end(): Promise<void> {
    const sql = "select attempt_id from hold where not annulled and org_id = any ($1)";
    const open = await this.#backend.query(sql, [this.orgs.map(({ id }) => id)]);
    const rows = open.map((row) => voidRow(BigInt(String(row["attempt_id"])) as AttemptId));
    if (rows.length > 0) await this.#backend.ledgerBatchStore.closeBatch(rows);
  }

  async run(step: LedgerCommand): Promise<void> {
    this.model.day = utcDay(Date.now()) + 7 * this.#weeks;
    this.model.capPeriods = periodsByEnd(Date.now());
    switch (step.do) {
      case "reserve":
        return await this.#reserve({
          ...step,
          rows: step.rows.map((row) => ({ ...row, close: null })),
        });
      case "roll":
        return await this.#reserve(step);
      case "close":
        return await this.#close(step.rows);
      case "annul":
        return await this.#annul(step);
      case "grant":
        return await this.#grant(step.org, step.amount, `run ${this.#number} ref ${step.ref}`);
      case "buy":
        return await this.#buy(step);
      case "pay":
        return await this.#pay(step.pick);
      case "claim":
        return await this.#claim(step);
      case "cap":
        return await this.#cap(step, "month");
      case "period cap":
        return await this.#cap(step, step.period);
      case "week":
        this.#weeks += 1;
        return await passWeek(this.#backend, this.orgs);
      case "month":
        this.model.month += 1;
        return await passMonth(this.#backend, this.orgs);
      case "attach job": {
        const { attemptId } = this.#attempt(step.pick);
        const attached = await this.#backend.ledgerBatchStore.attachJob(attemptId, "job");
        return agree(attached, this.model.attachJob(attemptId));
      }
      case "adopt":
        return await this.#adopt(step.by, step.limit);
      case "join":
        return await this.#join(step.instance);
      case "take over":
        return await this.#takeOver(step.instance);
      case "recover": {
        const recovered = await this.#backend.ledgerBatchStore.recoverOpenAttempts();
        if (recovered > 0) this.answers.add("recovered");
        return agree(recovered, this.model.recover());
      }
      case "reopen":
        return await this.#reopen(step.open);
      default:
        return unreachable(step);
    }
  }

  async #reserve(step: Steps["roll"]): Promise<void> {
    const closings = step.rows.map(({ close }) => (close === null ? null : this.#closing(close)));
    const rows = step.rows.map((spec) => this.#holding(spec));
    const store = this.#backend.ledgerBatchStore;
    const closed = closings.flatMap((closing) => closing ?? []);
    const batch = { member: this.#member(step.by), closings: closed.map(({ row }) => row) };
    const { verdicts, outcomes } = await store.runBatch({ ...batch, holds: rows });
    const late: ModelClose[] = [];
    for (const [i, { model }] of closed.entries()) {
      const isOpen = this.model.holds.has(model.attempt);
      if (!isOpen) late.push(model);
      const verdict = verdicts[i];
      agree(verdict && comparableClosing(verdict), isOpen ? this.model.close(model) : undefined);
    }
    const expected = rows.map((row) => this.model.reserve(this.#modelRow(row, step.by)));
    agree(outcomes.map(comparable), expected);
    await this.#closeLate(lateOf(batch, verdicts), late);
    for (const outcome of expected) this.answers.add(nameOf(outcome));
    this.attempts.push(...rows.filter((_, i) => expected[i]?.kind === "reserved"));
  }

  async #close(specs: readonly CloseSpec[]): Promise<void> {
    const closings = specs.map((spec) => this.#closing(spec));
    await this.#closeLate(
      closings.map(({ row }) => row),
      closings.map(({ model }) => model),
    );
  }

  /** Closes attempts in a batch without reserves, and compares each verdict with the model's. */
  async #closeLate(rows: readonly CloseRow[], expected: readonly ModelClose[]): Promise<void> {
    if (rows.length === 0) return;
    const verdicts = (await this.#backend.ledgerBatchStore.closeBatch(rows)).map(comparableClosing);
    for (const { kind } of verdicts) this.answers.add(kind);
    agree(
      verdicts,
      expected.map((model) => this.model.close(model)),
    );
  }

  async #annul(step: Steps["annul"]): Promise<void> {
    const known = step.pick === null ? undefined : this.attempts.at(-1 - step.pick);
    const row = known ?? this.#holding(step.late);
    if (this.model.holds.has(row.attemptId)) this.answers.add("annulled");
    await this.#backend.ledgerBatchStore.annul([row]);
    this.model.annul(this.#modelRow(row, step.by));
    if (known !== undefined) return;
    this.attempts.push(row);
    const entry = { row, close: null };
    const late = this.#backend.ledgerBatchStore.reserveBatch(this.#member(step.by), [entry]);
    const answer = await late.then(([outcome]) => outcome?.kind, kindOfFault);
    const member = this.#modelMember(step.by);
    const isFenced = this.model.epochs.get(member.instance) !== member.epoch;
    const admitted = this.model.admit(this.#modelRow(row, step.by)).kind;
    agree(answer, isFenced ? "unavailable" : admitted === "reserved" ? "rejected" : admitted);
    this.answers.add(`late and ${answer}`);
  }

  async #grant(orgAt: number, credit: bigint, ref: string): Promise<void> {
    const orgId = this.#org(orgAt).id;
    const expected = this.model.grant(orgId, credit, ref);
    const grant = { orgId, amountMicroUsd: microUsd(credit), ref };
    const granting = this.#backend.creditStore.grant(grant, testOperator);
    if (expected === undefined) {
      return agree(await granting.catch((fault: unknown) => fault instanceof CreditFault), true);
    }
    const balanceMicroUsd = this.model.wallet(orgId).settled;
    agree(await granting, { created: expected, balanceMicroUsd });
  }

  async #buy(step: Steps["buy"]): Promise<void> {
    const { id } = this.#org(step.org);
    const purchaseId = createRecordId("pur");
    const amountMicroUsd = microUsd(step.amount);
    const times = { nowMs: 0, expiresAtMs: 0, countedFromMs: 0 };
    const most = { isTestMoney: false, purchasesMax: Number.MAX_SAFE_INTEGER };
    const wanted = { purchaseId, orgId: id, amountMicroUsd, ...times, ...most };
    await this.#backend.purchaseStore.create(wanted, testOperator);
    this.purchases.buy(purchaseId, id, step.amount);
  }

  async #pay(pick: number): Promise<void> {
    const purchaseId = this.purchases.ids.at(-1 - pick);
    if (purchaseId === undefined) return;
    const paid = { purchaseId, paymentId: null, receiptUrl: null };
    const isFirst = await this.#backend.purchaseStore.grant(paid);
    agree(isFirst, this.purchases.pay(purchaseId));
    this.answers.add(isFirst ? "paid" : "paid before");
  }

  async #claim(step: ClaimSpec): Promise<void> {
    const purchaseId = this.purchases.ids.at(-1 - step.pick);
    if (purchaseId === undefined) return;
    const { kind, amount, isReversed } = step;
    const claimId = `${purchaseId} ${kind} ${step.claim}`;
    const amountMicroUsd = microUsd(amount);
    const claim = { claimId, purchaseId, kind, amountMicroUsd, isReversed, isOver: isReversed };
    const isNew = await this.#backend.purchaseStore.claim(claim);
    agree(isNew, this.purchases.claim({ purchaseId, claimId, amount, isReversed }));
    const owed = this.model.owed(this.purchases.orgOf(purchaseId));
    this.answers.add(isNew ? "claimed" : "claimed before");
    if (owed > 0n) this.answers.add("owes");
  }

  /** Sets a cap of a key, or the monthly one of its organization if `key` is past the last one. */
  async #cap(step: Steps["cap"], period: "month" | "day" | "week"): Promise<void> {
    const { id, keys } = this.#org(step.org);
    const key = keys[step.key];
    const org = this.model.orgs.get(id);
    const spender = key === undefined ? org : org?.keys.get(key);
    if (spender === undefined) throw new Error(`no spender ${step.org} ${step.key}`);
    spender.caps[period] = step.cap;
    if (key === undefined) {
      const cap = step.cap === null ? null : microUsd(step.cap);
      agree(await this.#backend.accountStore.setOrgCap(id, cap, testOperator), true);
    } else {
      const column = period === "month" ? "cap_micro_usd" : `cap_${period}_micro_usd`;
      const sql = `update api_key set ${column} = $2 where key_id = $1`;
      await this.#backend.query(sql, [key, step.cap]);
    }
  }

  async #adopt(by: number, limit: number): Promise<void> {
    const adopted = await this.#backend.ledgerBatchStore.adoptAttempts(this.#member(by), limit);
    const found = new Set<bigint>(adopted.map(({ attemptId }) => attemptId));
    agree(found, new Set(this.model.adopt(this.#modelMember(by), limit)));
    if (found.size > 0) this.answers.add("adopted");
  }

  async #reopen(openAttempts: "void" | "charge"): Promise<void> {
    await this.#backend.query("update instance_lease set lease_until = clock_timestamp()");
    const request = { reason: "a test", openAttempts, isNothingLost: false, closings: [] };
    const { closedAttempts } = await this.#backend.reopenBooks(request, testOperator);
    agree(closedAttempts, this.model.reopen(openAttempts));
    if (closedAttempts > 0) this.answers.add(`reopened, ${openAttempts}`);
  }

  async #join(instance: number): Promise<void> {
    const member = await this.#backend.ledgerBatchStore.join(`model-${instance}`, LEASE_MS);
    this.members[instance] = member;
    this.#dead.delete(instance);
    const before = this.model.epochs.get(member.instanceId);
    if (before !== undefined) agree(member.epoch, before + 1n);
    this.model.epochs.set(member.instanceId, member.epoch);
  }

  async #takeOver(instance: number): Promise<void> {
    const { instanceId } = this.#member(instance);
    await this.#backend.query(
      "update instance_lease set lease_until = now() - interval '1 s' where instance_id = $1",
      [instanceId],
    );
    this.#dead.add(instance);
    const taken = await this.#backend.ledgerBatchStore.takeOverDeadInstances();
    const dead = [...this.#dead].map((at) => this.#member(at).instanceId);
    agree(new Set(taken), new Set(dead.filter((id) => this.model.takeOver(id))));
    if (taken.length > 0) this.answers.add("taken over");
  }

  #org(at: number): { readonly id: OrgId; readonly keys: readonly KeyId[] } {
    const found = this.orgs[at];
    if (found === undefined) throw new Error(`no organization ${at}`);
    return found;
  }

  #member(at: number): Membership {
    const found = this.members[at];
    if (found === undefined) throw new Error(`no instance ${at}`);
    return found;
  }

  #modelMember(at: number): ModelMember {
    const { instanceId, epoch } = this.#member(at);
    return { instance: instanceId, epoch };
  }

  #attempt(pick: number): { readonly attemptId: AttemptId } {
    return this.attempts.at(-1 - pick) ?? { attemptId: NO_ATTEMPT as AttemptId };
  }

  #holding(spec: ReserveSpec): ReserveRow {
    const { id, keys } = this.#org(spec.org);
    // An index past the organization's own keys stands for a key of another organization.
    const key = keys[spec.key] ?? this.#org((spec.org + 1) % ORGS).keys[0] ?? ("" as KeyId);
    const of = { orgId: id, keyId: key, attemptId: lastAttempt++ as AttemptId };
    const pricePinId = hasMargin(of.attemptId) ? marginPinOf(this.#provider) : this.#provider;
    const place = this.#placeOf(`${id} ${key}`, spec);
    this.#places.set(of.attemptId, place);
    return reserveRow(of, spec.amount, { providerId: this.#provider, pricePinId, ...place });
  }

  /** Two of three attempts continue the last request of `key`, however it ended. */
  #placeOf(key: string, { amount }: ReserveSpec): Pick<ReserveRow, "requestId" | "ordinal"> {
    const known = amount % 3n === 0n ? undefined : this.#latest.get(key);
    const latest = known ?? { requestId: createRequestId(Date.now()), attempts: 0 };
    latest.attempts += 1;
    this.#latest.set(key, latest);
    return { requestId: latest.requestId, ordinal: latest.attempts };
  }

  /** Returns true if no later attempt of the request has begun, which each closing must state. */
  #isFinal(attemptId: AttemptId): boolean {
    const place = this.#places.get(attemptId);
    return ![...this.#places.values()].some(
      ({ requestId, ordinal }) => requestId === place?.requestId && ordinal > place.ordinal,
    );
  }

  #modelRow(row: ReserveRow, by: number): ModelReserve {
    return {
      attempt: row.attemptId,
      org: row.orgId,
      key: row.keyId,
      provider: row.providerId,
      amount: row.reserveMicroUsd,
      member: this.#modelMember(by),
    };
  }

  #closing(spec: CloseSpec): { readonly row: CloseRow; readonly model: ModelClose } {
    const { attemptId } = this.#attempt(spec.pick);
    const { costPico, owedPico, kind } = spec;
    const model = { attempt: attemptId, costPico, kind };
    const final = this.#isFinal(attemptId);
    if (kind === "void") return { row: voidRow(attemptId, { final }), model };
    const cost = { costPicoUsd: picoUsd(costPico), final };
    if (!hasMargin(attemptId)) return { row: closeRow(attemptId, 0n, cost), model };
    const margin = { usage: usageOwing(owedPico), owedPicoUsd: picoUsd(owedPico) };
    const row = closeRow(attemptId, 0n, { ...cost, ...margin });
    return { row, model: { ...model, owedPico } };
  }

  /** Compares all attempts, accounts, months and requests in the database with the model. */
  async compare(): Promise<void> {
    agree(await this.#attemptsStored(), attemptsOf(this.model));
    agree(await this.#accountsStored(), accountsOf(this.model));
    agree(await this.#spendStored(), spendOf(this.model));
    agree(await this.#requestsStored(), this.#requestsOfModel());
    await this.#compareDays();
  }

  /** Returns the journal's line for each request that has a finished attempt. */
  #requestsStored(): Promise<Set<unknown>> {
    return this.#lines(
      `select concat_ws(' ', request_id, attempt_id, 1 + coalesce((earlier).attempts, 0),
        debit + coalesce((earlier).debit, 0),
        coalesce(cost_pico, 0) + coalesce((earlier).cost_pico, 0)) as line
      from attempt where org_id = any ($1) and final`,
      [this.orgs.map(({ id }) => id)],
    );
  }

  #requestsOfModel(): Set<unknown> {
    const requests = new Map<string, ModelAttempt[]>();
    for (const attempt of this.model.attempts.values()) {
      const { requestId = "" } = this.#places.get(attempt.attempt) ?? {};
      requests.set(requestId, [...(requests.get(requestId) ?? []), attempt]);
    }
    const sum = (of: readonly ModelAttempt[], column: "debit" | "costPico"): bigint =>
      of.reduce((total, attempt) => total + attempt[column], 0n);
    const ordinalOf = ({ attempt }: ModelAttempt): number =>
      this.#places.get(attempt)?.ordinal ?? 0;
    const lines = [...requests].map(([requestId, of]) => {
      const last = of.toSorted((a, b) => ordinalOf(a) - ordinalOf(b)).at(-1);
      const figures = [of.length, sum(of, "debit"), sum(of, "costPico")];
      if (of.length > 1) this.answers.add("several attempts");
      return [requestId, last?.attempt, ...figures].join(" ");
    });
    return new Set(lines);
  }

  /** Compares each stored day. For a key with a cap, this week's days with debits are stored. */
  async #compareDays(): Promise<void> {
    const rows = await this.#backend.query(
      `select key_id, day - date '1970-01-01' as day, settled from spend_day
      where key_id = any ($1)`,
      [this.orgs.flatMap(({ keys }) => keys)],
    );
    const stored = new Map(
      rows.map((row) => [`${String(row["key_id"])} ${String(row["day"])}`, row["settled"]]),
    );
    const today = this.model.day - 7 * this.#weeks;
    for (const { keys } of this.model.orgs.values()) {
      for (const [key, { days, caps }] of keys) {
        const isCapped = caps.day !== null || caps.week !== null;
        for (const [day, settled] of days) {
          const at = day - 7 * this.#weeks;
          const found = stored.get(`${key} ${at}`);
          if (found === undefined && !(isCapped && at >= mondayOf(today) && settled > 0n)) continue;
          agree(String(found), String(settled));
          stored.delete(`${key} ${at}`);
        }
      }
    }
    agree(
      [...stored.values()].map(String),
      [...stored.keys()].map(() => "0"),
    );
  }

  /** Runs a query on these values, and returns its lines. */
  async #lines(sql: string, values: unknown[]): Promise<Set<unknown>> {
    return new Set((await this.#backend.query(sql, values)).map((row) => row["line"]));
  }

  #attemptsStored(): Promise<Set<unknown>> {
    return this.#lines(
      `select concat_ws(' ', attempt_id, state, debit, overrun, coalesce(cost_pico, 0),
        case when resumable then 'resumable' end,
        case when corrected_at is not null then 'corrected' end,
        case when state = 'open' then concat_ws(' ', instance_id, epoch) end) as line
      from journal where org_id = any ($1)`,
      [this.orgs.map(({ id }) => id)],
    );
  }

  /** Reads the accounts; of those that fixtures share, it adds up the transfers of this one. */
  #accountsStored(): Promise<Set<unknown>> {
    const wallets = this.orgs.map(({ id }) => `wallet:${id}`);
    const provider = ["accrual", "unknown", "margin"].map((kind) => `${kind}:${this.#provider}`);
    const receivables = this.orgs.map(({ id }) => `receivable:${id}`);
    return this.#lines(
      `select concat_ws(' ', account_id, debits, credits, reserved) as line from account
      where account_id = any ($1::text[] || $2::text[])
      union all
      select concat_ws(' ', debit_account, sum(amount), 0, 0) from transfer
      where debit_account in ('grants', 'overrun') and credit_account = any ($1)
      group by debit_account
      union all
      select concat_ws(' ', 'cash:stripe', coalesce(sum(amount) filter (where is_in), 0),
        coalesce(sum(amount) filter (where not is_in), 0), 0)
      from (
        select amount, debit_account = 'cash:stripe' as is_in from transfer
        where (debit_account = 'cash:stripe' and credit_account = any ($1))
          or (credit_account = 'cash:stripe' and debit_account = any ($2))
      ) t having count(*) > 0`,
      [[...wallets, ...provider], receivables],
    );
  }

  #spendStored(): Promise<Set<unknown>> {
    return this.#lines(
      `select concat_ws(' ', id, $2 - (extract(year from age(now, month)) * 12
        + extract(month from age(now, month))), settled, reserved) as line
      from spend, (select date_trunc('month', now() at time zone 'utc') as now) x
      where id = any ($1) and (settled > 0 or reserved > 0)`,
      [this.orgs.flatMap(({ id, keys }) => [id, ...keys]), this.model.month],
    );
  }
}

/** Returns true for every second attempt: its listing has prices owed to the provider. */
function hasMargin(attemptId: AttemptId): boolean {
  return attemptId % 2n === 0n;
}

function attemptsOf(model: BooksModel): Set<unknown> {
  const lines = model.lines().map((attempt) => {
    const { isResumable, isCorrected, state, member } = attempt;
    return [
      `${attempt.attempt} ${state} ${attempt.debit} ${attempt.overrun} ${attempt.costPico}`,
      ...(isResumable ? ["resumable"] : []),
      ...(isCorrected ? ["corrected"] : []),
      ...(state === "open" ? [member?.instance, member?.epoch] : []),
    ].join(" ");
  });
  return new Set(lines);
}

function accountsOf({ accounts }: BooksModel): Set<unknown> {
  const lines = [...accounts].map(([id, { debits, credits, reserved }]) =>
    [id, debits, credits, reserved].join(" "),
  );
  return new Set(lines);
}

function spendOf(model: BooksModel): Set<unknown> {
  const spenders = [...model.orgs].flatMap(([id, org]) => [[id, org] as const, ...org.keys]);
  const lines = spenders.flatMap(([id, { months }]) =>
    [...months]
      .filter(([, { settled, reserved }]) => settled > 0n || reserved > 0n)
      .map(([month, { settled, reserved }]) => `${id} ${month} ${settled} ${reserved}`),
  );
  return new Set(lines);
}

function comparableClosing(verdict: CloseVerdict): ModelCloseOutcome {
  const { kind, debitMicroUsd: debit, overrunMicroUsd: overrun } = verdict;
  return { kind, debit, overrun };
}

function comparable(outcome: ReserveOutcome): ModelReserveOutcome {
  const { kind } = outcome;
  if (kind === "low_balance") {
    return { kind, available: outcome.availableMicroUsd, held: outcome.heldMicroUsd };
  }
  if (kind !== "cap") return { kind };
  const { scope, period, capMicroUsd: cap, settledMicroUsd: settled } = outcome;
  return { kind, scope, period, cap, settled, inFlight: outcome.inFlightMicroUsd };
}

function nameOf(outcome: ModelReserveOutcome): string {
  if (outcome.kind !== "cap") return outcome.kind;
  return `cap of ${outcome.scope} by the ${outcome.period}`;
}

/** Dates these organizations' data a month back, because the database's clock cannot be set. */
async function passMonth(backend: FreshBackend, orgs: LedgerFixture["orgs"]): Promise<void> {
  const orgIds = orgs.map(({ id }) => id);
  const spenders = [...orgIds, ...orgs.flatMap(({ keys }) => keys)];
  // Moves by way of a distant past, because no two months may be equal in between.
  for (const move of ["- interval '1000 years'", "+ interval '1000 years' - interval '1 month'"]) {
    await tamper(backend, `update spend set month = month ${move} where id = any ($1)`, [spenders]);
  }
  for (const table of ["attempt", "hold"]) {
    const past = "set month = month - interval '1 month' where org_id = any ($1)";
    await tamper(backend, `update ${table} ${past}`, [orgIds]);
  }
}

/** Dates these keys' data seven days back, so that a Monday stays a Monday. */
async function passWeek(backend: FreshBackend, orgs: LedgerFixture["orgs"]): Promise<void> {
  const keys = orgs.flatMap((org) => org.keys);
  for (const move of ["- 100000", "+ 100000 - 7"]) {
    await tamper(backend, `update spend_day set day = day ${move} where key_id = any ($1)`, [keys]);
  }
  for (const table of ["attempt", "hold"]) {
    const past = "set created_at = created_at - interval '7 days' where org_id = any ($1)";
    await tamper(backend, `update ${table} ${past}`, [orgs.map(({ id }) => id)]);
  }
}

function agree(found: unknown, expected: unknown): void {
  expect(found).toEqual(expected);
}

function kindOfFault(fault: unknown): string {
  if (!(fault instanceof BatchFault)) throw fault;
  return fault.kind;
}
