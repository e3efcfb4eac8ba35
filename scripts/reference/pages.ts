import { ALERT_KINDS, type AlertKind } from "../../src/account/alerts/alert-kinds.ts";
import { RETRY_MS } from "../../src/account/alerts/alert-worker.ts";
import { webhookBody } from "../../src/account/alerts/webhook-sender.ts";
import { ROUTES } from "../../src/account/console-api/contract.ts";
import type { RouteContract } from "../../src/account/console-api/contract/shared.ts";
import { PLAYGROUND_NEED } from "../../src/account/console-api/playground-routes.ts";
import { HEADERS } from "../../src/gateway/http/response-headers.ts";
import {
  environmentName,
  SETTING_MS_MAX,
  SETTINGS,
  type Setting,
} from "../../src/kernel/config/settings.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { REFUSALS } from "../../src/kernel/core/refusals.ts";
import { mayRole, type Need, NEEDS, ROLES } from "../../src/kernel/core/roles.ts";
import type { MetricLabel } from "../../src/kernel/metrics/metric-row.ts";
import { METRICS } from "../../src/kernel/metrics/metrics-table.ts";
import { settingGroups } from "../../src/listing-tools/moving-in/fates.ts";
import { otherKinds, refusedProviders } from "../../src/listing-tools/moving-in/find-provider.ts";
import { openrouterFields } from "../../src/listing-tools/moving-in/match-openrouter.ts";
import { code, guideWith, page, table } from "./markdown.ts";

/** Returns docs/reference/config.md, from the table of settings. */
export function configPage(): string {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  const rows = settings.map((setting) => [
    code(setting.path),
    namesOf(setting).map(code).join(" or "),
    setting.fallback === "" ? "none" : code(String(setting.fallback)),
    setting.doc,
  ]);
  return page(
    "Configuration",
    "Source: `src/kernel/config/settings.ts`. The command line wins over the environment, the environment over " +
      "`tokenmarket.yaml`, and the file over the defaults. A dot in a setting's name is a level of the file. " +
      "A secret `X` is read from a file where `X_FILE` names one ([secrets](../operating/running.md#secrets-in-files)). " +
      "A running server follows a few of them ([what follows without a restart](../operating/running.md#what-follows-without-a-restart)); " +
      `every other change waits for its restart. A time in milliseconds (\`_ms\`) is at most ${SETTING_MS_MAX}, ten days.`,
    table(["Setting", "Environment", "Default", "Meaning"], rows),
  );
}

/** Returns a setting's environment variables; for a secret, also `X_FILE`, which names its file. */
function namesOf({ path, alsoEnv = [], secret }: Setting<unknown>): readonly string[] {
  const names = [environmentName(path), ...alsoEnv];
  return secret === true ? [...names, ...names.map((name) => `${name}_FILE`)] : names;
}

/** Returns docs/reference/errors.md, from the table of refusals. */
export function errorsPage(): string {
  const rows = Object.entries(REFUSALS).map(([name, row]) => [
    code(name),
    String(row.status),
    code(row.wireBType),
    code(row.wireAType),
    row.retryable ? "yes" : "no",
    row.condition,
    row.advice,
  ]);
  const [wireB, wireA] = ["`error.type` on wire_b", "`error.type` on wire_a"];
  return page(
    "Errors",
    "Source: `src/kernel/core/refusals.ts`. Every error names its class, on both wires. " +
      "A class may answer with another status than its usual one; the column *When* says when. If a provider rejects the request with a 4xx, that status is kept; its 404 becomes 502, its 408 becomes 504.",
    table(["Class", "Usual status", wireB, wireA, "Retryable", "When", "What to do"], rows),
  );
}

/** Returns docs/guides/errors.md, which says what a program should do about each class. */
export function errorsGuide(): string {
  const rows = Object.entries(REFUSALS).map(([name, row]) => [
    code(name),
    String(row.status),
    row.retryable ? "yes" : "no",
    row.condition,
    row.advice,
  ]);
  const header = ["Class", "Status", "Retryable", "When", "What to do"];
  return guideWith("docs/guides/errors.md", table(header, rows));
}

/** Returns docs/guides/webhooks.md with the program's own events, bodies and retries. */
export function webhooksGuide(): string {
  const kinds = Object.keys(ALERT_KINDS) as AlertKind[];
  const events = kinds.map((kind) => [code(kind), ALERT_KINDS[kind].when, code(exampleBody(kind))]);
  const tries = [0, ...RETRY_MS].map((waitMs, at) => [String(at + 1), waited(waitMs, at)]);
  return guideWith(
    "docs/guides/webhooks.md",
    table(["Type", "When", "Body"], events),
    table(["Try", "After the one before"], tries),
  );
}

/** Returns the body of an event of this kind, byte for byte as it is posted. */
function exampleBody(kind: AlertKind): string {
  const orgId = "org_5f0c1b2a3d4e5f60718293a4" as OrgId;
  const atMs = Date.parse("2027-01-24T00:00:00.000Z");
  return webhookBody({ kind, atMs, orgId, facts: ALERT_KINDS[kind].example });
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function waited(waitMs: number, at: number): string {
  if (at === 0) return "at once";
  if (waitMs < MINUTE_MS) return `${waitMs / 1_000} seconds`;
  if (waitMs < HOUR_MS) return `${waitMs / MINUTE_MS} minutes`;
  return `${waitMs / HOUR_MS} hours`;
}

/** Returns docs/reference/headers.md, from the table of response headers. */
export function headersPage(): string {
  const rows = Object.values(HEADERS).map((header) => [
    code(header.name),
    header.on,
    header.exposed ? "yes" : "no",
    header.doc,
  ]);
  return page(
    "Response headers",
    "Source: `src/gateway/http/response-headers.ts`. *In browsers* says whether a script may read the header (CORS).",
    table(["Header", "On", "In browsers", "What it says"], rows),
  );
}

/** Returns docs/reference/metrics.md, from the table of metrics. */
export function metricsPage(): string {
  const rows = Object.entries(METRICS).map(([name, row]) => [
    code(name),
    row.type,
    (row.labels ?? []).map(({ name: label }) => code(label)).join(", "),
    row.unit ?? "",
    row.mayBeEmpty === true ? "may be" : "",
    row.help,
  ]);
  const buckets = Object.entries(METRICS).flatMap(([name, row]) =>
    row.buckets === undefined ? [] : [[code(name), row.buckets.join(", ")]],
  );
  return page(
    "Metrics",
    "Source: `src/kernel/metrics/metrics-table.ts`. How to scrape them: [metrics](../operating/metrics.md). " +
      "*Empty*: an instance that works well may show no series of it. Besides these there are the figures of " +
      "the process and its event loop, `process_*` and `nodejs_*`.",
    table(["Name", "Type", "Labels", "Unit", "Empty", "Meaning"], rows),
    "## Labels",
    table(["Label", "Values", "Of"], labelRows()),
    "## Buckets",
    "Upper bounds; each histogram also has `+Inf`.",
    table(["Name", "Buckets"], buckets),
  );
}

function labelRows(): string[][] {
  const metricsOf = new Map<string, { label: MetricLabel; metrics: string[] }>();
  for (const [name, { labels = [] }] of Object.entries(METRICS)) {
    for (const label of labels) {
      const key = `${label.name} ${valuesOf(label)}`;
      const known = metricsOf.get(key) ?? { label, metrics: [] };
      known.metrics.push(name);
      metricsOf.set(key, known);
    }
  }
  return [...metricsOf.values()].map(({ label, metrics }) => [
    code(label.name),
    valuesOf(label),
    metrics.length > 3 ? `${metrics.length} metrics` : metrics.map(code).join(", "),
  ]);
}

function valuesOf({ values, of = "" }: MetricLabel): string {
  return values === undefined ? of : values.map(code).join(", ");
}

const FATES = { carried: "carried", ignored: "ignored", not_carried: "not carried" } as const;
const FIELD_FATES = {
  as_sent: "taken as sent",
  other_name: "another name",
  dropped: "dropped and named",
  none: "refused, by name",
} as const;

/** Returns docs/reference/moving-in.md, from the tables that the importers read. */
export function movingInPage(): string {
  const settings = settingGroups.map(({ in: place, keys, fate, what, why, next }) => [
    place === "" ? "the file" : code(place),
    keys.map(code).join(", "),
    FATES[fate],
    what,
    why,
    next,
  ]);
  const fields = openrouterFields.map(({ in: place, name, fate, why, next }) => [
    code(place === "body" ? name : `provider.${name}`),
    FIELD_FATES[fate],
    why,
    next,
  ]);
  const kinds = Object.entries(otherKinds).map(([mode, makes]) => [code(mode), makes]);
  const providers = Object.entries(refusedProviders).map(([name, why]) => [code(name), why]);
  const heading = ["In", "Setting", "Here", "What it is", "Becomes, or why not", "Instead"];
  return page(
    "Moving in, setting by setting",
    "Source: the tables of `src/listing-tools/moving-in/`. How to move is in [operating/moving-in.md](../operating/moving-in.md). " +
      "A setting of LiteLLM that is not listed is named by the import as unknown. A `*` means any characters.",
    [
      `## Settings of LiteLLM\n\n${table(heading, settings)}`,
      `## Models of LiteLLM that are not moved, by their \`mode\`\n\n${table(["Mode", "It makes"], kinds)}`,
      `## Providers of LiteLLM that have no counterpart\n\n${table(["Provider", "Why, and what to do"], providers)}`,
      `## Fields of OpenRouter's requests\n\n${table(["Field", "Here", "Why", "Instead"], fields)}`,
    ].join("\n\n"),
  );
}

/** Returns docs/reference/roles.md, which says which roles may use each route of the console. */
export function rolesPage(): string {
  const rights = NEEDS.map((need) => [MEANING[need], ...marks(need)]);
  const routes = neededRoutes().map(([name, need]) => [code(name), ...marks(need)]);
  return [
    HEAD,
    table(["What", ...ROLES], rights),
    "\n## Routes\n",
    "Every route of the console that takes a session. What a role may not is answered with 403 `forbidden`.\n",
    table(["Route", ...ROLES], routes),
    "",
  ].join("\n");
}

function neededRoutes(): readonly (readonly [name: string, need: Need])[] {
  const routes = Object.entries(ROUTES).flatMap(([name, contract]: [string, RouteContract]) =>
    contract.needs === undefined ? [] : [[name, contract.needs] as const],
  );
  const playground = ["GET", "POST"].map(
    (method) => [`${method} /playground/v1/*`, PLAYGROUND_NEED] as const,
  );
  return [...routes, ...playground].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function marks(need: Need): readonly string[] {
  return ROLES.map((role) => (mayRole(role, need) ? "yes" : "no"));
}

const MEANING: Readonly<Record<Need, string>> = {
  account: "their own account: sessions, invitations, switching and leaving organizations",
  read: "all pages: usage, keys without their secret, limits, billing, members, changes, the export",
  keys: "keys, limits, provider keys, the playground, Optimize searches",
  billing: "buying credit, the organization's monthly cap, alerts",
  members: "inviting, changing roles, removing members",
  organization: "the organization's name, and what keys may set",
};

const HEAD = `# Roles

What the members of an organization may do in the console. Generated by \`npm run docs\` from \`src/kernel/core/roles.ts\` and the
contract of the console; the guide is [teams](../operating/teams.md).
`;
