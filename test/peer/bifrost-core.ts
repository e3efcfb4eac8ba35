import { join } from "node:path";
import { startServer } from "../support/tethered-program.ts";
import { freePort } from "../support/free-port.ts";
import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import {
  BIFROST_CORE_PROGRAM,
  BIFROST_CORE_VERSION,
  requirePart,
  usualEndpoint,
} from "./peer-files.ts";
import type { Target, TargetStart } from "../../bench/targets/target.ts";

const PROVIDERS = { wire_a: "openai", wire_b: "anthropic" } as const;

/** Bifrost's library behind a small HTTP handler, which does less than Bifrost's program. */
export async function startBifrostCore(start: TargetStart): Promise<Target> {
  requirePart("bifrost-core", BIFROST_CORE_PROGRAM);
  const port = await freePort();
  const provider = `http://127.0.0.1:${start.mockPort}`;
  const program = await startServer({
    port,
    command: BIFROST_CORE_PROGRAM,
    args: ["-listen", `127.0.0.1:${port}`, "-provider", provider],
    logFile: join(start.folder, "bifrost-core.log"),
  });
  return {
    id: "bifrost-core",
    version: BIFROST_CORE_VERSION,
    // Bifrost's program serves wire_b clients with code that the library does not have.
    endpoint: (route) =>
      route.client === "wire_a" ? usualEndpoint(port, route, "bench") : undefined,
    modelId: ({ upstream }) => `${PROVIDERS[upstream]}/${UPSTREAM_MODEL_ID[upstream]}`,
    processes: () => ({ own: [program.processId] }),
    stop: () => program.stop(),
  };
}
