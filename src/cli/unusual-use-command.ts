import type { Command } from "commander";

import type { AbuseRestrictionRecord } from "../abuse/index.ts";
import type { CallFamily } from "../accounts/index.ts";
import type { Backend } from "../app/index.ts";
import type { OrgId } from "../core/index.ts";
import {
  answering,
  onStoredData,
  UsageFault,
  withBackend,
  type Flags,
  textsOf,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { noSuchOrg } from "./key-command.ts";

const KINDS: readonly CallFamily[] = ["chat", "images", "videos", "decisions"];

/** `unusual-use list [ORG_ID]`, `unusual-use lift ORG_ID [--kind KIND]` */
export function addUnusualUseCommand(program: Command, context: CommandContext): void {
  const unusualUse = program
    .command("unusual-use")
    .description("list and lift restrictions after unusual use on trial credit");
  onStoredData(unusualUse.command("list [org_id]"))
    .description("list the kinds of requests that are limited or restricted, newest first")
    .option("--all", "also restrictions that have ended or were lifted")
    .action(
      answering(context, (org: string | undefined, flags: Flags) =>
        withBackend(context, flags, async (backend) => {
          const orgId = org === undefined ? undefined : await findOrg(backend, org);
          const holds = await backend.usageHoldStore.list({
            ...(orgId === undefined ? {} : { orgId }),
            isWithPast: flags["all"] === true,
          });
          return {
            json: { holds: holds.map(shown) },
            text:
              holds.length === 0
                ? "nothing is limited or restricted"
                : holds.map(listed).join("\n"),
          };
        }),
      ),
    );
  onStoredData(unusualUse.command("lift <org_id>"))
    .description("lift an organization's restrictions, within five seconds")
    .option("--kind <kind>", `only one kind of request: ${KINDS.join(", ")}`)
    .option("--reason <text>", "why, for the change log; the customer does not see it")
    .action(
      answering(context, (org: string, flags: Flags) => {
        const kind = readKind(flags["kind"]);
        const { reason: why } = textsOf(flags);
        return withBackend(context, flags, async (backend, by) => {
          const orgId = await findOrg(backend, org);
          const lifted = await backend.usageHoldStore.lift(orgId, kind, by, why);
          return {
            json: { org_id: orgId, lifted: lifted.map(shown) },
            text:
              lifted.length === 0
                ? `no requests of ${orgId} were limited or restricted`
                : lifted.map((each) => `lifted: ${asText(each)}`).join("\n"),
          };
        });
      }),
    );
}

async function findOrg({ accountStore }: Backend, orgId: string): Promise<OrgId> {
  const org = await accountStore.findOrg(orgId);
  if (org === undefined) throw noSuchOrg(orgId);
  return org.orgId;
}

function readKind(flag: string | boolean | undefined): CallFamily | undefined {
  if (flag === undefined) return undefined;
  const kind = KINDS.find((each) => each === flag);
  if (kind !== undefined) return kind;
  throw new UsageFault(`--kind must be one of ${KINDS.join(", ")}, not ${String(flag)}`);
}

function shown(hold: AbuseRestrictionRecord): object {
  return {
    org_id: hold.orgId,
    kind: hold.family,
    state: hold.state,
    reason: hold.reason,
    created_at: instant(hold.createdAtMs),
    until: hold.untilMs === undefined ? null : instant(hold.untilMs),
    lifted_at: hold.liftedAtMs === null ? null : instant(hold.liftedAtMs),
    in_effect: hold.isInEffect,
  };
}

function listed(hold: AbuseRestrictionRecord): string {
  if (hold.isInEffect) return asText(hold);
  const ended = hold.liftedAtMs === null ? "over" : `lifted ${instant(hold.liftedAtMs)}`;
  return `${asText(hold)}  ${ended}`;
}

function asText(hold: AbuseRestrictionRecord): string {
  const until = hold.untilMs === undefined ? "" : ` until ${instant(hold.untilMs)}`;
  const since = instant(hold.createdAtMs);
  return `${hold.orgId}  ${hold.family}  ${hold.state}${until}  since ${since}  ${hold.reason}`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
