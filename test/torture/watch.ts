import { setTimeout as sleep } from "node:timers/promises";

import type { TortureDatabase } from "./database.ts";
import type { Findings } from "./findings.ts";

const CHECK_EVERY_MS = 500;
/** An audit reads all books, so only every twentieth check makes one. */
const CHECKS_FOR_AN_AUDIT = 20;

/** Checks, while the run goes on, the rules that must hold at any moment. */
export class Watch {
  checks = 0;
  audits = 0;
  readonly #database: TortureDatabase;
  readonly #findings: Findings;
  #isOpen = true;
  #work: Promise<void> = Promise.resolve();

  constructor(database: TortureDatabase, findings: Findings) {
    this.#database = database;
    this.#findings = findings;
  }

  open(): void {
    this.#work = this.#watch();
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#work;
  }

  async #watch(): Promise<void> {
    let looked = 0;
    while (this.#isOpen) {
      looked += 1;
      try {
        await this.#check();
        if (looked % CHECKS_FOR_AN_AUDIT === 0) await this.#audit();
      } catch {
        // The database is down, so nothing can be checked.
      }
      await sleep(CHECK_EVERY_MS);
    }
  }

  async #check(): Promise<void> {
    const overdrawn = await this.#database.query<{ what: string }>(overdrawnSql);
    this.checks += 1;
    for (const { what } of overdrawn) this.#findings.add("seen overdrawn during the run", what);
  }

  async #audit(): Promise<void> {
    const checks = await this.#database.backend.audit();
    this.audits += 1;
    for (const { id, title, violations } of checks) {
      if (violations > 0) {
        this.#findings.add("audit during the run", `${id} ${title}: ${violations}`);
      }
    }
  }
}

/** Holds count too. The caps of a run only rise, so the present cap is the highest. */
const overdrawnSql = `
  select account_id || ' is below zero' as what from account
    where org_id is not null and debits + reserved > credits
  union all
  select 'org ' || o.org_id || ' is above its cap' from org o
    join spend s on s.scope = 'org' and s.id = o.org_id
    where s.settled + s.reserved > o.cap_micro_usd
  union all
  select 'key ' || k.key_id || ' is above its cap' from api_key k
    join spend s on s.scope = 'key' and s.id = k.key_id
    where s.settled + s.reserved > k.cap_micro_usd`;
