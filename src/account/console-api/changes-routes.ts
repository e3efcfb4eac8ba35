import {
  asText,
  accountsIn,
  defined,
  type ChangePageFilter,
  changeSentence,
  type RecordedChange,
  csvLine,
  type OrgId,
  plainCell,
  unreachable,
} from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { KnownPerson } from "../team/team-store.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { type changeRoutes, type ChangesFilter, ShownChange } from "./contract/changes.ts";
import { writeLines } from "./file-answer.ts";
import type { Handlers } from "./handler.ts";
import { present } from "./present.ts";

export function changeHandlers(deps: ConsoleDeps): Handlers<keyof typeof changeRoutes> {
  return {
    "GET /api/console/changes": async ({ session, query }) => {
      const { before, ...filter } = query;
      const page = await deps.changes.page({
        ...toChangeQuery(session.orgId, filter),
        ...defined({ before: before === undefined ? undefined : Number(before) }),
        limit: PAGE_ROWS + 1,
      });
      const data = await presentChanges(deps, page.slice(0, PAGE_ROWS), session);
      const last = page.length > PAGE_ROWS ? data.at(-1) : undefined;
      return { data, next_before: last === undefined ? null : String(last.position) };
    },

    "GET /api/console/changes.csv": async ({ session, query: filter }) => ({
      fileName: "changes.csv",
      pieces: writeLines(CSV_HEAD, everyChange(deps, session, filter), printCsv),
    }),
    "GET /api/console/changes.ndjson": async ({ session, query: filter }) => ({
      fileName: "changes.ndjson",
      pieces: writeLines("", everyChange(deps, session, filter), printJson),
    }),
  };
}

const PAGE_ROWS = 50;
const FILE_PAGE_ROWS = 500;

const CSV_COLUMNS = [
  "position",
  "at",
  "actor",
  "actor_id",
  "action",
  "target",
  "before",
  "after",
  "request_id",
  "client_network",
  "target_name",
] as const;

const CSV_HEAD = `${csvLine(CSV_COLUMNS)}\r\n`;

const printCsv = (change: ShownChange): string =>
  `${csvLine(CSV_COLUMNS.map((name) => cell(change[name])))}\r\n`;
const printJson = (change: ShownChange): string => `${JSON.stringify(change)}\n`;

function cell(value: unknown): string {
  if (value === null) return "";
  return plainCell(asText(value) ?? JSON.stringify(value));
}

async function* everyChange(
  deps: ConsoleDeps,
  session: SignedIn,
  wanted: ChangesFilter,
): AsyncGenerator<readonly ShownChange[]> {
  let next: { readonly before?: number } = {};
  // A file of a log without changes has its head too.
  yield [];
  for (;;) {
    const filter = { ...toChangeQuery(session.orgId, wanted), ...next, limit: FILE_PAGE_ROWS };
    const page = await deps.changes.page(filter);
    const last = page.at(-1);
    if (last === undefined) return;
    yield await presentChanges(deps, page, session);
    next = { before: last.position };
  }
}

const DAY_MS = 86_400_000;

/** `until` is a filter's last day, inclusive; `untilMs` is the exclusive end of that day. */
function toChangeQuery(orgId: OrgId, { kind, by, until }: ChangesFilter): ChangePageFilter {
  return defined({
    orgId,
    actionPrefix: kind === undefined ? undefined : `${kind}.`,
    by,
    untilMs: until === undefined ? undefined : Date.parse(`${until}T00:00:00Z`) + DAY_MS,
  });
}

interface Known {
  readonly people: ReadonlyMap<string, KnownPerson>;
  readonly names: ReadonlyMap<string, string>;
}

async function presentChanges(
  { team, accounts, connections, optimize }: ConsoleDeps,
  changes: readonly RecordedChange[],
  session: SignedIn,
): Promise<ShownChange[]> {
  const { orgId } = session;
  const [people, org, keys, providerKeys, searches] = await Promise.all([
    team.store.people(orgId, accountsIn(changes)),
    accounts.findOrg(orgId),
    accounts.listOwnKeys(orgId),
    connections.list(orgId),
    optimize.list(orgId),
  ]);
  const names = new Map<string, string>([
    ...(org === undefined ? [] : [[orgId, org.name] as const]),
    ...keys.map(({ keyId, name }) => [keyId, name] as const),
    ...providerKeys.map((each) => [each.connectionId, each.name] as const),
    ...searches.map(({ searchId, name }) => [searchId, name] as const),
    ...[...people].map(([id, person]) => [id, namePerson(person)] as const),
  ]);
  return changes.map((each) => presentChange(each, session, { people, names }));
}

function presentChange(change: RecordedChange, session: SignedIn, known: Known): ShownChange {
  const { by, action, target, before, after } = change;
  const name = known.names.get(target) ?? null;
  return present(ShownChange, change, {
    actor_kind: by.kind,
    actor_id: by.id || null,
    actor: describeActor(change, session, known),
    says: changeSentence({ action, before, after }, name),
    target_name: name,
    request_id: by.requestId,
    client_network: by.clientNetwork,
  });
}

function namePerson({ email, isMember }: KnownPerson): string {
  return isMember ? email : `${email} (former member)`;
}

function describeActor(
  { action, by: { kind, id } }: RecordedChange,
  { accountId }: SignedIn,
  { people, names }: Known,
): string {
  switch (kind) {
    case "account": {
      // The new account is named as the author, but the gateway granted the starting credit.
      if (action === "credit.grant") return "Token Market";
      const person = people.get(id);
      if (id === accountId) return "You";
      return person === undefined ? "A former member" : namePerson(person);
    }
    case "key":
      return names.has(id) ? `The key “${names.get(id) ?? ""}”` : "A key";
    case "operator":
      return "The operator";
    case "provider_news":
      return "The payment provider";
    case "gateway":
      return "Token Market";
    default:
      return unreachable(kind);
  }
}
