import type { Command } from "commander";

import type { Backend } from "../app/index.ts";
import type { OrgId } from "../kernel/index.ts";
import {
  type CommandFace,
  type RouteContract,
  type RouteName,
  ROUTES,
} from "../account/console-api/contract.ts";
import {
  answering,
  onStoredData,
  textsOf,
  UsageFault,
  withBackend,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import type { OperationRefusal } from "../account/console-api/run-operation.ts";
import { openOperationDeps } from "./operation-deps.ts";
import {
  argumentNames,
  commandFields,
  fieldOption,
  flagName,
  hasField,
  readField,
} from "./operation-flags.ts";
import { plainText } from "./plain-text.ts";
import { readSecret } from "./read-secret.ts";
import { knownOrg, required } from "./stored-command.ts";

type Arguments = Readonly<Record<string, string | undefined>>;

/** A route with its command. */
interface Operation {
  readonly name: RouteName;
  readonly contract: RouteContract;
  readonly face: CommandFace;
}

/** Adds the routes of the contract that are commands of this group, in their order there. */
export function addOperations(group: Command, context: CommandContext): void {
  for (const [name, contract] of Object.entries(ROUTES) as [RouteName, RouteContract][]) {
    const { command: face } = contract;
    if (face?.usage.split(" ")[0] !== group.name()) continue;
    addOperation(group, context, { name, contract, face });
  }
}

function addOperation(group: Command, context: CommandContext, operation: Operation): void {
  const { contract, face } = operation;
  const names = argumentNames(face.usage);
  const usage = face.usage.slice(group.name().length + 1);
  const command = onStoredData(group.command(usage)).description(face.summary ?? contract.summary);
  const fields = commandFields(contract, face).filter(([name]) => !names.includes(name));
  if (isNamedByFlag(operation)) command.addOption(required("--org <id>", "the organization"));
  for (const [name, shape, { isRequired }] of fields) {
    if (name === face.secret) command.option(SECRET_FLAG, SECRET_HELP);
    else if (name !== "org_id") command.addOption(fieldOption(name, shape, isRequired));
  }
  if (face.readsCatalog === true) {
    command.option("--manifests <folder>", "folder of provider manifests (default ./manifests)");
  }
  command.action(
    answering(context, async (...given: unknown[]) => {
      const flags = given.at(-2) as Flags;
      const args: Arguments = Object.fromEntries(
        names.map((name, at) => [name, given[at] as string | undefined]),
      );
      const { secret } = face;
      const source = textsOf(flags)["providerKeyEnv"];
      const secrets = secret && { [secret]: await readSecret(context, source) };
      return await withBackend(context, flags, async (backend, by) => {
        const orgId = await findOrgId(backend, operation, { flags, args });
        const values: Record<string, unknown> = { ...args, ...secrets, org_id: orgId };
        for (const field of fields) values[field[0]] ??= readField(flags, field, face);
        const { runOperation } = await import("../account/console-api/run-operation.ts");
        const deps = openOperationDeps(context, flags, backend);
        const ran = await runOperation(deps, operation, { orgId, values, by });
        if (!ran.ok) throw asFault(ran.refusal, fields);
        const isNo = face.verdict !== undefined && ran.answer[face.verdict] === false;
        return {
          json: ran.answer,
          text: plainText(ran.answer, face.columns),
          exitCode: isNo ? 1 : 0,
        };
      });
    }),
  );
}

const SECRET_FLAG = "--provider-key-env <name>";
const SECRET_HELP =
  "read the provider's key from this environment variable (default: from standard input)";

/** Is the organization one that `--org` has to name, and not that of an argument? */
function isNamedByFlag({ contract, face }: Operation): boolean {
  const isOfOne = contract.access === "session" || hasField(contract.params, "org_id");
  const ids = argumentNames(face.usage);
  return isOfOne && !["org_id", "key_id", "connection_id"].some((name) => ids.includes(name));
}

async function findOrgId(
  backend: Backend,
  operation: Operation,
  { flags, args }: { readonly flags: Flags; readonly args: Arguments },
): Promise<OrgId | undefined> {
  const { org_id: orgId, key_id: keyId, connection_id: connectionId } = args;
  if (keyId !== undefined) {
    const key = await backend.accountStore.findKey("anyone", keyId);
    if (key !== undefined) return key.orgId;
    throw new UsageFault(`there is no key ${keyId}; \`tokenmarket key list\` has the ids`);
  }
  if (connectionId !== undefined) {
    const connection = await backend.connectionStore.find(connectionId, "operator");
    if (connection !== undefined) return connection.orgId;
    throw new UsageFault(
      `there is no connection ${connectionId}; \`tokenmarket connection list\` has the ids`,
    );
  }
  const asked = isNamedByFlag(operation) ? flags["org"] : orgId;
  return asked === undefined ? undefined : (await knownOrg(backend, asked)).orgId;
}

/** A refusal in the words of the command line: a field that it begins with is a flag there. */
function asFault(
  { code, field, message }: OperationRefusal,
  fields: ReturnType<typeof commandFields>,
): UsageFault {
  if (code === "confirm_needed") return new UsageFault(`${message} with --confirm`);
  const isFlag = fields.some(([name]) => name === field);
  if (field === undefined || !isFlag || !message.startsWith(field)) return new UsageFault(message);
  return new UsageFault(`${flagName(field)}${message.slice(field.length)}`);
}
