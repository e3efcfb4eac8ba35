import type { Command } from "commander";

import {
  type ConnectionSummary,
  type KeyVault,
  providerKeyProblem,
  sealConnection,
  type StoredConnection,
} from "../accounts/index.ts";
import {
  type Backend,
  checkConnection,
  type ConnectionCheck,
  openConfiguredVault,
} from "../app/index.ts";
import type { Catalog } from "../catalog/index.ts";
import type { Config } from "../config/index.ts";
import {
  instant,
  instantOrNull,
  type OrgId,
  parseKeyId,
  type ProviderId,
  unreachable,
} from "../core/index.ts";
import {
  answering,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
  type CommandAnswer,
  textsOf,
  type Flags,
} from "./command-context.ts";
import type { CommandContext, StandardInput } from "./command-io.ts";
import { addConnectionReseal } from "./connection-reseal-command.ts";
import { readCatalog } from "./read-catalog.ts";
import { knownOrg } from "./stored-command.ts";

/** `connection add`, `list`, `test`, `reseal` and `disable` */
export function addConnectionCommand(program: Command, context: CommandContext): void {
  const connection = program
    .command("connection")
    .description("customers' own provider keys, used instead of the marketplace's keys");
  onStoredData(connection.command("add"))
    .description("store a provider key for an organization; the key is read from standard input")
    .requiredOption("--org <id>", "the organization that owns the key")
    .requiredOption(
      "--provider <id>",
      "the provider that issued the key, by its id in the manifests",
    )
    .requiredOption("--name <name>", "name of the connection")
    .option(
      "--key <key_id>",
      "use it for requests of this virtual key only (default: of every key)",
    )
    .option("--key-env <name>", "read the provider key from this environment variable instead")
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .action(answering(context, (flags: Flags) => add(context, flags)));
  onStoredData(connection.command("list"))
    .description("list connections with the last characters of their provider keys")
    .requiredOption("--org <id>", "the organization")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => list(backend, flags)),
      ),
    );
  onStoredData(connection.command("test <connection_id>"))
    .description(
      "send one request with the stored key to its provider; exit 1 when it does not accept the key",
    )
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .action(answering(context, (id: string, flags: Flags) => test(context, id, flags)));
  addConnectionReseal(connection, context);
  onStoredData(connection.command("disable <connection_id>"))
    .description("disable a connection permanently and delete its key, within five seconds")
    .action(
      answering(context, (id: string, flags: Flags) =>
        withBackend(context, flags, async ({ connectionStore }, by) => {
          const disabled = await connectionStore.disable(id, "operator", by);
          if (disabled === undefined) throw noSuchConnection(id);
          const at = instantOrNull(disabled.disabledAtMs);
          return {
            json: { connection_id: id, disabled_at: at },
            text: `${id} disabled at ${String(at)}`,
          };
        }),
      ),
    );
}

async function add(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const vault = openVault(config);
  const providerId = knownProvider(readCatalog(context, config), config, String(flags["provider"]));
  const providerKey = await readProviderKey(context, textsOf(flags)["keyEnv"]);
  return withBackend(context, flags, async (backend, by) => {
    const { key, name } = textsOf(flags);
    const { orgId } = await knownOrg(backend, flags["org"]);
    const keyId = key !== undefined ? parseKeyId(key) : null;
    if (keyId === undefined) throw hasNoKey(orgId, key);
    const wanted = { orgId, providerId, keyId, name: String(name), providerKey };
    const made = await backend.connectionStore.create(sealConnection(vault, wanted), by);
    if (made === undefined) throw hasNoKey(orgId, key);
    if (made === "taken") {
      throw new UsageFault(
        `${keyId ?? orgId} already has a connection to ${providerId}; disable it first (\`tokenmarket connection list --org ${orgId}\`)`,
      );
    }
    return {
      json: shown(made),
      text: `${made.connectionId}  ${made.providerId}  …${made.label}  used within five seconds; try it with \`tokenmarket connection test\``,
    };
  });
}

function hasNoKey(orgId: OrgId, key: Flags[string]): UsageFault {
  return new UsageFault(`${orgId} has no key ${String(key)}; \`tokenmarket key list\` has the ids`);
}

async function list(backend: Backend, flags: Flags) {
  const { orgId } = await knownOrg(backend, flags["org"]);
  const connections = await backend.connectionStore.list(orgId);
  return {
    json: { connections: connections.map(shown) },
    text: connections
      .map((each) => {
        const state = each.disabledAtMs === null ? "active  " : "disabled";
        const user = each.keyId ?? "every key";
        return `${each.connectionId}  ${each.providerId}  …${each.label}  ${state}  ${user}  ${each.name}`;
      })
      .join("\n"),
  };
}

async function test(context: CommandContext, id: string, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const vault = openVault(config);
  const catalog = readCatalog(context, config);
  const connection = await findActive(context, flags, id);
  const check = await checkConnection(connection, { catalog, config, vault });
  const { connectionId, providerId } = connection;
  if (check === undefined) throw noSuchProvider(catalog, config, providerId);
  const { verdict } = check;
  const found = verdict === "unreachable" ? { reason: check.reason } : { status: check.status };
  return {
    json: { connection_id: connectionId, provider: providerId, verdict, ...found },
    text: `${connectionId}: ${providerId} ${checkText(check)}`,
    exitCode: verdict === "accepted" ? 0 : 1,
  };
}

function checkText(check: ConnectionCheck): string {
  switch (check.verdict) {
    case "accepted":
      return `accepted the key (status ${check.status})`;
    case "refused":
      return `refused the key (status ${check.status}); disable the connection and add a new key`;
    case "unclear":
      return `answered with status ${check.status}, which does not show whether the key is valid`;
    case "unreachable":
      return `could not be reached: ${check.reason}`;
    default:
      return unreachable(check);
  }
}

/** The connection with its sealed key; the database is let go before the provider is asked. */
async function findActive(
  context: CommandContext,
  flags: Flags,
  id: string,
): Promise<StoredConnection> {
  let found: StoredConnection | undefined;
  await withBackend(context, flags, async ({ connectionStore }) => {
    found = await connectionStore.find(id, "operator");
    return { json: null, text: "" };
  });
  if (found === undefined) throw noSuchConnection(id);
  if (found.disabledAtMs === null) return found;
  throw new UsageFault(`${id} is disabled and its key deleted; add a new connection`);
}

/* The key is never an argument: every user of the machine can read those. */
async function readProviderKey(
  context: CommandContext,
  envName: string | undefined,
): Promise<string> {
  const isNamed = envName !== undefined;
  const text = isNamed ? (context.env[envName] ?? "") : await readStandardInput(context.stdin());
  const key = text.replace(/\r?\n$/, "");
  const trouble = providerKeyProblem(key);
  if (trouble === undefined) return key;
  const place = isNamed ? `the environment variable ${envName}` : "standard input";
  throw new UsageFault(`the provider key in ${place}: ${trouble}`);
}

async function readStandardInput(stdin: StandardInput): Promise<string> {
  if (stdin.isTTY === true) {
    throw new UsageFault(
      "the provider key is read from standard input: pipe it in, or name an environment variable with --key-env",
    );
  }
  let text = "";
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > STANDARD_INPUT_CHARS_MAX) break;
  }
  return text;
}

const STANDARD_INPUT_CHARS_MAX = 64 * 1024;

function openVault(config: Config): KeyVault {
  const vault = openConfiguredVault(config);
  if (vault !== undefined) return vault;
  throw new UsageFault(
    "provider keys are stored encrypted and there is no key for that: set TM_ENCRYPTION_KEY, here and for the server, to what `openssl rand -base64 32` prints, and keep a copy",
  );
}

function knownProvider(catalog: Catalog, config: Config, id: string): ProviderId {
  const listed = catalog.deployments.find(({ providerId }) => providerId === id);
  if (listed === undefined) throw noSuchProvider(catalog, config, id);
  return listed.providerId;
}

function noSuchProvider(catalog: Catalog, { manifestsDir }: Config, id: string): UsageFault {
  const ids = [...new Set(catalog.deployments.map((each) => String(each.providerId)))].toSorted();
  return new UsageFault(
    `there is no provider ${id} in ${manifestsDir}; it has ${ids.join(", ") || "none"}`,
  );
}

function noSuchConnection(id: string): UsageFault {
  return new UsageFault(
    `there is no connection ${id}; \`tokenmarket connection list --org <id>\` has the ids`,
  );
}

function shown(connection: ConnectionSummary): object {
  return {
    connection_id: connection.connectionId,
    org_id: connection.orgId,
    provider: connection.providerId,
    key_id: connection.keyId,
    name: connection.name,
    label: connection.label,
    created_at: instant(connection.createdAtMs),
    disabled_at: instantOrNull(connection.disabledAtMs),
  };
}
