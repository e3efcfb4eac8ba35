import { expect } from "vitest";

import { openRequest } from "./client-view.ts";
import type { CrashHouse } from "./crash-house.ts";
import type { Decision } from "./expect-decided.ts";
import { openScene, type Scene } from "./scene.ts";

export const KILLED = { code: null, signal: "SIGKILL" };
/** What becomes of a request that was left open: its reserve is charged. */
export const CHARGED: Decision = { pays: ["the reserve"], received: 1 };

/** A request whose gateway died in the middle of its answer. */
export async function leftOpen(house: CrashHouse): Promise<Scene> {
  const scene = await openScene(house, { wire: "wire_a", stream: true });
  house.simulator.script({ model: "test/a", fault: "hang:event:6", times: 1 });
  const gateway = await house.up();
  await gateway.order({ at: "output sent", act: "die" });
  const { view } = openRequest(gateway.url, scene.doomed);
  expect(await gateway.ended).toEqual(KILLED);
  expect(await view).toMatchObject({ isWhole: false });
  return scene;
}
