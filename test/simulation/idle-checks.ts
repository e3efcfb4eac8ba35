import { LEASE_MS, LEASE_RENEW_MS } from "../../src/kernel/core/constants.ts";
import { type AttemptId, attemptInstantMs, type RequestId } from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import { computeDebit } from "../../src/catalog/pricing/quote.ts";
import { attemptName, type RequestRecord } from "./checks.ts";
import type { JournalRow } from "./database.ts";
import type { SimulatedInstance } from "./instance.ts";
import { type StatedCost, statedCost } from "./prices.ts";
import type { Served } from "./provider.ts";
import type { Simulation } from "./simulation.ts";

/**
 * The longest that recovery may take: a renewal that commits late (13 s), its lease, the time for
 * which a peer must have held its own lease, a round of recovery (3 s) and a restart (5 s).
 */
const RECOVERY_MS: number = 13_000 + LEASE_MS + 3 * LEASE_RENEW_MS + 3_000 + 5_000;

/** Returns why the scenario is not idle; undefined if it is. */
export function isIdle(simulation: Simulation): string | undefined {
  for (const record of simulation.checks.requests.values()) {
    if (record.isRunning && !record.instance.isDead) return `${nameOf(record)} is being served`;
  }
  for (const line of simulation.database.journal.values()) {
    if (line.book.state === "open") return `${attemptName(line)} is open`;
  }
  if (simulation.running.length < simulation.slots.length) return "an instance is not running";
  return simulation.running.flatMap((instance) => restlessness(instance) ?? [])[0];
}

/** Returns the violations of the promises that hold only once nothing is in flight. */
export function brokenWhenIdle(
  simulation: Simulation,
  before: ReadonlySet<RequestId>,
): readonly string[] {
  const restless = isIdle(simulation);
  return [
    ...(restless === undefined ? [] : [`after the last probes ${restless}`]),
    ...[...simulation.checks.requests.values()].flatMap((record) => [
      ...unanswered(record),
      ...wronglyReported(simulation, record),
      ...(before.has(record.client.requestId) ? [] : unserved(record)),
    ]),
    ...forgotten(simulation),
    ...[...simulation.database.journal.values()].flatMap((line) =>
      wronglyDebited(simulation, line),
    ),
    ...simulation.running.flatMap(leftInLimits),
  ];
}

function restlessness(instance: SimulatedInstance): string | undefined {
  const { deps, name } = instance;
  if (!instance.isReady || deps === undefined) return `${name} is not ready`;
  if (deps.limits.held > 0) return `${name} has ${deps.limits.held} limit leases out`;
  if (deps.health.unreported !== 0) {
    return `${name} has ${deps.health.unreported} attempts that reported to no circuit`;
  }
  if (deps.drains.active > 0) return `${name} reads on for ${deps.drains.active} who left`;
  if (deps.deadlines.size > 0) return `${name} watches ${deps.deadlines.size} deadlines`;
  return undefined;
}

function unanswered(record: RequestRecord): readonly string[] {
  return record.client.ending === undefined ? [`${nameOf(record)} was never answered`] : [];
}

/** A request that was sent after all faults have ended must be answered. */
function unserved(record: RequestRecord): readonly string[] {
  const { ending, refusal } = record.client;
  if (ending === "answered") return [];
  return [`${nameOf(record)} came after all faults and was ${ending}: ${refusal?.message}`];
}

/** Returns whether a request was refused and yet debited, as when its instance died meanwhile. */
export function isChargedRefusal(simulation: Simulation, record: RequestRecord): boolean {
  return record.isRefused && simulation.checks.debitOf(record.client.requestId) > 0n;
}

/** The reported cost must be the debit, and 0 for a refusal, unless a crash charged the reserve. */
function wronglyReported(simulation: Simulation, record: RequestRecord): readonly string[] {
  const { requestId } = record.client;
  const lines = simulation.database.attemptsOf.get(requestId) ?? [];
  const debit = simulation.checks.debitOf(requestId);
  const isCrashCharged = lines.some((line) => isChargedUnknown(line) && line.caller?.isDead);
  const isSettled = record.reported !== undefined && !record.isPending;
  if (isCrashCharged && !isSettled) return [];
  if (record.reported !== undefined && record.reported !== debit) {
    return [
      `${nameOf(record)} was reported as ${record.reported}, in the end ${debit} were debited`,
    ];
  }
  if (record.isRefused && debit !== 0n) return [`${nameOf(record)} was refused and pays ${debit}`];
  return [];
}

/** A whole answer must be debited at the usage that the provider reported, within the reserve. */
function wronglyDebited(simulation: Simulation, line: JournalRow): readonly string[] {
  const { attemptId, reserveMicroUsd } = line.row;
  const { debit } = line.book;
  const served = simulation.checks.served.get(attemptId);
  if (isChargedUnknown(line)) {
    if (line.caller?.isDead !== true) return [`${attemptName(line)}: its instance lives`];
    return debit === reserveMicroUsd ? [] : [`${attemptName(line)} is not charged its reserve`];
  }
  if (served === undefined) {
    return debit === 0n ? [] : [`${attemptName(line)} was never sent and pays ${debit}`];
  }
  // A fault of the gateway's own code may leave the attempt uncharged, whatever the provider did.
  const hasOwnBug = simulation.checks.requests.get(line.row.requestId)?.hasOwnBug === true;
  if (!served.isWhole || (hasOwnBug && debit === 0n)) return [];
  const stated = costOf(served, attemptId);
  const due = computeDebit(picoUsd(stated.cost), microUsd(reserveMicroUsd));
  if (debit !== due) {
    return [`${attemptName(line)} debits ${debit}, the provider's report says ${due}`];
  }
  const margin = stated.cost / PICO_PER_MICRO - stated.owed / PICO_PER_MICRO;
  if (line.book.margin === margin) return [];
  return [`${attemptName(line)} leaves ${line.book.margin}, by what is owed it is ${margin}`];
}

const PICO_PER_MICRO = 1_000_000n;
const NOTHING = { cost: 0n, owed: 0n };

/** Returns the cost at the prices that the listing states for the time in the attempt's id. */
function costOf(
  { usage, deployment }: Served,
  attemptId: AttemptId,
): Pick<StatedCost, "cost" | "owed"> {
  if (usage === undefined) return NOTHING;
  return statedCost(deployment.id, attemptInstantMs(attemptId), usage);
}

function isChargedUnknown({ book }: JournalRow): boolean {
  return book.state === "unknown_after_crash" && !book.isCorrected;
}

/** With nothing in flight, as many requests must be granted together as the limits allow. */
function leftInLimits(instance: SimulatedInstance): readonly string[] {
  const { limits } = instance.deps ?? {};
  const claim = limits?.lastClaim;
  if (limits === undefined || claim === undefined) return [];
  const nowMs = instance.clock.monotonicMs();
  const leases = [];
  for (;;) {
    const outcome = limits.claim({ ...claim, nowMs });
    if (outcome.kind !== "claimed") break;
    leases.push(outcome.lease);
  }
  for (const lease of leases) limits.undo(lease, nowMs);
  const atOnce = Math.min(...claim.scopes.map((scope) => scope.limits.concurrent ?? Infinity));
  if (leases.length === atOnce) return [];
  return [`${instance.name} grants ${leases.length} at once instead of ${atOnce}`];
}

/** Each refused request must be recorded by its id or in a count, unless its instance died. */
function forgotten({ checks, database }: Simulation): readonly string[] {
  const unlisted = [...checks.requests.values()].filter(
    ({ client, instance, isRefused }) =>
      isRefused && !instance.isDead && !database.refused.has(client.requestId),
  );
  if (unlisted.length <= database.refusedCounted) return [];
  const of = unlisted.map(({ client }) => client.request.number).join(", ");
  return [`of the requests ${of} ${database.refusedCounted} are counted, and none is recorded`];
}

/** Recovery promises to close within `RECOVERY_MS` each attempt that a dead instance left open. */
export function leftByTheDead(simulation: Simulation, sinceMs: number): readonly string[] {
  const { nowMs } = simulation.time;
  return [...simulation.database.journal.values()].flatMap((line) => {
    const diedAtMs = line.caller?.diedAtMs ?? Number.POSITIVE_INFINITY;
    const lateMs = nowMs - Math.max(diedAtMs, sinceMs);
    if (line.book.state !== "open" || lateMs <= RECOVERY_MS) return [];
    return [`${attemptName(line)} is open ${lateMs} ms after its instance died`];
  });
}

function nameOf({ client, instance }: RequestRecord): string {
  return `request ${client.request.number} on ${instance.name}`;
}
