import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import type { Target, TargetStart } from "../../bench/targets/target.ts";
import { usualEndpoint } from "./peer-files.ts";

/** No gateway: clients call the mock provider, whose latency is the baseline for added latency. */
export function startDirect(start: TargetStart): Target {
  return {
    id: "direct",
    version: "",
    endpoint: (route) => usualEndpoint(start.mockPort, route, "bench"),
    modelId: ({ client }) => UPSTREAM_MODEL_ID[client],
    processes: () => ({ own: [] }),
    stop: () => Promise.resolve(),
  };
}
