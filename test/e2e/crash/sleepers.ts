import { expect } from "vitest";

import { until } from "../../support/books.ts";
import { openRequest, type ClientView, type OpenRequest } from "./client-view.ts";
import type { CrashFixture } from "./crash-fixture.ts";
import type { CrashProcess } from "./crash-process.ts";
import type { Decision } from "./expect-decided.ts";
import type { FailPoint } from "./fail-points.ts";
import { doomedStates, openScenario, type Asked, type Scenario } from "./scenario.ts";

/** A request of a stopped instance: a peer gives it up, and the instance reports it late. */
export interface Sleeper {
  readonly scenario: Scenario;
  readonly view: Promise<ClientView>;
  readonly row: SleeperRow;
}

interface SleeperRow extends Asked {
  readonly what: string;
  readonly instance: "one" | "two" | "three";
  readonly fault?: string;
  /** The step at which the request waits, or how far it has got. */
  readonly at: FailPoint | "the provider" | "the first words";
  readonly givenUp: Decision;
  readonly late: Decision;
  /** The status of the late answer. */
  readonly status: number;
}

const CHARGED: Decision = { pays: ["the reserve"], received: 1 };
const USED: Decision = { pays: ["what was used, told late"], received: 1 };

/* Sent in this order, because a waiting batch holds up all that its instance sends later. */
const ROWS: readonly SleeperRow[] = [
  {
    what: "an answer that waits for its settlement",
    wire: "wire_b",
    stream: true,
    instance: "three",
    at: "settle queued",
    givenUp: CHARGED,
    late: USED,
    status: 200,
  },
  {
    what: "a hold that has not been sent yet: it is not sent any more",
    wire: "wire_a",
    instance: "two",
    at: "reserve committed",
    givenUp: { ...CHARGED, received: 0 },
    late: { pays: ["nothing, told late"], received: 0 },
    status: 503,
  },
  {
    what: "a stream",
    wire: "wire_a",
    stream: true,
    instance: "one",
    fault: "slow:900",
    at: "the first words",
    givenUp: CHARGED,
    late: USED,
    status: 200,
  },
  {
    what: "a whole answer",
    wire: "wire_b",
    instance: "one",
    fault: "slow:9000",
    at: "the provider",
    givenUp: CHARGED,
    late: USED,
    status: 200,
  },
  {
    what: "a failure: the next provider is not tried any more",
    wire: "wire_a",
    model: "test/both",
    instance: "one",
    fault: "slow:9000;status:500",
    at: "the provider",
    givenUp: CHARGED,
    late: { pays: ["nothing, told late"], received: 1 },
    status: 500,
  },
  {
    what: "a reserve that was about to be sent: it is fenced",
    wire: "wire_a",
    instance: "one",
    at: "reserve queued",
    givenUp: { pays: [], received: 0 },
    late: { pays: [], received: 0 },
    status: 503,
  },
];

/** Sends the request of each of `ROWS` up to its step, then stops all instances. */
export async function putToSleep(
  fixture: CrashFixture,
  instances: Readonly<Record<SleeperRow["instance"], CrashProcess>>,
): Promise<readonly Sleeper[]> {
  const scenes = new Map<SleeperRow, Scenario>();
  for (const row of ROWS) scenes.set(row, await openScenario(fixture, row));
  const sleepers: Sleeper[] = [];
  for (const [row, scenario] of scenes) {
    const { view } = await sendUntil(fixture, instances[row.instance], { row, scenario });
    sleepers.push({ row, scenario, view });
  }
  for (const instance of Object.values(instances)) instance.signal("SIGSTOP");
  for (const { row, scenario } of sleepers) {
    const states = await doomedStates(fixture, scenario);
    expect({ what: row.what, states }).toEqual({
      what: row.what,
      states: row.givenUp.pays.map(() => "open"),
    });
  }
  return sleepers;
}

/** Sends a request and waits until it has reached the step `row.at`. */
async function sendUntil(
  fixture: CrashFixture,
  instance: CrashProcess,
  { row, scenario }: Pick<Sleeper, "row" | "scenario">,
): Promise<OpenRequest> {
  const { fault, at } = row;
  if (fault !== undefined)
    fixture.simulator.script({ model: scenario.doomed.model, fault, times: 1 });
  const isInside = at !== "the provider" && at !== "the first words";
  if (isInside) await instance.order({ at, act: "wait" });
  const request = openRequest(instance.url, scenario.doomed);
  if (isInside) await instance.waitsAt(at);
  else if (at === "the first words") {
    await until("it has begun", () => request.text().includes("word1"));
  } else await until("it is there", () => fixture.received(scenario.mark).length === 1);
  return request;
}
