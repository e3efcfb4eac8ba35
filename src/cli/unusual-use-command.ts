import type { Command } from "commander";

import { instant, instantOrNull } from "../core/index.ts";
import type { AbuseRestrictionRecord } from "../abuse/index.ts";
import type { CallFamily } from "../accounts/index.ts";
import { UsageFault } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import {
  addStoredCommands,
  knownOrg,
  namedOrg,
  option,
  type StoredCommand,
} from "./stored-command.ts";

const KINDS: readonly CallFamily[] = ["chat", "images", "videos", "decisions"];

/** `unusual-use list [ORG_ID]`, `unusual-use lift ORG_ID [--kind KIND]` */
export function addUnusualUseCommand(program: Command, context: CommandContext): void {
  const unusualUse = program
    .command("unusual-use")
    .description("list and lift restrictions after unusual use on trial credit");
  addStoredCommands(unusualUse, context, [LIST, LIFT]);
}

const LIST: StoredCommand = {
  usage: "list [org_id]",
  summary: "list the kinds of requests that are limited or restricted, newest first",
  options: [option("--all", "also restrictions that have ended or were lifted")],
  read:
    (flags, [asked]) =>
    async (backend) => {
      const org = await namedOrg(backend, asked);
      const holds = await backend.usageHoldStore.list({
        ...(org === undefined ? {} : { orgId: org.orgId }),
        isWithPast: flags["all"] === true,
      });
      return {
        json: { holds: holds.map(shown) },
        text: holds.map(listed).join("\n") || "nothing is limited or restricted",
      };
    },
};

const LIFT: StoredCommand = {
  usage: "lift <org_id>",
  summary: "lift an organization's restrictions, within five seconds",
  options: [
    option("--kind <kind>", `only one kind of request: ${KINDS.join(", ")}`),
    option("--reason <text>", "why, for the change log; the customer does not see it"),
  ],
  read: ({ kind: asked, reason }, [org]) => {
    const kind = readKind(asked);
    const why = typeof reason === "string" ? reason : undefined;
    return async (backend, by) => {
      const { orgId } = await knownOrg(backend, org);
      const lifted = await backend.usageHoldStore.lift(orgId, kind, by, why);
      return {
        json: { org_id: orgId, lifted: lifted.map(shown) },
        text:
          lifted.map((each) => `lifted: ${asText(each)}`).join("\n") ||
          `no requests of ${orgId} were limited or restricted`,
      };
    };
  },
};

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
    until: instantOrNull(hold.untilMs),
    lifted_at: instantOrNull(hold.liftedAtMs),
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
