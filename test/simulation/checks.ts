import { type AttemptId, attemptInstantMs, type RequestId } from "../../src/kernel/core/ids.ts";
import type {
  CloseOutcome,
  CloseRow,
  RefusedRequest,
  ReserveOutcome,
  ReserveRow,
} from "../../src/ledger/ledger-store.ts";
import { costOf } from "../support/ask.ts";
import { BooksCheck } from "./books-check.ts";
import type { SimulatedClient } from "./client.ts";
import type { JournalRow, SimulatedDatabase } from "./database.ts";
import type { SimulatedInstance } from "./instance.ts";
import type { LedgerWatcher } from "./observed-ledger.ts";
import type { Served } from "./provider.ts";

/** One request as its client, its instance and the ledger saw it. */
export interface RequestRecord {
  readonly client: SimulatedClient;
  readonly instance: SimulatedInstance;
  /** True until `serveCall` has returned. */
  isRunning: boolean;
  /** True if the simulation made the gateway's own code throw during this request. */
  hasOwnBug: boolean;
  /** True if the gateway recorded the request as refused before any dispatch. */
  isRefused: boolean;
  /** True if the last closing of the request had not committed when the client was answered. */
  isPending: boolean;
  /** The cost that its answer reported, in micro-dollars. */
  reported: bigint | undefined;
}

/** A shutdown waits at most 10 s for closings, and the slowest database call takes 10.9 s. */
const SHUT_DOWN_WAIT_MS = 22_000;

interface CheckedSimulation {
  /** Start of the scenario by the database's clock. */
  readonly startMs: number;
  readonly time: { readonly nowMs: number; readonly steps: number };
  readonly database: SimulatedDatabase;
  fail(violation: string): void;
}

/** Checks the scenario from outside the gateway and reports each broken promise. */
export class Checks implements LedgerWatcher<SimulatedInstance> {
  readonly requests: Map<RequestId, RequestRecord> = new Map();
  /** The provider's record of each attempt that was sent. */
  readonly served: Map<AttemptId, Served> = new Map();
  /** Attempts that were sent late: a peer had declared the paused instance dead and closed them. */
  lateDispatches = 0;
  /** The number of answers that reported a cost before their closing had committed. */
  pendingAnswers = 0;
  readonly #simulation: CheckedSimulation;
  readonly #books: BooksCheck;
  readonly #reserved: Set<AttemptId> = new Set();
  readonly #closing: Set<AttemptId> = new Set();

  constructor(simulation: CheckedSimulation) {
    this.#simulation = simulation;
    this.#books = new BooksCheck(simulation);
  }

  /** Called after each event and the microtasks that it started. */
  afterStep(): void {
    this.#books.check();
  }

  requestArrived(client: SimulatedClient, instance: SimulatedInstance): RequestRecord {
    const record: RequestRecord = {
      client,
      instance,
      isRunning: true,
      hasOwnBug: false,
      isRefused: false,
      isPending: false,
      reported: undefined,
    };
    this.requests.set(client.requestId, record);
    return record;
  }

  /** A request that a shutdown cuts must end, not open an attempt with another provider. */
  reserving(row: ReserveRow, instance: SimulatedInstance): void {
    if (row.ordinal === 1 || instance.cutAtStep !== this.#simulation.time.steps) return;
    this.#fail(`${instance.name} is shutting down and fails over: attempt ${row.attemptId}`);
  }

  reserved(row: ReserveRow, outcome: ReserveOutcome): void {
    if (outcome.kind !== "reserved") return;
    this.#reserved.add(row.attemptId);
    if (!this.#simulation.database.journal.has(row.attemptId)) {
      this.#fail(`attempt ${row.attemptId} counts as reserved, but the journal has no row`);
    }
    // The instant in an attempt's id decides its prices, so it must not lie in the future.
    const { startMs, time } = this.#simulation;
    const aheadMs = attemptInstantMs(row.attemptId) - startMs - time.nowMs;
    if (aheadMs > 0) this.#fail(`attempt ${row.attemptId} is of a time ${aheadMs} ms ahead`);
  }

  closing(row: CloseRow): void {
    if (this.#closing.has(row.attemptId)) {
      this.#fail(`the recipe closes attempt ${row.attemptId} twice`);
    }
    this.#closing.add(row.attemptId);
  }

  closed(row: CloseRow, outcome: CloseOutcome): void {
    const line = this.#simulation.database.journal.get(row.attemptId);
    if (line === undefined) return this.#fail(`attempt ${row.attemptId} was closed, never opened`);
    const record = this.requests.get(line.row.requestId);
    if (outcome.kind === "pending" && record !== undefined) record.isPending = true;
  }

  refused(request: RefusedRequest): void {
    const record = this.requests.get(request.requestId);
    if (record !== undefined) record.isRefused = true;
  }

  /** When an attempt is sent, the journal must already have a durable open row for it. */
  dispatched(instance: SimulatedInstance, served: Served, attemptId: AttemptId | undefined): void {
    const { deployment } = served;
    const line = attemptId && this.#simulation.database.journal.get(attemptId);
    if (attemptId === undefined || line === undefined) {
      return this.#fail(`${deployment.id} is sent attempt ${attemptId}, which has no row`);
    }
    const { providerId, requestId } = line.row;
    const what = `${attemptName(line)} of ${instance.name}`;
    if (providerId !== deployment.providerId) this.#fail(`${what} goes to ${deployment.id}`);
    if (requestId !== served.requestId) this.#fail(`${what} sends request ${served.requestId}`);
    if (!this.#reserved.has(attemptId)) this.#fail(`${what} is sent, but was never answered`);
    if (this.served.has(attemptId)) this.#fail(`${what} is sent twice`);
    this.served.set(attemptId, served);
    if (line.book.state === "unknown_after_crash") {
      this.lateDispatches += 1;
      if (!instance.wasFrozen) this.#fail(`${what} is sent late`);
    } else if (line.book.state !== "open") this.#fail(`${what} is sent`);
  }

  /** The reported cost must be the debit, at once or, if the closing is pending, at the end. */
  clientEnded(client: SimulatedClient): void {
    const record = this.requests.get(client.requestId);
    if (record === undefined || client.ending !== "answered") return;
    record.reported = costOf({
      status: 200,
      headers: {},
      json: undefined,
      requestId: "",
      text: client.received,
    });
    this.#checkOneVoice(record);
    // A stream that failed ends with an error, which on some wires has no place for a cost.
    const hasDied = client.received.includes('"error"');
    if (record.reported === undefined && hasDied) return;
    if (record.reported === undefined)
      return this.#fail(`${nameOf(record)}: the answer reports no cost`);
    if (record.isPending) this.pendingAnswers += 1;
    else this.#checkReported(record);
  }

  /** Before an instance takes traffic, attempts that its earlier processes left must be closed. */
  started(instance: SimulatedInstance): void {
    const { instances, journal, books } = this.#simulation.database;
    for (const line of journal.values()) {
      const { state, member } = line.book;
      if (state !== "open" || member === undefined) continue;
      const isOwn = instances.get(member.instance)?.caller === instance;
      if (!isOwn || member.epoch >= (books.epochs.get(member.instance) ?? 0n)) continue;
      this.#fail(`${instance.name} takes traffic, its earlier life left ${attemptName(line)}`);
    }
  }

  /** A shutdown may leave attempts open only if it logged that and a fault disturbed it lately. */
  shutDown(instance: SimulatedInstance): void {
    if (instance.saidItLeftSomething) {
      const calmMs = this.#simulation.time.nowMs - instance.troubledUntilMs;
      if (calmMs > SHUT_DOWN_WAIT_MS) this.#fail(`${instance.name} left closings without need`);
      return;
    }
    for (const line of this.#simulation.database.journal.values()) {
      if (line.caller !== instance || line.book.state !== "open") continue;
      this.#fail(`${instance.name} shut down in order and left ${attemptName(line)}`);
    }
  }

  /** Returns the sum of the debits of all attempts of a request, in micro-dollars. */
  debitOf(requestId: RequestId): bigint {
    const lines = this.#simulation.database.attemptsOf.get(requestId) ?? [];
    return lines.reduce((sum, { book }) => sum + book.debit, 0n);
  }

  #checkReported(record: RequestRecord): void {
    const debit = this.debitOf(record.client.requestId);
    if (record.reported === debit) return;
    this.#fail(`${nameOf(record)}: reported a cost of ${record.reported}, debited ${debit}`);
  }

  /**
   * Each provider answers with its own letter, so that an answer with two letters shows that a
   * second provider served after the first byte.
   */
  #checkOneVoice(record: RequestRecord): void {
    const { received } = record.client;
    const texts = [...received.matchAll(/"(?:content|text)":\s*"([^"]*)"/g)];
    const voices = new Set(texts.flatMap(([, text = ""]) => text.split("")));
    if (voices.size > 1) this.#fail(`${nameOf(record)}: two providers in one answer`);
  }

  #fail(violation: string): void {
    this.#simulation.fail(violation);
  }
}

function nameOf(record: RequestRecord): string {
  return `request ${record.client.request.number} on ${record.instance.name}`;
}

export function attemptName(line: JournalRow): string {
  const { attemptId, requestId, ordinal } = line.row;
  return `attempt ${attemptId} (${line.book.state}, ${ordinal} of request ${requestId})`;
}
