import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { PROVIDER_KEY, simulatorManifest, TEST_KEY_CACHE_MS, textModel } from "./gateway.ts";
import { type CommandResult, runCommand, startProgram, type RunningProgram } from "./program.ts";
import { newFolder } from "./run-folder.ts";
import { withResource } from "./with-resource.ts";

export type OperatorFolder = ReturnType<typeof operatorFolder>;

export function operatorFolder(simulatorUrl: string) {
  const root = newFolder("operator");
  const manifestsDir = join(root, "manifests");
  mkdirSync(manifestsDir);
  const folder = {
    root,
    dataDir: join(root, "data"),
    manifestsDir,
    writeManifest: (file: string, manifest: object | string) => {
      const path = join(manifestsDir, file);
      writeFileSync(path, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
      return path;
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  folder.writeManifest("first.json", operatorManifest(simulatorUrl, ["op/model"]));
  return folder;
}

export function operatorManifest(simulatorUrl: string, models: readonly string[]): object {
  return simulatorManifest({
    provider: "operated",
    dialect: "wire_a",
    baseUrl: `${simulatorUrl}/a/v1`,
    models: models.map((id) => textModel(id)),
  });
}

export const OPERATOR_ENV: Readonly<Record<string, string>> = {
  TM_ALLOW_PRIVATE_UPSTREAMS: "1",
  TEST_PROVIDER_KEY: PROVIDER_KEY,
  LOG_LEVEL: "debug",
  TM_AUTH_KEY_CACHE_MS: String(TEST_KEY_CACHE_MS),
};

export const ANY_PORTS = ["--port", "0", "--console-port", "0", "--internal-port", "0"] as const;

export function serve(
  folder: OperatorFolder,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningProgram> {
  const places = ["--data", folder.dataDir, "--manifests", folder.manifestsDir];
  return startProgram(["serve", ...ANY_PORTS, ...places], { ...OPERATOR_ENV, ...env });
}

export function withOperatorFolder(provider: { readonly url: string }): OperatorFolder {
  return withResource(
    () => operatorFolder(provider.url),
    (folder) => folder.remove(),
  );
}

/** Starts programs at the same time, for the tests of the calling file. A test may replace one. */
export function withPrograms(start: () => readonly Promise<RunningProgram>[]): RunningProgram[] {
  return withResource(
    () => Promise.all(start()),
    (programs) => Promise.all(programs.map((program) => program.end("SIGTERM"))),
  );
}

export interface JsonAnswer extends CommandResult {
  readonly json: Readonly<Record<string, unknown>>;
}

let commandLogs: string[] = [];

/** Returns a list to which later commands add their standard error, to be searched for secrets. */
export function collectCommandLogs(): readonly string[] {
  commandLogs = [];
  return commandLogs;
}

/** Runs a command with `--json`. Throws unless standard output is exactly one JSON document. */
export async function jsonCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> {
  const result = await runCommand([...args, "--json"], { ...OPERATOR_ENV, ...env });
  commandLogs.push(result.stderr);
  const lines = result.stdout.split("\n");
  if (lines.length !== 2 || lines[1] !== "") {
    throw new Error(`${args.join(" ")}: not one document: ${result.stdout} ${result.stderr}`);
  }
  return { ...result, json: JSON.parse(result.stdout) as Record<string, unknown> };
}

export async function openAccountByCommands(
  place: readonly string[],
  usd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly orgId: string; readonly key: string; readonly keyId: string }> {
  const create = ["org", "create", "acme", "--email", "a@example.com"];
  const org = await jsonCommand([...create, ...place], env);
  const orgId = String(org.json["org_id"]);
  const credit = ["--org", orgId, "--amount-usd", usd, "--ref", orgId];
  const [, key] = await Promise.all([
    jsonCommand(["credit", "grant", ...credit, ...place], env),
    jsonCommand(["key", "create", "--org", orgId, "--name", "one", ...place], env),
  ]);
  return { orgId, ...createdKey(key) };
}

export function createdKey({ json }: Pick<JsonAnswer, "json">) {
  const { key_id: keyId } = json["key"] as { readonly key_id: string };
  return { key: String(json["secret"]), keyId };
}
