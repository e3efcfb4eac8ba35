import type { ModelLine } from "../support/books-model.ts";
import type { SimulatedDatabase } from "./database.ts";

interface Seen {
  readonly state: ModelLine["state"];
  readonly debit: bigint;
  readonly isCorrected: boolean;
}

/** Checks the books against all of their attempts whenever an amount has changed. */
export class BooksCheck {
  readonly #simulation: { readonly database: SimulatedDatabase; fail(violation: string): void };
  readonly #seen: Map<bigint, Seen> = new Map();
  #version = -1;

  constructor(simulation: { readonly database: SimulatedDatabase; fail(violation: string): void }) {
    this.#simulation = simulation;
  }

  check(): void {
    const { database } = this.#simulation;
    if (database.version === this.#version) return;
    this.#version = database.version;
    const lines = database.books.lines();
    for (const attempt of lines) this.#checkAttempt(attempt);
    for (const org of database.books.orgs.keys()) {
      this.#checkOrg(
        org,
        lines.filter((attempt) => attempt.org === org),
      );
    }
    this.#checkConservation();
  }

  /** A closed attempt keeps its state; a debit that was charged after a crash may change once. */
  #checkAttempt(attempt: ModelLine): void {
    const { state, debit, isCorrected, amount } = attempt;
    const before = this.#seen.get(attempt.attempt);
    const name = `attempt ${attempt.attempt}`;
    if (debit < 0n || debit > amount) this.#fail(`${name} debits ${debit} of ${amount} held`);
    if (before !== undefined && before.state !== "open") {
      const isLateTruth = state === "unknown_after_crash" && isCorrected && !before.isCorrected;
      const isSame = before.state === state && before.debit === debit;
      if (!isSame && !(isLateTruth && before.state === state)) {
        this.#fail(`${name} was ${before.state} at ${before.debit}, is ${state} at ${debit}`);
      }
    }
    this.#seen.set(attempt.attempt, { state, debit, isCorrected });
  }

  #checkOrg(org: string, own: readonly ModelLine[]): void {
    const { books } = this.#simulation.database;
    const wallet = books.account(`wallet:${org}`);
    const held = sum(own, (attempt) => (attempt.state === "open" ? attempt.amount : 0n));
    if (wallet.reserved !== held) {
      this.#fail(`${org} holds ${wallet.reserved}, its open attempts need ${held}`);
    }
    const free = wallet.credits - wallet.debits - wallet.reserved;
    if (free < 0n) this.#fail(`${org} has ${free}: more is spent and held than was credited`);
    const granted = [...books.grants.values()]
      .filter((grant) => grant.org === org)
      .reduce((total, { amount }) => total + amount, 0n);
    const spent = sum(own, (attempt) => attempt.debit);
    const paid = granted - (wallet.credits - wallet.debits);
    if (paid !== spent) this.#fail(`${org} paid ${paid}, its attempts say ${spent}`);
    this.#checkCaps(org, own);
  }

  #checkCaps(org: string, own: readonly ModelLine[]): void {
    const { books } = this.#simulation.database;
    const inMonth = (attempts: readonly ModelLine[]): bigint =>
      sum(attempts, ({ state, month, amount, debit }) =>
        state === "open" ? amount : month === books.month ? debit : 0n,
      );
    const orgCap = books.orgs.get(org)?.caps.month ?? null;
    const used = inMonth(own);
    if (orgCap !== null && used > orgCap) this.#fail(`${org} is at ${used} of a cap of ${orgCap}`);
    for (const [key, { caps }] of books.orgs.get(org)?.keys ?? []) {
      const cap = caps.month;
      const usedByKey = inMonth(own.filter((attempt) => attempt.key === key));
      if (cap !== null && usedByKey > cap) this.#fail(`${key} is at ${usedByKey}, its cap ${cap}`);
    }
  }

  #checkConservation(): void {
    let debits = 0n;
    let credits = 0n;
    for (const account of this.#simulation.database.books.accounts.values()) {
      debits += account.debits;
      credits += account.credits;
    }
    if (debits !== credits) this.#fail(`all debits are ${debits}, all credits ${credits}`);
  }

  #fail(violation: string): void {
    this.#simulation.fail(violation);
  }
}

function sum(attempts: readonly ModelLine[], read: (attempt: ModelLine) => bigint): bigint {
  return attempts.reduce((total, attempt) => total + read(attempt), 0n);
}
