import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer } from "../support/tethered-program.ts";
import type { Endpoint } from "../../bench/endpoint.ts";
import { freePort } from "../support/free-port.ts";
import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import { requirePart, usualEndpoint } from "./peer-files.ts";
import type { Route, Target, TargetStart } from "../../bench/targets/target.ts";

const PACKAGE = fileURLToPath(
  new URL("./packages/node_modules/@portkey-ai/gateway/", import.meta.url),
);

/** The TypeScript peer: an open-source gateway that translates, without keys, ledger or bills. */
export async function startPortkey(start: TargetStart): Promise<Target> {
  requirePart("portkey", PACKAGE);
  const port = await freePort();
  const program = await startServer({
    port,
    command: process.execPath,
    args: [join(PACKAGE, "build", "start-server.js"), `--port=${port}`, "--headless"],
    logFile: join(start.folder, "portkey.log"),
    env: { NODE_ENV: "production" },
  });
  return {
    id: "portkey",
    version: packageVersion(),
    endpoint: (route) => endpoint(port, start.mockPort, route),
    modelId: ({ upstream }) => UPSTREAM_MODEL_ID[upstream],
    processes: () => ({ own: [program.processId] }),
    stop: () => program.stop(),
  };
}

function endpoint(port: number, mockPort: number, route: Route): Endpoint | undefined {
  const { client, upstream } = route;
  // Portkey answers 500 to a wire_b client of a wire_a provider: "messages is not supported".
  if (client === "wire_b" && upstream === "wire_a") return undefined;
  const usual = usualEndpoint(port, route, "bench");
  const own = {
    "x-portkey-provider": upstream === "wire_a" ? "openai" : "anthropic",
    "x-portkey-custom-host": `http://127.0.0.1:${mockPort}/v1`,
  };
  return { ...usual, headers: { ...usual.headers, ...own } };
}

function packageVersion(): string {
  const text = readFileSync(join(PACKAGE, "package.json"), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
