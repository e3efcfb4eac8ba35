import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import { instant } from "../kernel/index.ts";
import type { DedicatedEndpoint, EndpointRecord } from "../gateway/index.ts";
import type { Backend } from "../app/index.ts";
import { type ManifestFile, parseManifestFiles } from "../catalog/index.ts";
import {
  answering,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
  type CommandAnswer,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { knownOrg, namedOrg, noSuchOrg } from "./stored-command.ts";
import { shownValues } from "./limits-command.ts";
import { LIMIT_RANGE, readRate, readWhole } from "./number-flags.ts";

/** `endpoint add`, `endpoint list`, `endpoint remove` */
export function addEndpointCommand(program: Command, context: CommandContext): void {
  const endpoint = program
    .command("endpoint")
    .description("dedicated endpoints: a private manifest as capacity of one organization");
  onStoredData(endpoint.command("add"))
    .description(
      "assign a private manifest to an organization; its models are then served there only",
    )
    .requiredOption("--org <id>", "the organization")
    .requiredOption("--provider <id>", "provider id of the private manifest")
    .option("--rps <n>", "requests per second; requests above it are refused")
    .option("--pace <n>", "requests sent per second; further requests wait, see --queue-ms")
    .option(
      "--queue-ms <n>",
      "longest wait that --pace may cause; requests that would wait longer are refused",
    )
    .option("--rpm <n>", "requests per minute")
    .option("--tpm <n>", "tokens per minute")
    .option("--concurrency <n>", "requests in flight")
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .action(answering(context, (flags: Flags) => add(context, flags)));
  onStoredData(endpoint.command("list"))
    .description("list dedicated endpoints with their limits")
    .option("--org <id>", "only those of this organization")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => list(backend, flags)),
      ),
    );
  onStoredData(endpoint.command("remove <endpoint_id>"))
    .description("remove an endpoint, for new requests within five seconds")
    .action(
      answering(context, (endpointId: string, flags: Flags) =>
        withBackend(context, flags, async ({ rulesStore }, by) => {
          if (!(await rulesStore.removeEndpoint(endpointId, by))) {
            const next = "`tokenmarket endpoint list` has the ids";
            throw new UsageFault(`there is no endpoint ${endpointId}; ${next}`);
          }
          return { json: { endpoint_id: endpointId, removed: true } };
        }),
      ),
    );
}

type EndpointLimits = DedicatedEndpoint["limits"];

async function add(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const limits = readLimits(context, flags);
  const providerId = String(flags["provider"]);
  const isChecked = requirePrivateManifest(context, flags, providerId);
  return await withBackend(context, flags, async (backend, by) => {
    const { rulesStore } = backend;
    const org = await knownOrg(backend, flags["org"]);
    const made = await rulesStore.createEndpoint({ orgId: org.orgId, providerId, limits }, by);
    if (made === undefined) throw noSuchOrg(org.orgId);
    if (made === "taken") throw taken(providerId, await rulesStore.listEndpoints());
    return { json: { ...shown(made), manifest_checked: isChecked } };
  });
}

function readLimits(context: CommandContext, flags: Flags): EndpointLimits {
  const requestsPerSecond = readWhole(flags, "rps", LIMIT_RANGE);
  const requestsPerMinute = readWhole(flags, "rpm", LIMIT_RANGE);
  const tokensPerMinute = readWhole(flags, "tpm", LIMIT_RANGE);
  const concurrent = readWhole(flags, "concurrency", LIMIT_RANGE);
  const paced = readPace(context, flags);
  return {
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
    ...(paced === undefined ? {} : { paced }),
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(concurrent === undefined ? {} : { concurrent }),
  };
}

/** No request waits longer for its pace than it may search for a provider. */
function readPace(context: CommandContext, flags: Flags): EndpointLimits["paced"] {
  const perSecond = readRate(flags, "pace", LIMIT_RANGE.max);
  const { routingTimeoutMs } = readConfig(context, flags);
  const waitMsMax = readWhole(flags, "queue-ms", { min: 0, max: routingTimeoutMs });
  if (perSecond === undefined && waitMsMax === undefined) return undefined;
  if (perSecond === undefined || waitMsMax === undefined) {
    throw new UsageFault("--pace and --queue-ms belong together: specify both or neither");
  }
  return { perSecond, waitMsMax };
}

/**
 * Whether a manifest is private does not depend on keys or dates, so the files say it and not the
 * catalog. False: there is no folder to read, the server may run elsewhere.
 */
function requirePrivateManifest(
  context: CommandContext,
  flags: Flags,
  providerId: string,
): boolean {
  const { manifestsDir } = readConfig(context, flags);
  if (!existsSync(manifestsDir)) {
    if (flags["manifests"] === undefined) return false;
    throw new UsageFault(`${manifestsDir}: there is no such folder; check --manifests`);
  }
  const found = readManifests(manifestsDir).find((each) => idOf(each) === providerId);
  if (found === undefined) {
    const next = 'put one with `"listing": "private"` there, or name its folder with --manifests';
    throw new UsageFault(`no manifest in ${manifestsDir} is for provider ${providerId}; ${next}`);
  }
  if (found.manifest.provider.listing === "private") return true;
  const next = `set \`provider.listing\` to "private" in ${join(manifestsDir, found.file)}`;
  throw new UsageFault(
    `the manifest of ${providerId} is public, so every organization can use it; ${next}`,
  );
}

function readManifests(folder: string): readonly ManifestFile[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));
  const parsed = parseManifestFiles(files);
  if (parsed.ok) return parsed.manifests;
  const issues = parsed.issues.map(({ file, pointer, message }) => `${file}${pointer}: ${message}`);
  throw new UsageFault(`nothing was added: the manifests are not valid:\n${issues.join("\n")}`);
}

function idOf({ manifest }: ManifestFile): string {
  return manifest.provider.id;
}

function taken(providerId: string, endpoints: readonly EndpointRecord[]): UsageFault {
  const owner = endpoints.find((each) => each.providerId === providerId);
  const whose = owner === undefined ? "" : ` ${owner.endpointId} of ${owner.orgId}`;
  const next = "remove that one first, or add another private manifest";
  return new UsageFault(`${providerId} already belongs to endpoint${whose}; ${next}`);
}

async function list(backend: Backend, flags: Flags): Promise<CommandAnswer> {
  const org = await namedOrg(backend, flags["org"]);
  const endpoints = await backend.rulesStore.listEndpoints(org?.orgId);
  return { json: { endpoints: endpoints.map(shown) } };
}

function shown({ endpointId, orgId, providerId, limits, createdAtMs }: EndpointRecord): object {
  return {
    endpoint_id: endpointId,
    org_id: orgId,
    provider_id: providerId,
    rps: limits.requestsPerSecond ?? null,
    paced_per_second: limits.paced?.perSecond ?? null,
    queue_ms: limits.paced?.waitMsMax ?? null,
    ...shownValues(limits),
    created_at: instant(createdAtMs),
  };
}
