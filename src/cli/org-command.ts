import { Argument, type Command } from "commander";

import type { RoutingPolicy } from "../gateway/index.ts";
import { isEmail } from "../kernel/index.ts";
import { readConfig, UsageFault, type CommandAnswer, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readWhole } from "./number-flags.ts";
import { addOperations } from "./operation-command.ts";
import {
  addStoredCommands,
  knownOrg,
  option,
  required,
  type StoredCommand,
} from "./stored-command.ts";

/** `org create`, `org list`, `org cap`, `org policy`, `org keys-may-set-limits` */
export function addOrgCommand(program: Command, context: CommandContext): void {
  const org = program.command("org").description("create and manage organizations");
  addOperations(org, context);
  addStoredCommands(org, context, [CREATE, POLICY, KEYS_MAY_SET_LIMITS]);
}

const CREATE: StoredCommand = {
  usage: "create <name>",
  summary: "create an organization with an empty wallet",
  options: [required("--email <address>", "contact address of the organization")],
  read:
    (flags, [name = ""]) =>
    async ({ accountStore }, by) => {
      const email = String(flags["email"]);
      if (!isEmail(email)) throw new UsageFault(`--email: ${email} is not an e-mail address`);
      const made = await accountStore.createOrg({ name, email }, by);
      return { json: { org_id: made.orgId, name: made.name, email: made.email } };
    },
};

const POLICY: StoredCommand = {
  usage: "policy <org_id>",
  summary:
    "set the routing policy of an organization; the new policy replaces the old one completely",
  options: [
    option("--timeout-ms <n>", "routing deadline; it can only shorten the installation's"),
    option(
      "--only <ids>",
      "provider ids, separated by commas: use these only, unless a request overrides it",
    ),
    option(
      "--ignore <ids>",
      "provider ids, separated by commas: never use these, unless a request overrides it",
    ),
    option("--prompt-logging <kind>", "none: never use a provider that retains prompts").choices([
      "none",
    ]),
    option("--clear", "remove the policy"),
  ],
  read: (flags, [orgId = ""], context) => {
    const policy = readPolicy(context, flags);
    return async (backend, by) => {
      const { orgId: known } = await knownOrg(backend, orgId);
      if (policy !== undefined) await backend.rulesStore.setPolicy(known, policy, by);
      return policyAnswer(known, await backend.rulesStore.findPolicy(known));
    };
  },
};

const KEYS_MAY_SET_LIMITS: StoredCommand = {
  usage: "keys-may-set-limits <org_id>",
  summary: "allow or forbid virtual keys to lower the limits of their whole organization",
  lastArgument: new Argument("<state>", "off by default").choices(["on", "off"]),
  read:
    (_flags, [orgId = "", state]) =>
    async (backend, by) => {
      const { orgId: known } = await knownOrg(backend, orgId);
      const may = state === "on";
      await backend.rulesStore.setKeysMaySetOrgLimits(known, may, by);
      return { json: { org_id: known, keys_may_set_org_limits: may } };
    },
};

/** The policy that the flags ask for; undefined when they ask for none, which shows it. */
function readPolicy(context: CommandContext, flags: Flags): RoutingPolicy | undefined {
  const { routingTimeoutMs } = readConfig(context, flags);
  const timeoutMs = readWhole(flags, "timeout-ms", { min: 1, max: routingTimeoutMs });
  const only = readProviders(flags, "only");
  const ignore = readProviders(flags, "ignore");
  const policy: RoutingPolicy = {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(only === undefined ? {} : { only }),
    ...(ignore === undefined ? {} : { ignore }),
    ...(flags["promptLogging"] === undefined ? {} : { promptLogging: "none" }),
  };
  const saysSomething = Object.keys(policy).length > 0;
  if (flags["clear"] !== true) return saysSomething ? policy : undefined;
  if (saysSomething) throw new UsageFault("specify either --clear or the policy");
  return {};
}

function readProviders(flags: Flags, name: "only" | "ignore"): readonly string[] | undefined {
  const text = flags[name];
  if (text === undefined) return undefined;
  const ids = String(text)
    .split(",")
    .map((id) => id.trim());
  const wrong = ids.find((id) => !/^[a-z0-9][a-z0-9-]{1,62}$/.test(id));
  if (wrong === undefined) return ids;
  throw new UsageFault(
    `--${name}: "${wrong}" is not a provider id; write ids like acme-ai,other-ai`,
  );
}

function policyAnswer(orgId: string, policy: RoutingPolicy | undefined): CommandAnswer {
  const { timeoutMs, only, ignore, promptLogging } = policy ?? {};
  const shown = policy && {
    timeout_ms: timeoutMs ?? null,
    only: only ?? null,
    ignore: ignore ?? null,
    prompt_logging: promptLogging ?? null,
  };
  return { json: { org_id: orgId, policy: shown ?? null } };
}
