import {
  accountsIn,
  findAction,
  type RecordedChange,
  csvLine,
  instant,
  type OrgId,
  plainCell,
  unreachable,
} from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity.ts";
import type { KnownPerson } from "../team/team-store.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { ChangeKind, ShownChange } from "./contract.ts";
import type { changeRoutes } from "./contract/changes.ts";
import type { Handlers } from "./handler.ts";
import { withShownAddress } from "./show-address.ts";

/** The organization's own part of the change log. */
export function changeHandlers(deps: ConsoleDeps): Handlers<keyof typeof changeRoutes> {
  return {
    "GET /api/console/changes": async ({ session, query }) => {
      const { before, kind } = query;
      const page = await deps.changes.page({
        ...asked(session.orgId, kind),
        ...(before === undefined ? {} : { before: Number(before) }),
        limit: PAGE_ROWS + 1,
      });
      const data = await shownChanges(deps, page.slice(0, PAGE_ROWS), session);
      const last = page.length > PAGE_ROWS ? data.at(-1) : undefined;
      return { data, next_before: last === undefined ? null : String(last.position) };
    },

    "GET /api/console/changes.csv": async ({ session, query: { kind } }) => ({
      fileName: "changes.csv",
      pieces: filePieces(deps, { session, kind, form: CSV }),
    }),
    "GET /api/console/changes.ndjson": async ({ session, query: { kind } }) => ({
      fileName: "changes.ndjson",
      pieces: filePieces(deps, { session, kind, form: NDJSON }),
    }),
  };
}

const PAGE_ROWS = 50;
const FILE_PAGE_ROWS = 500;

interface FileForm {
  readonly head: string;
  readonly line: (change: ShownChange) => string;
}

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

const CSV: FileForm = {
  head: `${csvLine(CSV_COLUMNS)}\r\n`,
  line: (change) => `${csvLine(CSV_COLUMNS.map((name) => cell(change[name])))}\r\n`,
};

const NDJSON: FileForm = {
  head: "",
  line: (change) => `${JSON.stringify(change)}\n`,
};

function cell(value: unknown): string {
  if (value === null) return "";
  return plainCell(typeof value === "string" ? value : JSON.stringify(value));
}

async function* filePieces(
  deps: ConsoleDeps,
  of: {
    readonly session: SignedIn;
    readonly kind: ChangeKind | undefined;
    readonly form: FileForm;
  },
): AsyncGenerator<string> {
  const { session, kind, form } = of;
  let next: { readonly before?: number } = {};
  yield form.head;
  for (;;) {
    const filter = { ...asked(session.orgId, kind), ...next, limit: FILE_PAGE_ROWS };
    const page = await deps.changes.page(filter);
    const last = page.at(-1);
    if (last === undefined) return;
    const shown = await shownChanges(deps, page, session);
    yield shown.map(form.line).join("");
    next = { before: last.position };
  }
}

function asked(
  orgId: OrgId,
  kind: ChangeKind | undefined,
): { readonly orgId: OrgId; readonly actionPrefix?: string } {
  return kind === undefined ? { orgId } : { orgId, actionPrefix: `${kind}.` };
}

type People = ReadonlyMap<string, KnownPerson>;

async function shownChanges(
  { team, accounts }: ConsoleDeps,
  changes: readonly RecordedChange[],
  session: SignedIn,
): Promise<ShownChange[]> {
  const { orgId } = session;
  const [people, org, keys] = await Promise.all([
    team.store.people(orgId, accountsIn(changes)),
    accounts.findOrg(orgId),
    accounts.listOwnKeys(orgId),
  ]);
  const names = new Map<string, string>([
    ...(org === undefined ? [] : [[orgId, org.name] as const]),
    ...keys.map(({ keyId, name }) => [keyId, name] as const),
    ...[...people].map(([id, person]) => [id, nameOfPerson(person)] as const),
  ]);
  return changes.map((each) => shownChange(each, session, { people, names }));
}

function shownChange(
  change: RecordedChange,
  session: SignedIn,
  { people, names }: { readonly people: People; readonly names: ReadonlyMap<string, string> },
): ShownChange {
  const { position, by, action, target, before, after } = change;
  const { role } = session;
  // Nobody grants credit to themselves: the first sign-in of an address brings it.
  const isWelcome = action === "credit.grant" && by.kind === "account";
  return {
    position,
    at: instant(change.atMs),
    actor_kind: by.kind,
    actor_id: by.id || null,
    actor: actorOf(by, session, people),
    action,
    says: isWelcome ? "received the starting credit" : (findAction(action)?.says ?? action),
    target,
    target_name: names.get(target) ?? null,
    before: withShownAddress(before, role),
    after: withShownAddress(after, role),
    request_id: by.requestId,
    client_network: by.clientNetwork,
  };
}

/** A person as the organization knows them. */
function nameOfPerson({ email, isMember }: KnownPerson): string {
  return isMember ? email : `${email} (former member)`;
}

function actorOf(
  { kind, id }: RecordedChange["by"],
  { accountId }: SignedIn,
  people: People,
): string {
  switch (kind) {
    case "account": {
      const person = people.get(id);
      if (id === accountId) return "You";
      return person === undefined ? `Member ${id}` : nameOfPerson(person);
    }
    case "key":
      return `Key ${id}`;
    case "operator":
      return "Token Market operator";
    case "provider_news":
      return "Payment provider";
    case "gateway":
      return "Token Market";
    default:
      return unreachable(kind);
  }
}
