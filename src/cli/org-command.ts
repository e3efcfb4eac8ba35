import { Argument, Option, type Command } from "commander";

import type { OrgSummary, RoutingPolicy } from "../accounts/index.ts";
import type { Backend } from "../app/index.ts";
import { isEmail, formatUsd } from "../core/index.ts";
import { capAnswer, onStoredCap, readCap } from "./cap-flags.ts";
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
import { noSuchOrg } from "./key-command.ts";
import { readWhole } from "./number-flags.ts";

/** `org create`, `org list`, `org cap`, `org policy`, `org keys-may-set-limits` */
export function addOrgCommand(program: Command, context: CommandContext): void {
  const org = program.command("org").description("create and manage organizations");
  onStoredData(org.command("create <name>"))
    .description("create an organization with an empty wallet")
    .requiredOption("--email <address>", "contact address of the organization")
    .action(
      answering(context, (name: string, flags: Flags) =>
        withBackend(context, flags, async ({ accountStore }, by) => {
          const email = String(flags["email"]);
          if (!isEmail(email)) {
            throw new UsageFault(`--email: ${email} is not an e-mail address`);
          }
          const made = await accountStore.createOrg({ name, email }, by);
          return {
            json: { org_id: made.orgId, name: made.name, email: made.email },
            text: `${made.orgId}  ${made.name} <${made.email}>`,
          };
        }),
      ),
    );
  onStoredData(org.command("list"))
    .description("list organizations with balance and holds")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ accountStore }) => {
          const orgs = await accountStore.listOrgs();
          return {
            json: {
              orgs: orgs.map((each) => ({
                org_id: each.orgId,
                name: each.name,
                email: each.email,
                balance_usd: formatUsd(each.balanceMicroUsd),
                held_usd: formatUsd(each.heldMicroUsd),
                created_at: new Date(each.createdAtMs).toISOString(),
              })),
            },
            text: orgs
              .map((each) => `${each.orgId}  $${formatUsd(each.balanceMicroUsd)}  ${each.name}`)
              .join("\n"),
          };
        }),
      ),
    );
  onStoredCap(org.command("cap <org_id>"))
    .description("set or remove the monthly spend cap of an organization, over all its keys")
    .action(
      answering(context, (orgId: string, flags: Flags) => {
        const cap = readCap(flags);
        return withBackend(context, flags, async ({ accountStore }, by) => {
          if (!(await accountStore.setOrgCap(orgId, cap, by))) throw noSuchOrg(orgId);
          return capAnswer({ org_id: orgId }, cap);
        });
      }),
    );
  addPolicy(org, context);
  addKeysMaySetLimits(org, context);
}

function addPolicy(org: Command, context: CommandContext): void {
  onStoredData(org.command("policy <org_id>"))
    .description(
      "set the routing policy of an organization; the new policy replaces the old one completely",
    )
    .option("--timeout-ms <n>", "routing deadline; it can only shorten the installation's")
    .option(
      "--only <ids>",
      "provider ids, separated by commas: use these only, unless a request overrides it",
    )
    .option(
      "--ignore <ids>",
      "provider ids, separated by commas: never use these, unless a request overrides it",
    )
    .addOption(
      new Option(
        "--prompt-logging <kind>",
        "none: never use a provider that retains prompts",
      ).choices(["none"]),
    )
    .option("--clear", "remove the policy")
    .action(
      answering(context, (orgId: string, flags: Flags) => {
        const policy = readPolicy(context, flags);
        return withBackend(context, flags, async (backend, by) => {
          const { orgId: known } = await findOrg(backend, orgId);
          if (policy !== undefined) await backend.rulesStore.setPolicy(known, policy, by);
          return policyAnswer(known, await backend.rulesStore.findPolicy(known));
        });
      }),
    );
}

function addKeysMaySetLimits(org: Command, context: CommandContext): void {
  onStoredData(org.command("keys-may-set-limits <org_id>"))
    .description("allow or forbid virtual keys to lower the limits of their whole organization")
    .addArgument(new Argument("<state>", "off by default").choices(["on", "off"]))
    .action(
      answering(context, (orgId: string, state: string, flags: Flags) =>
        withBackend(context, flags, async (backend, by) => {
          const { orgId: known } = await findOrg(backend, orgId);
          const may = state === "on";
          await backend.rulesStore.setKeysMaySetOrgLimits(known, may, by);
          return {
            json: { org_id: known, keys_may_set_org_limits: may },
            text: `keys of ${known} may ${may ? "" : "not "}set limits of the organization`,
          };
        }),
      ),
    );
}

async function findOrg({ accountStore }: Backend, orgId: string): Promise<OrgSummary> {
  const org = await accountStore.findOrg(orgId);
  if (org === undefined) throw noSuchOrg(orgId);
  return org;
}

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
  if (policy === undefined) {
    const text = `${orgId} has no routing policy`;
    return { json: { org_id: orgId, policy: null }, text };
  }
  const { timeoutMs, only, ignore, promptLogging } = policy;
  const text = [
    timeoutMs === undefined ? "" : `routing deadline ${timeoutMs} ms`,
    only === undefined ? "" : `only ${only.join(", ")}`,
    ignore === undefined ? "" : `never ${ignore.join(", ")}`,
    promptLogging === undefined ? "" : "no provider that retains prompts",
  ];
  return {
    json: {
      org_id: orgId,
      policy: {
        timeout_ms: timeoutMs ?? null,
        only: only ?? null,
        ignore: ignore ?? null,
        prompt_logging: promptLogging ?? null,
      },
    },
    text: `${orgId}: ${text.filter((word) => word !== "").join("; ")}`,
  };
}
