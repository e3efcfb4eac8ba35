import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import {
  chatPath,
  clientHeaders,
  type Target,
  type TargetStart,
} from "../../bench/targets/target.ts";

/** No gateway: clients call the mock provider, whose latency is the baseline for added latency. */
export function startDirect(start: TargetStart): Target {
  return {
    id: "direct",
    version: "",
    endpoint: ({ client }) => ({
      port: start.mockPort,
      path: chatPath(client),
      headers: clientHeaders(client, "bench"),
    }),
    modelId: ({ client }) => UPSTREAM_MODEL_ID[client],
    processes: () => ({ own: [] }),
    stop: () => Promise.resolve(),
  };
}
