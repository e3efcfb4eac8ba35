import { subscribe } from "node:diagnostics_channel";

import { UpstreamClient } from "../../../src/upstream/upstream-client.ts";
import { DetachedReadLimit } from "../../../src/gateway/call/detached-read-limit.ts";
import { HttpExchange } from "../../../src/gateway/http/http-exchange.ts";
import { BatchFault, type LedgerBatch } from "../../../src/ledger/ledger-batch-store.ts";
import { MemoryLimitStore } from "../../../src/gateway/limits/memory/memory-limit-store.ts";
import { LaneConnection } from "../../../src/ledger/ledger-batches.ts";
import { PostgresLedgerBatchStore } from "../../../src/ledger/postgres-ledger-batch-store.ts";
import type { Command, FailPoint, Order, Report } from "./fail-points.ts";

/*
 * The program itself, including `serve`, with fail points between the steps of a request. It
 * behaves like the program until its parent process orders it to act at one of them.
 */

let order: Order | undefined;
let timesLeft = 0;
/** The kind of the batch that was started last. */
let batchKind: ReturnType<typeof kindOf>;
const waiting: (() => void)[] = [];

const begun = new Promise<void>((resolve) => {
  process.on("message", (command: Command) => {
    if ("order" in command) {
      ({ order } = command);
      timesLeft = order.nth ?? 1;
    } else if ("begin" in command) {
      resolve();
    } else {
      for (const goOn of waiting.splice(0)) goOn();
    }
    report({ done: true });
  });
});
// When the controlling process has ended, the gateway must not stay.
process.on("disconnect", () => process.exit(3));

watchAdmission();
watchBatches();
watchDispatch();
watchSettlement();
watchStatements();
watchRecovery();
// Loading takes most of a start, so it is done while the previous process still runs.
await import("../../../src/app/open-gateway.ts");
await begun;
process.channel?.unref();
await import("../../../src/cli/main.ts");

function report(what: Report): void {
  process.send?.(what);
}

/** Returns the ordered action if this point was ordered and is reached for the n-th time. */
function isOrdered(at: FailPoint): Order["act"] | undefined {
  if (order?.at !== at || --timesLeft > 0) return undefined;
  const { act } = order;
  order = undefined;
  return act;
}

/** Marks a point at which the process cannot wait. Never returns if it was ordered to die here. */
function pass(at: FailPoint): void {
  const act = isOrdered(at);
  if (act === "die") process.kill(process.pid, "SIGKILL");
  if (act === "terminate") process.kill(process.pid, "SIGTERM");
  if (act === "wait") throw new Error(`no caller can wait at "${at}"`);
}

/** Marks a point at which the process can also wait. */
async function passOrWait(at: FailPoint): Promise<void> {
  if (order?.at !== at || order.act !== "wait") return pass(at);
  if (isOrdered(at) === undefined) return;
  const reported = new Promise<void>((resolve) => waiting.push(resolve));
  report({ waitingAt: at });
  await reported;
}

function watchAdmission(): void {
  wrap(MemoryLimitStore, "claim", (claim) => {
    return function (...input) {
      pass("authenticated");
      const outcome = claim.apply(this, input);
      pass("limits claimed");
      return outcome;
    };
  });
  wrap(PostgresLedgerBatchStore, "annul", (annul) => {
    return async function (rows) {
      pass("hold to be annulled");
      await annul.call(this, rows);
    };
  });
}

function watchDispatch(): void {
  wrap(UpstreamClient, "send", (send) => {
    return function (...input) {
      pass("dispatch");
      const [, , handler] = input;
      const start = handler.onResponseStart?.bind(handler);
      handler.onResponseStart = (...answer) => {
        start?.(...answer);
        pass("headers arrived");
      };
      send.apply(this, input);
    };
  });
  subscribe("undici:request:bodySent", () => pass("dispatched"));
  wrap(DetachedReadLimit, "enter", (enter) => {
    return function (request) {
      pass("client left");
      return enter.call(this, request);
    };
  });
  wrap(HttpExchange, "write", (write) => {
    return function (output) {
      const more = write.call(this, output);
      // The bytes leave one turn of the event loop later. The provider's text begins with word1.
      if (String(output).includes("word1")) setImmediate(() => pass("output sent"));
      return more;
    };
  });
}

/** The tests send one request at a time, so a batch is a reserve, a roll or a settlement. */
function watchBatches(): void {
  wrap(PostgresLedgerBatchStore, "runBatch", (runBatch) => {
    return async function (batch) {
      const kind = kindOf(batch);
      batchKind = kind;
      if (kind !== undefined) await passOrWait(`${kind} queued`);
      const answer = await runBatch.call(this, batch);
      if (kind === "settle") pass("settle committed");
      else if (kind !== undefined) await passOrWait(`${kind} committed`);
      if (kind !== "settle" && order?.at === "hold to be annulled") {
        throw new BatchFault("ambiguous", "the answer was lost", undefined);
      }
      return answer;
    };
  });
}

function kindOf({ closings, holds }: LedgerBatch): "reserve" | "roll" | "settle" | undefined {
  if (holds.length > 0) return closings.length > 0 ? "roll" : "reserve";
  return closings.length > 0 ? "settle" : undefined;
}

function watchSettlement(): void {
  wrap(HttpExchange, "end", (end) => {
    return function (last) {
      pass("last bytes");
      end.call(this, last);
    };
  });
  wrap(HttpExchange, "answer", (answer) => {
    return function (...input) {
      pass("last bytes");
      answer.apply(this, input);
    };
  });
  subscribe("http.server.response.finish", () => pass("answered"));
}

/** Lets a process die after it has sent a batch and before it knows the result. */
function watchStatements(): void {
  wrap(LaneConnection, "run", (run) => {
    return async function (statement, values) {
      const at = `${batchKind} sent` as const;
      if (batchKind === undefined || statement.name !== "ledger_batch" || order?.at !== at) {
        return await run.call(this, statement, values);
      }
      // The server waits for a lock until the test releases it, and not until a short timeout.
      for (const name of ["lock_timeout", "statement_timeout"]) {
        await run.call(this, { name, text: `set ${name} = '60s'` }, []);
      }
      const answer = run.call(this, statement, values);
      setImmediate(() => pass(at));
      return await answer;
    };
  });
}

function watchRecovery(): void {
  wrap(PostgresLedgerBatchStore, "recoverOpenAttempts", (recoverOpenAttempts) => {
    return async function (stuck) {
      pass("joined");
      const count = await recoverOpenAttempts.call(this, stuck);
      pass("recovered");
      return count;
    };
  });
}

type Method<Owner, Name extends keyof Owner> = Owner[Name] extends (...input: infer I) => infer O
  ? (this: Owner, ...input: I) => O
  : never;

/** Replaces a method, for all objects of the class, by the one that `make` returns. */
function wrap<Owner extends object, Name extends keyof Owner>(
  owner: { readonly prototype: Owner },
  name: Name,
  make: (original: Method<Owner, Name>) => Method<Owner, Name>,
): void {
  const { prototype } = owner;
  prototype[name] = make(prototype[name] as Method<Owner, Name>) as Owner[Name];
}
