import { expect } from "vitest";

import { costOf, get } from "../../support/ask.ts";
import { openRequest, type ClientView } from "./client-view.ts";
import type { CrashProcess } from "./crash-process.ts";
import type { CrashSuite } from "./crash-suite.ts";
import { expectDecided, type Decision } from "./expect-decided.ts";
import type { FailPoint } from "./fail-points.ts";
import { doomedStates, expectServedAgain, openScene, type Asked, type Scene } from "./scene.ts";

/** A request under way when its gateway is asked to end, and how far it has got. */
export interface TermRow extends Asked {
  readonly at: FailPoint;
}

export const SERVED: Decision = { pays: ["what was used"], received: 1 };
export const EXIT_0 = { code: 0, signal: null };

/** SIGTERM at the step: a whole answer at its cost, and exit 0. */
export async function expectServedOut(suite: CrashSuite, row: TermRow): Promise<void> {
  const { house } = suite;
  const scene = await openScene(house, row);
  const gateway = await house.up();
  await gateway.order({ at: row.at, act: "terminate" });
  const { view } = openRequest(gateway.url, scene.doomed);
  expect(await gateway.ended).toEqual(EXIT_0);
  expectWhole(await view, scene.observed);
  await expectOver(suite, scene, SERVED);
}

export function expectWhole(view: ClientView, costMicroUsd: bigint): void {
  expect(view).toMatchObject({ status: 200, isWhole: true });
  expect(view.text).toContain("word1");
  expect(costOf(view)).toBe(costMicroUsd);
}

/** It was all decided before the process ended; a restart finds nothing to do. */
export async function expectOver(
  suite: CrashSuite,
  scene: Scene,
  decision: Decision,
): Promise<void> {
  const { house } = suite;
  expect(await doomedStates(house, scene)).not.toContain("open");
  await expectDecided(house, scene, decision);
  await suite.decide(await expectServedAgain(house, scene));
}

export async function isReady(gateway: CrashProcess, { account }: Scene): Promise<boolean> {
  return await get(gateway.url, { key: account.key, path: "/readyz" }).then(
    (probe) => probe.status === 200,
    () => false,
  );
}
