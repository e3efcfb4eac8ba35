import { existsSync, readFileSync, statSync } from "node:fs";

import { type Command, Option } from "commander";
import type { TSchema } from "typebox";

import type { Backend } from "../app/index.ts";
import { type OrgId, SETTLEMENT_STATEMENT_BYTES_MAX } from "../kernel/index.ts";
import { type Operation, OPERATIONS } from "../account/console-api/operations.ts";
import type { OperationRefusal } from "../account/console-api/run-operation.ts";
import {
  answering,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
  OPTIONS,
  pickTexts,
  readInstant,
  readText,
  type StandardInput,
  UsageFault,
} from "./command-context.ts";
import { addChangesVerify } from "./changes-verify-command.ts";
import { openOperationDeps } from "./operation-deps.ts";
import { csvText, plainText } from "./plain-text.ts";
import { providerKeyProblem } from "../gateway/index.ts";
import { writeOut } from "./replace-file.ts";
import { withBackend } from "./with-backend.ts";
import type { CommandFace } from "../account/console-api/contract.ts";

type Arguments = Readonly<Record<string, string | undefined>>;

const GROUPS: Readonly<Record<string, string>> = {
  org: "create and manage organizations",
  member: "the people of an organization and their roles in the console",
  credit: "grant credit and show wallets",
  topup: "automatic top-up of organizations",
  statement: "the monthly statements of an organization",
  key: "create and manage virtual keys",
  limits: "set and show the limits of an organization",
  endpoint: "dedicated endpoints: a private manifest as capacity of one organization",
  connection: "customers' own provider keys, used instead of the marketplace's keys",
  "unusual-use": "list and lift restrictions after unusual use on trial credit",
  settlement: "settle what is owed to providers",
  changes: "the change log: who changed what, when and from where",
};

export function addOperationGroups(program: Command, context: CommandContext): void {
  for (const [name, description] of Object.entries(GROUPS)) {
    const group = program.command(name).description(description);
    for (const operation of OPERATIONS) {
      if (operation.face.usage.split(" ")[0] === name) addOperation(group, context, operation);
    }
    if (name === "changes") addChangesVerify(group, context);
  }
}

function addOperation(group: Command, context: CommandContext, operation: Operation): void {
  const { contract, face } = operation;
  const names = argumentNames(face.usage);
  const usage = face.usage.slice(group.name().length + 1);
  const command = onStoredData(group.command(usage)).description(face.summary ?? contract.summary);
  const all = commandFields(contract, face);
  const fields = all.filter(([name]) => !names.includes(name));
  addFlags(command, operation, fields);
  command.action(
    answering(context, async (_, ...given: unknown[]) => {
      const flags = given.at(-2) as Flags;
      const args: Arguments = Object.fromEntries(
        names.map((name, at) => [name, given[at] as string | undefined]),
      );
      const values = await readValues(context, { flags, args, face, all });
      const out = contract.answerType && readOut(flags);
      return await withBackend(context, flags, async (backend, by, { config }) => {
        const orgId = await findOrgId(backend, operation, { flags, args });
        const { runOperation } = await import("../account/console-api/run-operation.ts");
        const deps = openOperationDeps(context, flags, backend, config);
        const asked = { orgId, values: { ...values, org_id: orgId }, by };
        const ran = await runOperation(deps, operation, asked);
        if (ran.kind === "refused") throw asFault(ran.refusal, fields);
        if (ran.kind === "file") {
          await writeOut(context, out, ran.file.pieces);
          return { json: { file: out }, text: out === undefined ? "" : `wrote ${out}` };
        }
        return renderAnswer(ran.answer, face, flags["csv"] === true);
      });
    }),
  );
}

function addFlags(command: Command, operation: Operation, fields: readonly Field[]): void {
  const { contract, face } = operation;
  if (isNamedByFlag(operation)) command.requiredOption("--org <id>", "the organization");
  for (const [name, shape, { isRequired }] of fields) {
    if (name === face.secret) {
      command.option(
        "--provider-key-env <name>",
        "read the provider's key from this environment variable (default: from standard input)",
      );
    } else if (name === face.fromFile) {
      command.requiredOption(`${flagName(name)} <file>`, shape.description);
    } else if (name !== "org_id") command.addOption(fieldOption(name, shape, isRequired));
  }
  if (face.readsCatalog === true) command.option(...OPTIONS.manifests);
  if (face.csv !== undefined) command.option("--csv", "print comma-separated values");
  if (contract.answerType !== undefined) {
    command.option("--out <file>", "a file that does not exist yet (default standard output)");
  }
}

async function readValues(
  context: CommandContext,
  of: {
    readonly flags: Flags;
    readonly args: Arguments;
    readonly face: Operation["face"];
    readonly all: readonly Field[];
  },
): Promise<Record<string, unknown>> {
  const { flags, args, face, all } = of;
  const { secret, fromFile } = face;
  const values: Record<string, unknown> = {};
  for (const field of all) {
    const [name] = field;
    const text = args[name];
    if (name === secret) {
      values[name] = await readSecret(context, pickTexts(flags)["providerKeyEnv"]);
    } else if (text !== undefined) {
      values[name] = readValue(text, field, { face, said: name });
    } else {
      const value = readField(flags, field, face);
      values[name] = name === fromFile ? readNamedFile(String(value), flagName(name)) : value;
    }
  }
  return values;
}

function readNamedFile(file: string, flag: string): string {
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file; check ${flag}`);
  if (statSync(file).size > SETTLEMENT_STATEMENT_BYTES_MAX) {
    throw new UsageFault(
      `${file} is larger than ${SETTLEMENT_STATEMENT_BYTES_MAX / (1024 * 1024)} MiB`,
    );
  }
  return readFileSync(file, "utf8");
}

/** The file that gets the answer. `--json` requires one: standard output then gets the JSON. */
function readOut(flags: Flags): string | undefined {
  const { out } = pickTexts(flags);
  if (flags["json"] === true && out === undefined) {
    throw new UsageFault("the answer is a file: with --json give --out FILE too");
  }
  if (out !== undefined && existsSync(out)) {
    throw new UsageFault(`${out} exists already; name another file`);
  }
  return out;
}

function renderAnswer(
  answer: Readonly<Record<string, unknown>>,
  { verdict: judged = "", csv, columns: named }: CommandFace,
  isCsv: boolean,
): CommandAnswer {
  const columns = named?.split(" ");
  const verdict = answer[judged];
  const isNo = verdict === false || (Array.isArray(verdict) && verdict.length > 0);
  const text =
    isCsv && csv !== undefined
      ? csvText(answer[csv] as readonly object[], columns)
      : plainText(answer, columns);
  return { json: answer, text, exitCode: isNo ? 1 : 0 };
}

/** True if `--org` names the organization, because no positional argument identifies it. */
function isNamedByFlag({ contract, face }: Operation): boolean {
  const isOfOne = contract.needs !== undefined || hasField(contract.params, "org_id");
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
    return requireOrgId(key, `key ${keyId}`, "key list --org ID");
  }
  if (connectionId !== undefined) {
    const connection = await backend.connectionStore.find(connectionId, "operator");
    return requireOrgId(connection, `connection ${connectionId}`, "connection list --org ID");
  }
  const asked = isNamedByFlag(operation) ? flags["org"] : orgId;
  if (asked === undefined) return undefined;
  const org = await backend.accountStore.findOrg(String(asked));
  return requireOrgId(org, `organization ${String(asked)}`, "org list");
}

function requireOrgId(
  found: { readonly orgId: OrgId } | undefined,
  what: string,
  list: string,
): OrgId {
  if (found !== undefined) return found.orgId;
  throw new UsageFault(`there is no ${what}; \`tokenmarket ${list}\` has the ids`);
}

/** Turns a refusal into a fault, whose message names the flag in place of the field. */
function asFault({ code, field, message }: OperationRefusal, fields: readonly Field[]): UsageFault {
  if (code === "confirm_needed") return new UsageFault(`${message} with --confirm`);
  const flag = field?.replace(/\[.*/, "");
  const isFlag = fields.some(([name]) => name === flag);
  // The whole word must match: a message that begins with `reference` is not about the field `ref`.
  const isNamed = isFlag && new RegExp(`^${flag}\\b`).test(message);
  if (flag === undefined || !isNamed) return new UsageFault(message);
  return new UsageFault(`${flagName(flag)}${message.slice(flag.length)}`);
}

/** Reads a provider's key: never from an argument, which all users of the machine can read. */
async function readSecret(context: CommandContext, envName: string | undefined): Promise<string> {
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
      "the provider key is read from standard input: pipe it in, or name an environment variable with --provider-key-env",
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

interface Shape {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

/** The names of a usage's arguments: `key show <key_id>` has `key_id`. */
function argumentNames(usage: string): readonly string[] {
  return [...usage.matchAll(/[<[](\w+)[>\]]/g)].map(([, name = ""]) => name);
}

type Field = readonly [name: string, shape: Shape, is: { readonly isRequired: boolean }];

export function commandFields(
  { params, query, body }: Operation["contract"],
  { typed = [] }: CommandFace,
): readonly Field[] {
  return [params, query, body].flatMap((schema) => {
    const { properties = {}, required: needed = [] } = (schema ?? {}) as Shape;
    return Object.entries(properties)
      .filter(([name]) => !typed.includes(name))
      .map(([name, shape]) => [name, shape, { isRequired: needed.includes(name) }] as const);
  });
}

function hasField(schema: TSchema | undefined, name: string): boolean {
  return name in (((schema ?? {}) as Shape).properties ?? {});
}

/** Turns a field into an option (`cap_usd` into `--cap-usd <text>`), its description into help. */
function fieldOption(name: string, shape: Shape, isRequired: boolean): Option {
  const made = new Option(`${flagName(name)}${VALUES[classifyShape(shape)]}`, describe(shape));
  made.makeOptionMandatory(isRequired);
  const choices = alternatives(shape).flatMap((each) => each.enum ?? []);
  return choices.length === 0 ? made : made.choices(choices);
}

const VALUES = { switch: "", list: " <list>", number: " <n>", text: " <text>" } as const;

function flagName(field: string): string {
  return `--${field.replaceAll("_", "-")}`;
}

function describe(shape: Shape): string {
  const text = [shape, ...alternatives(shape)].find((each) => each.description)?.description ?? "";
  return classifyShape(shape) === "list" ? `${text}, with commas between them` : text;
}

export function readField(flags: Flags, field: Field, face: CommandFace): unknown {
  const text = readText(flags, field[0].replaceAll("_", "-"));
  return text === undefined
    ? undefined
    : readValue(text, field, { face, said: flagName(field[0]) });
}

/** In a field for a number, a text that is not a number stays a text, and the schema refuses it. */
function readValue(
  text: string,
  [name, shape]: Field,
  { face: { none = [] }, said }: { readonly face: CommandFace; readonly said: string },
): unknown {
  if (text === "none" && none.includes(name)) return null;
  switch (classifyShape(shape)) {
    case "switch":
      return true;
    case "list":
      return text
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean);
    case "number":
      return /^\d{1,15}$/.test(text) ? Number(text) : text;
    case "text":
    default:
      if (!alternatives(shape).some(({ format }) => format === "date-time")) return text;
      return new Date(readInstant(text, said)).toISOString();
  }
}

function classifyShape(shape: Shape): keyof typeof VALUES {
  const types = new Set(alternatives(shape).map(({ type }) => type));
  if (types.has("boolean")) return "switch";
  if (types.has("array")) return "list";
  return types.has("integer") || types.has("number") ? "number" : "text";
}

function alternatives(shape: Shape): readonly Shape[] {
  return shape.anyOf === undefined ? [shape] : shape.anyOf.flatMap(alternatives);
}
