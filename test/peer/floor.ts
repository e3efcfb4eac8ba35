import { receivePort, startHelper } from "../../bench/children.ts";
import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import type { Target, TargetStart } from "../../bench/targets/target.ts";
import { usualEndpoint } from "./peer-files.ts";

/** The least that a gateway on node:http and undici costs: no money, no limits, no translation. */
export async function startFloor(start: TargetStart): Promise<Target> {
  const helper = startHelper("../test/peer/node-floor.ts", [String(start.mockPort)]);
  const port = await receivePort(helper);
  return {
    id: "floor",
    version: process.versions.node,
    endpoint: (route) =>
      route.client === route.upstream ? usualEndpoint(port, route, "bench") : undefined,
    modelId: ({ client }) => UPSTREAM_MODEL_ID[client],
    keys: { bad_key: ["unknown"] },
    processes: () => ({ own: [helper.processId] }),
    stop: () => Promise.resolve(helper.stop()),
  };
}
