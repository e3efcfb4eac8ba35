import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { openRequest, type OpenRequest } from "./client-view.ts";
import { waitingSessions } from "./crash-books.ts";
import type { HeldLock } from "./crash-fixture.ts";
import type { CrashProcess } from "./crash-process.ts";
import { crashSuite } from "./crash-suite.ts";
import { expectDecided } from "./expect-decided.ts";
import {
  doomedStates,
  expectServedAgain,
  openScenario,
  type Asked,
  type Scenario,
} from "./scenario.ts";
import {
  EXIT_0,
  expectOver,
  expectServedOut,
  expectWhole,
  isReady,
  SERVED,
  type TermRow,
} from "./sigterm.ts";

const suite = crashSuite();
const STREAM: Asked = { wire: "wire_a", stream: true };

const ROWS: readonly TermRow[] = [
  { at: "authenticated", wire: "wire_a", stream: false },
  { at: "reserve committed", wire: "wire_a", stream: true },
  { at: "dispatched", wire: "wire_b", stream: false },
  { at: "output sent", wire: "wire_a", stream: true },
  { at: "settle queued", wire: "wire_b", stream: true },
  { at: "last bytes", wire: "wire_a", stream: true },
];

test.each(ROWS)(
  "SIGTERM at $at, $wire, stream $stream: the whole answer arrives, and the process exits with 0",
  (row) => expectServedOut(suite, row),
);

test("SIGTERM between two attempts lets the second one run, and both are settled", async () => {
  const { fixture } = suite;
  const scenario = await openScenario(fixture, { ...STREAM, model: "test/ba" });
  fixture.simulator.script({ model: "test/ba", fault: "error_at_event:1", times: 1 });
  const gateway = await fixture.up();
  await gateway.order({ at: "roll queued", act: "terminate" });
  const { view } = openRequest(gateway.url, scenario.doomed);
  expect(await gateway.ended).toEqual(EXIT_0);
  expectWhole(await view, scenario.observedAtStart + scenario.observed);
  await expectOver(suite, scenario, {
    pays: ["what it reported at first", "what was used"],
    received: 2,
  });
});

test("SIGTERM after the client disconnected lets the gateway read the answer to its end and settle it", async () => {
  const { fixture } = suite;
  const scenario = await openScenario(fixture, STREAM);
  fixture.simulator.script({ model: "test/a", fault: "slow:100", times: 1 });
  const gateway = await fixture.up();
  await gateway.order({ at: "client left", act: "terminate" });
  const request = openRequest(gateway.url, scenario.doomed);
  await until("the stream runs", () => request.text() !== "");
  request.leave();
  expect(await gateway.ended).toEqual(EXIT_0);
  await expectOver(suite, scenario, { ...SERVED, outcome: "client_disconnected" });
});

test("after SIGTERM an answer still waits for its settlement, and then the process exits with 0", async () => {
  const { scenario, gateway, request, lock } = await settleUnderLock();
  gateway.signal("SIGTERM");
  await until("no new request is accepted", async () => !(await isReady(gateway, scenario)));
  expect(request.text()).toContain("word1");
  expect(request.text()).not.toContain('"cost"');
  await lock.release();
  expectWhole(await request.view, scenario.observed);
  expect(await gateway.ended).toEqual(EXIT_0);
  await expectOver(suite, scenario, SERVED);
});

test("after SIGTERM the process exits only once a settlement that outlasted its answer has committed", async () => {
  const { fixture } = suite;
  const { scenario, gateway, request, lock } = await settleUnderLock();
  gateway.signal("SIGTERM");
  expectWhole(await request.view, scenario.observed);
  expect(gateway.isRunning).toBe(true);
  expect(await doomedStates(fixture, scenario)).toEqual(["open"]);
  await lock.release();
  expect(await gateway.ended).toEqual(EXIT_0);
  await expectOver(suite, scenario, SERVED);
});

test("a hanging stream ends with an error after the grace time, and only its reported usage is charged", async () => {
  const { fixture } = suite;
  await fixture.restart({ env: { TM_SHUTDOWN_GRACE_MS: "100" } });
  const scenes = [
    await openScenario(fixture, { wire: "wire_a", stream: true }),
    await openScenario(fixture, { wire: "wire_b", stream: true }),
  ];
  fixture.simulator.script({ fault: "hang:event:6", times: 2 });
  const gateway = await fixture.up();
  const requests = scenes.map((scenario) => openRequest(gateway.url, scenario.doomed));
  await until("both streams run", () => requests.every((request) => request.text() !== ""));
  gateway.signal("SIGTERM");
  expect(await gateway.ended).toEqual(EXIT_0);
  for (const request of requests) {
    const { text, isWhole } = await request.view;
    expect(isWhole).toBe(true);
    expect(text).toContain('"error"');
  }
  const [onA, onB] = scenes;
  const cut = { received: 1, outcome: "stream_died" };
  if (onA !== undefined) await expectOver(suite, onA, { ...cut, pays: ["nothing"] });
  if (onB !== undefined)
    await expectOver(suite, onB, { ...cut, pays: ["what it reported at first"] });
});

test("a second SIGTERM after a second ends the process at once with 1, and the next start charges the reserve", async () => {
  const { fixture } = suite;
  const scenario = await openScenario(fixture, STREAM);
  fixture.simulator.script({ model: "test/a", fault: "hang:event:6", times: 1 });
  const gateway = await fixture.up();
  const request = openRequest(gateway.url, scenario.doomed);
  await until("the stream runs", () => request.text() !== "");
  gateway.signal("SIGTERM");
  await until("no new request is accepted", async () => !(await isReady(gateway, scenario)));
  // A signal that comes sooner is taken for the first one, which npm may pass on.
  await sleep(1_100);
  gateway.signal("SIGTERM");
  expect(await gateway.ended).toEqual({ code: 1, signal: null });
  expect(await request.view).toMatchObject({ isWhole: false });
  expect(await doomedStates(fixture, scenario)).toEqual(["open"]);
  await fixture.restart();
  await expectDecided(fixture, scenario, { pays: ["the reserve"], received: 1 });
  await suite.decide(await expectServedAgain(fixture, scenario));
});

suite.testUnchanged();

interface WaitingSettlement {
  readonly scenario: Scenario;
  readonly gateway: CrashProcess;
  readonly request: OpenRequest;
  readonly lock: HeldLock;
}

/** A stream that lacks only its end: the end waits for the settlement, which waits for a lock. */
async function settleUnderLock(): Promise<WaitingSettlement> {
  const { fixture } = suite;
  const scenario = await openScenario(fixture, STREAM);
  const gateway = await fixture.up();
  await gateway.order({ at: "settle queued", act: "wait" });
  const request = openRequest(gateway.url, scenario.doomed);
  await gateway.waitsAt("settle queued");
  const lock = await fixture.lockWallet(scenario.account);
  await gateway.goOn();
  // The settlement waits first in its batch, and later among the late closings.
  await until("the settlement waits", async () =>
    (await waitingSessions(fixture.backend)).some((name) =>
      ["tokenmarket ledger", "tokenmarket late closings"].includes(name),
    ),
  );
  return { scenario, gateway, request, lock };
}
