import { expect } from "vitest";

import { costOf, get } from "../../support/ask.ts";
import { openRequest, type ClientView } from "./client-view.ts";
import type { CrashProcess } from "./crash-process.ts";
import type { CrashSuite } from "./crash-suite.ts";
import { expectDecided, type Decision } from "./expect-decided.ts";
import type { FailPoint } from "./fail-points.ts";
import {
  doomedStates,
  expectServedAgain,
  openScenario,
  type Asked,
  type Scenario,
} from "./scenario.ts";

/** A request, and how far it has got when its gateway gets SIGTERM. */
export interface TermRow extends Asked {
  readonly at: FailPoint;
}

export const SERVED: Decision = { pays: ["what was used"], received: 1 };
export const EXIT_0 = { code: 0, signal: null };

/** Checks that after SIGTERM at this step the answer ends with its cost, and the exit code is 0. */
export async function expectServedOut(suite: CrashSuite, row: TermRow): Promise<void> {
  const { fixture } = suite;
  const scenario = await openScenario(fixture, row);
  const gateway = await fixture.up();
  await gateway.order({ at: row.at, act: "terminate" });
  const { view } = openRequest(gateway.url, scenario.doomed);
  expect(await gateway.ended).toEqual(EXIT_0);
  expectWhole(await view, scenario.observed);
  await expectOver(suite, scenario, SERVED);
}

export function expectWhole(view: ClientView, costMicroUsd: bigint): void {
  expect(view).toMatchObject({ status: 200, isWhole: true });
  expect(view.text).toContain("word1");
  expect(costOf(view)).toBe(costMicroUsd);
}

/** Checks that all was decided before the process ended, and a restart has nothing to do. */
export async function expectOver(
  suite: CrashSuite,
  scenario: Scenario,
  decision: Decision,
): Promise<void> {
  const { fixture } = suite;
  expect(await doomedStates(fixture, scenario)).not.toContain("open");
  await expectDecided(fixture, scenario, decision);
  await suite.decide(await expectServedAgain(fixture, scenario));
}

export async function isReady(gateway: CrashProcess, { account }: Scenario): Promise<boolean> {
  return await get(gateway.url, { key: account.key, path: "/readyz" }).then(
    (probe) => probe.status === 200,
    () => false,
  );
}
