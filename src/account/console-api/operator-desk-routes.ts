import type { DeskFigures, ListingLoss } from "../../gateway/index.ts";
import {
  accountsIn,
  type Change,
  changeSentence,
  defined,
  dollars,
  formatUsd,
  maskedEmail,
  type OrgId,
  parseRequestId,
  type RecordedChange,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { noSuch } from "./console-refusal.ts";
import {
  OperatorBooks,
  OperatorChange,
  OperatorDesk,
  OperatorFigures,
  OperatorFound,
  OperatorInstance,
  type operatorRoutes,
} from "./contract/operator.ts";
import type { Handlers } from "./handler.ts";
import { CachedRead } from "./cached-read.ts";
import { present } from "./present.ts";
import { findRequest, presentDetail } from "./usage-routes.ts";
import type { BooksFigures } from "../../ledger/index.ts";
import type { OperatorHealth } from "./contract.ts";
import {
  type Catalog,
  CHECK_DAYS_MAX,
  isBelowCost,
  OLD_DAYS,
  staleListings,
} from "../../catalog/index.ts";

type DeskRoute = `GET /api/operator/${
  "desk" | "look-up" | "changes" | "health" | "organizations/:org_id/requests/:request_id"}` &
  keyof typeof operatorRoutes;

export function deskHandlers(deps: ConsoleDeps): Handlers<DeskRoute> {
  const { desk, orgs, changes, team, clock } = deps;
  // All operators share one read, because every open page polls it.
  const shared = new CachedRead(() => desk.read(), clock, DESK_KEPT_MS);
  return {
    "GET /api/operator/desk": async () => {
      const found = await shared.get();
      return present(OperatorDesk, found, {
        days: found.days.map(({ day, ...of }) => ({ day, ...presentDeskFigures(of) })),
        organizations: found.orgs.map(({ orgId, name, ...of }) => {
          return { org_id: orgId, name, ...presentDeskFigures(of) };
        }),
      });
    },

    "GET /api/operator/health": () => readOperatorHealth(deps),
    "GET /api/operator/look-up": async ({ query, by }) => {
      const found = await desk.lookUp(query.q);
      // A look-up is recorded before its result is shown, so that no look-up goes unrecorded.
      await changes.record(lookedUp(query.q, found), by);
      return { data: found.map((each) => present(OperatorFound, each)) };
    },

    "GET /api/operator/organizations/:org_id/requests/:request_id": async ({ params, by }) => {
      const org = await orgs.find(params.org_id);
      const found = org && (await findRequest(deps, org.orgId, params.request_id));
      if (org === undefined || found === undefined) return noSuch("request");
      await changes.record(lookedUp(found.request.requestId, [org]), by);
      return presentDetail(found);
    },

    "GET /api/operator/changes": async ({ query }) => {
      const before = query.before === undefined ? undefined : Number(query.before);
      const found = await changes.list(defined({ before, limit: PAGE_ROWS + 1 }));
      const page = found.slice(0, PAGE_ROWS);
      const emails = await team.store.emails(accountsIn(page));
      const last = found.length > PAGE_ROWS ? page.at(-1) : undefined;
      return {
        data: page.map((each) => presentOperatorChange(each, emails)),
        next_before: last === undefined ? null : String(last.position),
      };
    },
  };
}

/** Logs no more of the query than a masked address, the beginning of a key, or an id. */
function lookedUp(asked: string, found: readonly { readonly orgId: OrgId }[]): Change {
  const text = asked.trim();
  const shown = text.includes("@")
    ? maskedEmail(text)
    : (parseRequestId(text) ?? (/tm_vk_.{0,6}/.exec(text) ?? KNOWN_ID.exec(text))?.[0]);
  const orgs = new Set(found.map(({ orgId }) => orgId));
  const [orgId = null] = orgs.size === 1 ? orgs : [];
  const after = defined({ asked: shown, found: found.length });
  return { action: "customer.look-up", orgId, target: orgId ?? "customers", before: null, after };
}

const KNOWN_ID = /^(?:(?:org|key|pur)_\w{1,40}|(?:R|TEST)-\d{1,18})$/i;
const DESK_KEPT_MS = 30_000;
const PAGE_ROWS = 50;

export function presentDeskFigures(of: DeskFigures) {
  return present(OperatorFigures, of, { spend_usd: formatUsd(of.debitMicroUsd) });
}

export function presentOperatorChange(
  change: RecordedChange,
  emails: ReadonlyMap<string, string>,
): OperatorChange {
  const parties = presentParties(change, emails);
  const says = changeSentence(change, parties.target_email);
  return present(OperatorChange, change, { ...parties, says });
}

export function presentParties(
  { by, target }: RecordedChange,
  emails: ReadonlyMap<string, string>,
) {
  return {
    actor_kind: by.kind,
    actor_id: by.id,
    actor_email: emails.get(by.id) ?? null,
    target_email: emails.get(target) ?? null,
  };
}

async function readOperatorHealth(deps: ConsoleDeps): Promise<OperatorHealth> {
  const { catalog, installation } = deps;
  const [instances, books, losses, lagMs] = await Promise.all([
    installation.readInstances(),
    readBooks(deps),
    installation.readLosses(LOSS_DAYS),
    installation.hasReplica ? installation.readReplicaLagMs() : undefined,
  ]);
  return {
    version: installation.version,
    commit: installation.commit === "" ? null : installation.commit,
    node: installation.node,
    schema: {
      database: books?.schemaLevel ?? null,
      program: installation.programSchemaLevel,
    },
    catalog: {
      build_id: catalog.current.buildId,
      models: catalog.current.models.length,
      listings: catalog.current.deployments.length,
    },
    notices: catalogNotices(catalog.current, losses, installation.readRefreshWaits()),
    waiting_for_restart: [...installation.waitingSettings()],
    instances: instances.map((each) => present(OperatorInstance, each)),
    books:
      books === undefined
        ? null
        : present(OperatorBooks, books, {
            oldest_open_seconds: Math.round(books.oldestOpenSeconds),
            has_gone_back: installation.hasGoneBack(),
          }),
    replica: installation.hasReplica ? { lag_ms: lagMs ?? null } : null,
  };
}

/** Undefined if the books cannot be read: the page then shows everything else. */
async function readBooks({ installation, log }: ConsoleDeps): Promise<BooksFigures | undefined> {
  try {
    return await installation.readBooks();
  } catch (fault) {
    log.warn({ err: fault }, "the figures of the books could not be read for the operator page");
    return undefined;
  }
}

const LOSS_DAYS = 7;
const NAMES_MAX = 20;

type Notice = OperatorHealth["notices"][number];

/** Lists what is sold at a loss, prices that are long unchecked, and what waits for an operator. */
export function catalogNotices(
  catalog: Pick<Catalog, "models">,
  losses: readonly ListingLoss[],
  refreshWaits: readonly string[],
): Notice[] {
  const routed = catalog.models.flatMap(({ deployments }) => deployments);
  const lostBy = new Map(
    losses.map(({ providerId, modelId, lostMicroUsd }) => [
      `${providerId}/${modelId}`,
      lostMicroUsd,
    ]),
  );
  const below = new Set(routed.filter(isBelowCost).map(({ id }) => id));
  // A listing that lost money is named even if its price is no longer below its cost.
  const named = [...new Set([...lostBy.keys(), ...below])].slice(0, NAMES_MAX);
  const waiting = refreshWaits
    .slice(0, NAMES_MAX)
    .map((text): Notice => ({ kind: "refresh_waits", text }));
  const atLoss = named.map((id): Notice => {
    const lost = lostBy.get(id);
    const is = below.has(id) ? "is sold for less" : "was sold for less";
    const text = `${id} ${is} than its provider is owed: ${dollars(formatUsd(lost ?? ZERO_MICRO_USD))} lost in ${LOSS_DAYS} days.`;
    return { kind: "below_cost", text };
  });
  const stale = staleListings(catalog);
  if (stale.length === 0) return [...atLoss, ...waiting];
  const ids = stale.slice(0, NAMES_MAX).map(({ deployment, on }) => `${deployment.id} (${on})`);
  const more = stale.length > NAMES_MAX ? ` and ${stale.length - NAMES_MAX} more` : "";
  const text =
    `No source has confirmed these prices for ${CHECK_DAYS_MAX} days; after ${OLD_DAYS} the listing is ` +
    `tried last: ${ids.join(", ")}${more}. Run \`tokenmarket manifest refresh\`.`;
  return [...atLoss, ...waiting, { kind: "stale_prices", text }];
}
