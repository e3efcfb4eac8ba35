import { expect } from "vitest";

import { openRequest } from "./client-view.ts";
import type { CrashFixture } from "./crash-fixture.ts";
import type { Decision } from "./expect-decided.ts";
import { openScenario, type Scenario } from "./scenario.ts";

export const KILLED = { code: null, signal: "SIGKILL" };
/** The outcome of a request that was left open: its reserve is charged. */
export const CHARGED: Decision = { pays: ["the reserve"], received: 1 };

/** A request whose gateway died in the middle of its answer. */
export async function leftOpen(fixture: CrashFixture): Promise<Scenario> {
  const scenario = await openScenario(fixture, { wire: "wire_a", stream: true });
  fixture.simulator.script({ model: "test/a", fault: "hang:event:6", times: 1 });
  const gateway = await fixture.up();
  await gateway.order({ at: "output sent", act: "die" });
  const { view } = openRequest(gateway.url, scenario.doomed);
  expect(await gateway.ended).toEqual(KILLED);
  expect(await view).toMatchObject({ isWhole: false });
  return scenario;
}
