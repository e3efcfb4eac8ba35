import {
  type KeySummary,
  createVirtualKey,
  newKeyCeilings,
  findRequestsPerMinuteCeiling,
  HOUR_MS,
  planLimitChange,
  type PlannedChange,
  ReportTimeout,
  type StoredLimit,
} from "../../gateway/index.ts";
import {
  type CapPeriod,
  type ChangedBy,
  assert,
  defined,
  formatUsd,
  instant,
  instantOrNull,
  periodEndMs,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { askAboutCaps } from "./ask-about-cap.ts";
import type { ConcurrencyGate } from "./concurrency-gate.ts";
import type { OperationDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField, notFound, ofGateway } from "./console-refusal.ts";
import type { CreatedKey, Key, KeyList, keyRoutes, RotatedKey } from "./contract/keys.ts";
import type { Acting, Call, Handlers } from "./handler.ts";
import { readName, requireOrg } from "./read-values.ts";
import { readKeyFields } from "./read-key.ts";
import { presentKey, type LimitContext, type ShownActivity } from "./present-key.ts";

type KeyDeps = OperationDeps & { readonly reads?: ConcurrencyGate };

/** Routes for the organization's keys. Managed keys are in no answer and cannot be found by id. */
export function keyHandlers(deps: KeyDeps): Handlers<keyof typeof keyRoutes> {
  const { accounts, reports, clock } = deps;
  return {
    "GET /api/console/keys": ({ session }) => listKeys(deps, session),

    "POST /api/console/keys": (call) => createKey(deps, call, "console"),
    "POST /api/identity/keys": (call) => createKey(deps, call, "identity"),

    "GET /api/console/keys/:key_id": async ({ session, params }) => {
      const { orgId } = session;
      const key = await accounts.findKey(orgId, params.key_id);
      if (key === undefined) return NO_SUCH_KEY;
      const days = await reports.keyDays(orgId, key.keyId, DAYS_SHOWN);
      return {
        key: await show(deps, session, key),
        ...capResets(clock.nowMs()),
        days: days.map(({ day, requests, debitMicroUsd }) => {
          return { day, requests, spent_usd: formatUsd(debitMicroUsd) };
        }),
      };
    },
    "PATCH /api/console/keys/:key_id": (call) => changeKey(deps, call),
    "POST /api/console/keys/change": (call) => changeKeys(deps, call),

    "POST /api/console/keys/disable": async ({ session, body, by }) => {
      const keyIds = [...new Set(body.key_ids)];
      const isCounted = session.isOperator === true || body.confirm_count === keyIds.length;
      if (!isCounted) return NOT_COUNTED;
      const disabled = await accounts.editKeys(session.orgId, keyIds, { disable: true }, by);
      return disabled === undefined ? NO_SUCH_KEY : { changed: disabled.length };
    },

    "POST /api/console/keys/:key_id/rotate": (call) => rotateKey(deps, call),
    "POST /api/identity/keys/:key_id/rotate": (call) => rotateKey(deps, call),

    "POST /api/console/keys/:key_id/disable": async ({ session, params, body, by }) => {
      const key = await accounts.findKey(session.orgId, params.key_id);
      if (key === undefined) return NO_SUCH_KEY;
      const isNamed = session.isOperator === true || body.confirm_name === key.name;
      if (!isNamed) return NOT_CONFIRMED;
      const edited = await accounts.editKeys(session.orgId, [key.keyId], { disable: true }, by);
      const [disabled] = edited ?? [];
      return disabled === undefined ? NO_SUCH_KEY : await show(deps, session, disabled);
    },
  };
}

async function listKeys(deps: OperationDeps, session: Acting): Promise<KeyList> {
  const nowMs = deps.clock.nowMs();
  const [keys, periods, context, activity] = await Promise.all([
    deps.accounts.listOwnKeys(session.orgId),
    deps.records.periodSpend(session.orgId),
    loadLimitContext(deps, session),
    deps.reports.keyActivity(session.orgId),
  ]);
  const byKey = new Map(activity.map((each) => [each.keyId, each]));
  return {
    data: keys.map((key) => {
      const used = byKey.get(key.keyId) ?? UNUSED;
      const own = periods.filter(({ keyId }) => keyId === key.keyId);
      return presentKey(key, context, { ...used, periods: own, nowMs });
    }),
    ...capResets(nowMs),
    rpm_max: ceilingOfNew(findRequestsPerMinuteCeiling("console"), context),
  };
}

function capResets(
  nowMs: number,
): Pick<KeyList, "cap_reset_at" | "week_reset_at" | "day_reset_at"> {
  const end = (period: CapPeriod): string => instant(periodEndMs(period, nowMs));
  return { cap_reset_at: end("month"), week_reset_at: end("week"), day_reset_at: end("day") };
}

const DAYS_SHOWN = 30;
const UNUSED = { lastUsedAtMs: null, spentMonthMicroUsd: ZERO_MICRO_USD } as const;

const NO_SUCH_KEY = notFound("key");
const NOT_CONFIRMED = invalidField(
  "confirm_name",
  "confirm_name is not the name of this key; type the name exactly as it is shown",
);
const NOT_COUNTED = invalidField(
  "confirm_count",
  "confirm_count is not the number of these keys; type how many keys are to be disabled",
);
const DISABLED = conflict("the key is permanently disabled; create another one");
const DISABLED_AMONG = conflict(
  "one of the keys is permanently disabled; leave it out, and send the others again",
);
const TOO_MANY_KEYS = conflict(
  "your organization has reached its maximum number of keys, and disabled keys count: rotate a key instead of replacing it, or contact support",
);

async function createKey(
  deps: OperationDeps,
  { session, body: wanted, by }: Call<"POST /api/console/keys"> | Call<"POST /api/identity/keys">,
  origin: "console" | "identity",
): Promise<CreatedKey | ConsoleRefusal> {
  const { accounts } = deps;
  const name = readName(wanted.name);
  if (name instanceof ConsoleRefusal) return name;
  const { isOperator = false }: Acting = session;
  // The `rpm` that an operator requests becomes the key's ceiling.
  const usual = findRequestsPerMinuteCeiling(origin);
  const requestsPerMinuteCeiling = isOperator ? (wanted.rpm ?? usual) : usual;
  const context = await loadLimitContext(deps, session);
  const ceiling = ceilingOfNew(requestsPerMinuteCeiling, context);
  const { rpm = ceiling } = wanted;
  if (rpm > ceiling && !isOperator) {
    return invalidField(
      "rpm",
      `rpm ${rpm} is above the ceiling of ${ceiling}; choose a limit up to the ceiling`,
    );
  }
  const read = await readKeyFields(deps, session, wanted);
  if (read instanceof ConsoleRefusal) return read;
  const { raw: secret, ...stored } = createVirtualKey();
  const fields = { tags: [], expiresAtMs: null, models: null, ...read, ...stored };
  const newKey = { ...fields, orgId: session.orgId, name, origin, requestsPerMinuteCeiling };
  const key = isOperator
    ? await accounts.createKey(newKey, by)
    : await accounts.createOwnKey(newKey, by);
  if (key === "too_many") return TOO_MANY_KEYS;
  const own = rpm < ceiling ? [await limitNewKey(deps, key, rpm, by)] : [];
  const limits = [...context.limits, ...own];
  // Nothing is read from here on: if a read failed, nobody would get the secret.
  const unused = { ...UNUSED, periods: [], nowMs: deps.clock.nowMs() };
  return { secret, key: presentKey(key, { ...context, limits }, unused) };
}

function ceilingOfNew(own: number, { limits, limitDefaults }: LimitContext): number {
  return newKeyCeilings(own, limits, limitDefaults).requestsPerMinute;
}

/** Sets the limit of a new key. If that fails, disables the key, whose secret nobody has seen. */
async function limitNewKey(
  deps: OperationDeps,
  key: KeySummary,
  rpm: number,
  by: ChangedBy,
): Promise<StoredLimit> {
  const { orgId, keyId } = key;
  try {
    const target = { source: "self", scope: "key", keyId } as const;
    const change = { requestsPerMinute: rpm };
    const stored = await deps.rules.changeLimit(orgId, target, change, by);
    assert(stored !== undefined, "a limit of a key that was just made can be stored");
    return stored;
  } catch (fault) {
    await deps.accounts.editKeys(orgId, [keyId], { disable: true }, by);
    throw fault;
  }
}

/** Checks every field before it changes any. */
async function changeKey(
  deps: KeyDeps,
  { session, params, body, by }: Call<"PATCH /api/console/keys/:key_id">,
): Promise<Key | ConsoleRefusal> {
  const key = await deps.accounts.findKey(session.orgId, params.key_id);
  if (key === undefined) return NO_SUCH_KEY;
  if (key.disabledAtMs !== null) return DISABLED;
  const name = body.name === undefined ? undefined : readName(body.name);
  if (name instanceof ConsoleRefusal) return name;
  const { orgId, keyId } = key;
  const read = await readKeyFields(deps, session, body, key.models);
  if (read instanceof ConsoleRefusal) return read;
  const asked = { caps: read.caps, confirm: body.confirm, keys: [key] };
  const question = await askAboutCaps(deps, session, asked);
  if (question !== undefined) return question;
  const { rpm = "" } = body;
  const planned = rpm === "" || rpm === null ? undefined : await planRpm(deps, key, rpm);
  if (planned instanceof ConsoleRefusal) return planned;
  const edit = { ...read, ...defined({ name, limit: planned }) };
  const [changed] = (await deps.accounts.editKeys(orgId, [keyId], edit, by)) ?? [];
  return changed === undefined ? NO_SUCH_KEY : await show(deps, session, changed);
}

async function changeKeys(
  deps: KeyDeps,
  { session, body, by }: Call<"POST /api/console/keys/change">,
): Promise<{ readonly changed: number } | ConsoleRefusal> {
  const edit = await readKeyFields(deps, session, body);
  if (edit instanceof ConsoleRefusal) return edit;
  const keyIds = [...new Set(body.key_ids)];
  const listed = await deps.accounts.listOwnKeys(session.orgId);
  const keys = listed.filter(({ keyId }) => keyIds.includes(keyId));
  if (keys.length !== keyIds.length) return NO_SUCH_KEY;
  if (keys.some(({ disabledAtMs }) => disabledAtMs !== null)) return DISABLED_AMONG;
  const asked = { caps: edit.caps, confirm: body.confirm, keys };
  const question = await askAboutCaps(deps, session, asked);
  if (question !== undefined) return question;
  const changed = await deps.accounts.editKeys(session.orgId, keyIds, edit, by);
  return changed === undefined ? NO_SUCH_KEY : { changed: changed.length };
}

type RotateCall =
  Call<"POST /api/console/keys/:key_id/rotate"> | Call<"POST /api/identity/keys/:key_id/rotate">;

/** The present secret may keep working for some hours; an older one ends at once. */
async function rotateKey(
  deps: OperationDeps,
  { session, params, body, by }: RotateCall,
): Promise<RotatedKey | ConsoleRefusal> {
  const known = await deps.accounts.findKey(session.orgId, params.key_id);
  if (known === undefined) return NO_SUCH_KEY;
  if (known.disabledAtMs !== null) return DISABLED;
  // Read before the change: if a read failed after it, nobody would get the secret, and a retry
  // would end the one that is in use.
  const figures = await readFigures(deps, session, known);
  const { grace_hours: hours } = body;
  const { raw: secret, ...stored } = createVirtualKey();
  const oldUntilMs = hours === 0 ? null : deps.clock.nowMs() + hours * HOUR_MS;
  const rotate = { ...stored, oldUntilMs };
  const edited = await deps.accounts.editKeys(session.orgId, [known.keyId], { rotate }, by);
  const [rotated] = edited ?? [];
  if (rotated === undefined) return NO_SUCH_KEY;
  const key = presentKey(rotated, ...figures);
  return { secret, old_works_until: instantOrNull(oldUntilMs), key };
}

async function planRpm(
  { limitUse, rules }: OperationDeps,
  { orgId, keyId }: KeySummary,
  rpm: number,
): Promise<PlannedChange | ConsoleRefusal> {
  const planned = await planLimitChange(
    { ...limitUse, rules },
    { kind: "person", orgId },
    { scope: "key", keyId, change: { requestsPerMinute: rpm === 0 ? null : rpm } },
  );
  if (planned.ok) return planned;
  const { refusal } = planned;
  return refusal.class === "invalid_request"
    ? invalidField("rpm", refusal.message)
    : ofGateway(refusal);
}

async function show(deps: OperationDeps, session: Acting, key: KeySummary): Promise<Key> {
  return presentKey(key, ...(await readFigures(deps, session, key)));
}

async function readFigures(
  deps: OperationDeps,
  session: Acting,
  key: KeySummary,
): Promise<readonly [LimitContext, ShownActivity]> {
  const { orgId, keyId } = key;
  const [context, periods, month, lastUsedAtMs] = await Promise.all([
    loadLimitContext(deps, session),
    deps.records.periodSpend(orgId, keyId),
    deps.records.monthSpend(orgId, keyId),
    readLastUse(deps, key),
  ]);
  const used = { lastUsedAtMs, periods, spentMonthMicroUsd: month.spentMicroUsd };
  return [context, { ...used, nowMs: deps.clock.nowMs() }];
}

/** Null also if the journal is slow: after a committed change, the answer must not fail. */
async function readLastUse(
  { reports }: OperationDeps,
  { orgId, keyId }: KeySummary,
): Promise<number | null> {
  const activity = await reports.keyActivity(orgId).catch((fault: unknown) => {
    if (fault instanceof ReportTimeout) return [];
    throw fault;
  });
  return activity.find((each) => each.keyId === keyId)?.lastUsedAtMs ?? null;
}

async function loadLimitContext(deps: OperationDeps, session: Acting): Promise<LimitContext> {
  const [limits, org] = await Promise.all([
    deps.rules.listLimits(session.orgId),
    requireOrg(deps, session),
  ]);
  return { limits, isFunded: org.isFunded, limitDefaults: deps.limitUse.limitDefaults };
}
