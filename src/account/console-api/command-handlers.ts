import { Readable } from "node:stream";

import { type EndpointRecord, type RoutingPolicy, resealRows } from "../../gateway/index.ts";
import {
  accountsIn,
  type ChangeFilter,
  defined,
  exportLines,
  formatExactUsd,
  formatUsd,
  isEmail,
  type OrgId,
  picoUsd,
  type RecordedChange,
} from "../../kernel/index.ts";
import { ENTRY_COLUMNS, entryLine, type LostVerdict, wholePeriod } from "../../ledger/index.ts";
import { monthStartMs } from "../billing/top-up-store.ts";
import type { CommandDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField } from "./console-refusal.ts";
import {
  Change,
  type CommandName,
  endpointShape,
  entryShape,
  policyShape,
  strangeShape,
  topUpShape,
} from "./contract/commands.ts";
import type { Call, Handlers } from "./handler.ts";
import { readName, requireOrg } from "./read-values.ts";
import { INVITE_REFUSALS, readTeam } from "./members-routes.ts";
import { settlementFiles } from "./settlement-files.ts";
import { presentParties } from "./operator-desk-routes.ts";
import { closedPeriod, readClaim } from "./operator-settlement-routes.ts";
import { present } from "./present.ts";

export function commandHandlers(deps: CommandDeps): Handlers<CommandName> {
  return {
    ...organizationCommands(deps),
    ...endpointCommands(deps),
    ...settlementCommands(deps),
    ...changeCommands(deps),
    ...settlementFiles(deps),
    "connection reseal": async ({ by }) => {
      if (deps.vault === undefined) return NO_ENCRYPTION_KEY;
      const { resealed, kept, unopened } = await resealRows(deps.sealedTables, deps.vault, by);
      return { ok: unopened.length === 0, resealed, kept, not_decrypted: [...unopened] };
    },
  };
}

const NO_ENCRYPTION_KEY = conflict(
  "encryption_key (TM_ENCRYPTION_KEY) is not set: there is no key to encrypt with",
);

type Group<G extends string> = Handlers<Extract<CommandName, `${G} ${string}`>>;

const TOP_UPS_MAX = 1_000;

function organizationCommands(
  deps: CommandDeps,
): Group<"org"> & Group<"member"> & Group<"credit"> & Group<"topup"> {
  const { accounts, rules, team, credit, topUps, clock } = deps;
  return {
    "org create <name>": async ({ body: { name: text, email }, by }) => {
      const name = readName(text);
      if (name instanceof ConsoleRefusal) return name;
      if (!isEmail(email)) return noEmail(email);
      const made = await accounts.createOrg({ name, email }, by);
      return { org_id: made.orgId, name: made.name, email: made.email };
    },

    "org policy <org_id>": async ({ session: { orgId }, body, by }) => {
      const policy = readPolicy(deps, body);
      if (policy instanceof ConsoleRefusal) return policy;
      if (policy !== undefined) await rules.setPolicy(orgId, policy, by);
      const stored = await rules.findPolicy(orgId);
      return { org_id: orgId, policy: stored === undefined ? null : policyShape.show(stored) };
    },

    "org keys-may-set-limits <org_id> <state>": async ({ session: { orgId }, body, by }) => {
      const may = body.state === "on";
      await rules.setKeysMaySetOrgLimits(orgId, may, by);
      return { org_id: orgId, keys_may_set_org_limits: may };
    },

    "member add": async ({ session, body: { email: text, role }, by }) => {
      const email = text.trim();
      if (!isEmail(email)) return noEmail(email);
      const done = await team.store.add(session.orgId, { email, role }, by);
      return done === "done" ? await readTeam(deps, session) : notAdded(done, email);
    },

    "credit ledger": async ({ session }) => {
      const org = await requireOrg(deps, session);
      return {
        org_id: org.orgId,
        balance_usd: formatUsd(org.balanceMicroUsd),
        held_usd: formatUsd(org.heldMicroUsd),
        entries: (await credit.ledgerEntries(org.orgId)).map(entryShape.show),
      };
    },

    "topup list": async () => {
      const listed = await topUps.list(monthStartMs(clock.nowMs()), TOP_UPS_MAX);
      return { data: listed.map(topUpShape.show) };
    },

    "topup pause": async ({ session: { orgId }, by }) => ({
      org_id: orgId,
      paused: await topUps.pause(orgId, "operator", by),
    }),
  };
}

function noEmail(email: string): ConsoleRefusal {
  return invalidField("email", `email: ${email} is not an e-mail address`);
}

function readPolicy(
  { config: { routingTimeoutMs } }: CommandDeps,
  body: Call<"org policy <org_id>">["body"],
): RoutingPolicy | undefined | ConsoleRefusal {
  const { timeout_ms: timeoutMs, only, ignore, prompt_logging: promptLogging, clear } = body;
  if (timeoutMs !== undefined && timeoutMs > routingTimeoutMs) {
    return invalidField("timeout_ms", `timeout_ms must be at most ${routingTimeoutMs}`);
  }
  const policy: RoutingPolicy = defined({ timeoutMs, only, ignore, promptLogging });
  const saysSomething = Object.keys(policy).length > 0;
  if (clear !== true) return saysSomething ? policy : undefined;
  return saysSomething ? invalidField("clear", "clear goes with no other flag") : {};
}

function notAdded(problem: "no_account" | "member" | "full", email: string): ConsoleRefusal {
  const unknown = `no person with the verified e-mail address ${email} has signed in yet; they have to sign in once`;
  return {
    no_account: conflict(unknown),
    member: conflict(`${email} is a member already; see \`member role\``),
    full: INVITE_REFUSALS.full,
  }[problem];
}

function endpointCommands(deps: CommandDeps): Group<"endpoint"> {
  const { rules } = deps;
  return {
    "endpoint add": async ({ session: { orgId }, body, by }) => {
      const limits = readLimits(deps, body);
      if (limits instanceof ConsoleRefusal) return limits;
      const { provider_id: providerId } = body;
      const checked = deps.checkPrivateManifest(providerId);
      if (!checked.ok) return conflict(checked.problem);
      const made = await rules.createEndpoint({ orgId, providerId, limits }, by);
      if (made === undefined) return conflict(`there is no organization ${orgId}`);
      if (made === "taken") return taken(providerId, await rules.listEndpoints());
      return { ...endpointShape.show(made), manifest_checked: checked.isThere };
    },

    "endpoint list [org_id]": async (call) => {
      const endpoints = await rules.listEndpoints(findNamedOrg(call));
      return { endpoints: endpoints.map(endpointShape.show) };
    },

    "endpoint remove <endpoint_id>": async ({ params: { endpoint_id: endpointId }, by }) => {
      const isRemoved = await rules.removeEndpoint(endpointId, by);
      if (isRemoved) return { endpoint_id: endpointId, removed: true };
      return conflict(
        `there is no endpoint ${endpointId}; \`tokenmarket endpoint list\` has the ids`,
      );
    },
  };
}

function findNamedOrg(call: {
  readonly session: { readonly orgId: OrgId };
  readonly query: { readonly org_id?: string };
}): OrgId | undefined {
  return call.query.org_id === undefined ? undefined : call.session.orgId;
}

/** A request may queue at most as long as the gateway may search for a provider. */
function readLimits(
  { config: { routingTimeoutMs } }: CommandDeps,
  body: Call<"endpoint add">["body"],
): EndpointRecord["limits"] | ConsoleRefusal {
  const { rps, paced_per_second: pace, queue_ms: waitMsMax, rpm, tpm, concurrency } = body;
  if ((pace === undefined) !== (waitMsMax === undefined)) {
    return invalidField("paced_per_second", "paced_per_second and queue_ms belong together");
  }
  if (waitMsMax !== undefined && waitMsMax > routingTimeoutMs) {
    return invalidField("queue_ms", `queue_ms must be at most ${routingTimeoutMs}`);
  }
  return defined({
    requestsPerSecond: rps,
    paced: waitMsMax === undefined ? undefined : { perSecond: Number(pace), waitMsMax },
    requestsPerMinute: rpm,
    tokensPerMinute: tpm,
    concurrent: concurrency,
  });
}

function taken(providerId: string, endpoints: readonly EndpointRecord[]): ConsoleRefusal {
  const owner = endpoints.find((each) => each.providerId === providerId);
  const whose = owner === undefined ? "" : ` ${owner.endpointId} of ${owner.orgId}`;
  const next = "remove that one first, or add another private manifest";
  return conflict(`${providerId} already belongs to endpoint${whose}; ${next}`);
}

const STRANGE_SHOWN = 20;

const LOST_MEANINGS: Readonly<Record<LostVerdict, string>> = {
  borne: "lost, owed from now on",
  borne_before: "lost, owed since an earlier run",
  ours: "in the journal",
  put_back: "in a period that was put back",
  unsure: "ended in a period that was put back, or beside it",
  retired: "of a retired day; check its export",
  outside: "not of a lost time, and not in the journal",
  impossible: "of an id or an amount that no attempt can have",
};
const STRANGE: ReadonlySet<LostVerdict> = new Set(["unsure", "retired", "outside", "impossible"]);

function settlementCommands({
  config,
  settlement,
}: CommandDeps): Omit<Group<"settlement">, keyof ReturnType<typeof settlementFiles>> {
  return {
    "settlement attempts <provider_id> <period_start>": async ({ params }) => {
      const found = await closedPeriod(settlement, params);
      if (found instanceof ConsoleRefusal) return found;
      const { period } = found;
      async function* pieces(): AsyncIterable<string> {
        yield `${ENTRY_COLUMNS}\n`;
        for await (const block of wholePeriod(period, settlement.entries(period))) {
          yield block.map((entry) => `${entryLine(entry)}\n`).join("");
        }
      }
      return { fileName: "attempts.csv", pieces: pieces() };
    },

    "settlement bear-lost <provider_id>": async ({ params, body, by }) => {
      const { provider_id: providerId } = params;
      const claim = readClaim(body.statement);
      if (claim instanceof ConsoleRefusal) return claim;
      if (claim.lines === undefined) return invalidField("statement", "statement has no lines");
      const longestMs = Math.max(config.streamTotalMs, config.videoDeadlineMs);
      const judged = await settlement.bearLost(providerId, { lines: claim.lines, longestMs }, by);
      // Lines that need a look of their own come first; of `unsure` ones only the sum is needed.
      const strange = judged
        .filter(({ verdict }) => STRANGE.has(verdict))
        .toSorted((a, b) => Number(a.verdict === "unsure") - Number(b.verdict === "unsure"));
      return {
        provider_id: providerId,
        lines: judged.length,
        verdicts: (Object.keys(LOST_MEANINGS) as LostVerdict[]).map((verdict) => {
          const lines = judged.filter((line) => line.verdict === verdict);
          const cost = lines.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n);
          return {
            verdict,
            lines: lines.length,
            cost_usd: formatExactUsd(picoUsd(cost)),
            meaning: LOST_MEANINGS[verdict],
          };
        }),
        strange: strange.slice(0, STRANGE_SHOWN).map(strangeShape.show),
      };
    },
  };
}

const CHANGES_LISTED = 100;

function changeCommands(deps: CommandDeps): Group<"changes"> {
  const { changeStore, team, config, clock, exportKey } = deps;
  return {
    "changes list [org_id]": async (call) => {
      const limit = call.query.limit ?? CHANGES_LISTED;
      const changes = await changeStore.list({ ...readFilter(call), limit });
      const emails = await team.store.emails(accountsIn(changes));
      return { changes: changes.map((each) => presentChange(each, emails)) };
    },

    "changes export [org_id]": async (call) => {
      const filter = { sinceMs: 0, ...readFilter(call) };
      const of = { filter, nowMs: clock.nowMs(), privateKey: exportKey.open().privateKey };
      const lines = Readable.from(exportLines(changeStore.blocks(filter), of));
      const pieces = lines.map((line: string) => `${line}\n`);
      return { fileName: "changes.ndjson", pieces };
    },

    "changes retire": async ({ body, by }) => {
      const days = body.older_than_days ?? config.retentionChangesDays;
      if (days === 0) return { retired: 0, older_than_days: null };
      return { retired: await changeStore.retire(days, by), older_than_days: days };
    },
  };
}

function readFilter(
  call: Pick<Call<"changes export [org_id]">, "session" | "query">,
): ChangeFilter {
  const { since, action } = call.query;
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  return defined({ orgId: findNamedOrg(call), sinceMs, actionPrefix: action });
}

function presentChange(change: RecordedChange, emails: ReadonlyMap<string, string>) {
  const { requestId: request_id, clientNetwork: client_network } = change.by;
  const parties = presentParties(change, emails);
  return present(Change, change, { ...parties, request_id, client_network });
}
