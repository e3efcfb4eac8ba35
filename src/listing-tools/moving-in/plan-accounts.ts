import {
  asText,
  defined,
  formatUsd,
  microUsd,
  parseDecimal,
  parseForeignInstant,
  parseUsd,
  plainDecimal,
  type RawJson,
} from "../../kernel/index.ts";
import type { Fates } from "./fates.ts";
import {
  asList,
  asMap,
  isEmpty,
  numberAt,
  settingAt,
  type SettingPath,
  shortText,
  textAt,
} from "./setting-tree.ts";

export interface PlannedOrg {
  readonly name: string;
  /** Reference of the credit grant: the same for the same export, so credit is granted once. */
  readonly ref: string;
  /** Cap in dollars per month. */
  readonly capUsd?: string;
  /** The unspent dollars of a LiteLLM budget that has no period. */
  readonly creditUsd?: string;
  readonly limits: PlannedLimits;
  readonly keys: readonly PlannedKey[];
}

export interface PlannedKey {
  readonly name: string;
  readonly capUsd?: string;
  readonly limits: PlannedLimits;
}

export interface PlannedLimits {
  readonly rpm?: number;
  readonly tpm?: number;
  readonly concurrency?: number;
}

export interface AccountsInput {
  /** The answers of LiteLLM's `/key/list` and `/team/list`; undefined if the operator gave none. */
  readonly keys: RawJson | undefined;
  readonly teams: RawJson | undefined;
  readonly fates: Fates;
  readonly nowMs: number;
}

export const KEYS_ROOT = "keys_file";
export const TEAMS_ROOT = "teams_file";

/** Puts a bare list into a map, so that both forms have paths such as `keys_file.keys[0]`. */
export function exportTree(setting: RawJson, list: "keys" | "teams"): RawJson {
  return asList(setting) === undefined ? setting : new Map([[list, setting]]);
}

interface OpenOrg {
  readonly org: Omit<PlannedOrg, "keys">;
  readonly keys: PlannedKey[];
}

/** Plans organizations by team, else by user, and new keys: LiteLLM has only hashes of the old. */
export function planAccounts({ keys, teams, fates, nowMs }: AccountsInput): PlannedOrg[] {
  const orgs = new Map<string, OpenOrg>();
  const blockedTeams = new Set<string>();
  for (const { item, path } of listItems(teams, TEAMS_ROOT, "teams")) {
    planTeam(item, path, { orgs, blockedTeams, fates });
  }
  for (const { item, path } of listItems(keys, KEYS_ROOT, "keys")) {
    planKey(item, path, { orgs, blockedTeams, fates, nowMs });
  }
  namePages(keys, KEYS_ROOT, fates);
  namePages(teams, TEAMS_ROOT, fates);
  return [...orgs.values()].map(({ org, keys: planned }) => ({ ...org, keys: planned }));
}

function listItems(
  tree: RawJson | undefined,
  root: string,
  list: string,
): { readonly item: RawJson; readonly path: SettingPath }[] {
  const items = asList(settingAt(tree, list)) ?? [];
  return items.map((item, at) => ({ item, path: [root, list, at] }));
}

interface Plan {
  readonly orgs: Map<string, OpenOrg>;
  readonly blockedTeams: Set<string>;
  readonly fates: Fates;
}

function planTeam(item: RawJson, path: SettingPath, { orgs, blockedTeams, fates }: Plan): void {
  const id = textAt(item, "team_id");
  if (id === undefined) {
    if (asMap(item) === undefined) return;
    fates.notCarried(path, {
      what: "a team",
      why: "it has no team_id",
      next: "export it again with /team/list",
    });
    return;
  }
  if (isTrue(item, "blocked")) {
    blockedTeams.add(id);
    fates.ignored(path, { what: "a team", why: "it is blocked: it gets no organization" });
    return;
  }
  const alias = shortText(textAt(item, "team_alias") ?? "", NAME_CHARS_MAX).trim();
  const name = alias === "" ? shortText(id, NAME_CHARS_MAX) : alias;
  const money = planBudget(item, path, { fates, hasCredit: true });
  for (const field of ["team_id", "team_alias", "blocked"]) fates.carried([...path, field]);
  noteModels(item, path, fates);
  orgs.set(`team ${id}`, {
    org: {
      name,
      ref: `litellm-${shortText(id, NAME_CHARS_MAX)}`,
      ...money,
      limits: planLimits(item, path, fates),
    },
    keys: [],
  });
}

const NAME_CHARS_MAX = 80;
/** `key create` refuses a longer name, and one that is blank: the script would stop at it. */
const KEY_NAME_CHARS_MAX = 64;

function planKey(
  item: RawJson,
  path: SettingPath,
  { orgs, blockedTeams, fates, nowMs }: Plan & { readonly nowMs: number },
): void {
  if (asText(item) !== undefined) {
    fates.notCarried(path, {
      what: "a key",
      why: "the export has only its hash",
      next: "export again with /key/list?return_full_object=true&size=100",
    });
    return;
  }
  if (asMap(item) === undefined) return;
  const team = textAt(item, "team_id");
  const gone = whyGone(item, { team, blockedTeams, nowMs });
  if (gone !== undefined) {
    fates.ignored(path, { what: "a key", why: `${gone}: no new key is issued` });
    return;
  }
  const open = openOrg(item, orgs);
  const alias = shortText(textAt(item, "key_alias") ?? "", KEY_NAME_CHARS_MAX).trim();
  const name = alias === "" ? `key ${open.keys.length + 1}` : alias;
  const money = planBudget(item, path, { fates, hasCredit: false });
  const carried = ["key_alias", "team_id", "user_id", "org_id", "organization_id", "blocked"];
  for (const field of carried) fates.carried([...path, field]);
  const expires = textAt(item, "expires");
  if (expires !== undefined) {
    fates.notCarried([...path, "expires"], {
      why: "the import sets no end date",
      next: "tokenmarket key change KEY_ID --expires-at INSTANT",
    });
  }
  noteModels(item, path, fates);
  open.keys.push({
    name,
    ...money,
    limits: planLimits(item, path, fates),
  });
}

function whyGone(
  item: RawJson,
  of: {
    readonly team: string | undefined;
    readonly blockedTeams: ReadonlySet<string>;
    readonly nowMs: number;
  },
): string | undefined {
  if (isTrue(item, "blocked")) return "it is blocked";
  if (of.team !== undefined && of.blockedTeams.has(of.team)) return "its team is blocked";
  const expires = textAt(item, "expires");
  const at = expires === undefined ? Number.NaN : parseForeignInstant(expires);
  return at <= of.nowMs ? "it has expired" : undefined;
}

function openOrg(item: RawJson, orgs: Map<string, OpenOrg>): OpenOrg {
  const team = textAt(item, "team_id");
  const user = textAt(item, "user_id");
  const kind = team !== undefined ? "team" : user !== undefined ? "user" : "none";
  const id = team ?? user ?? "keys";
  const key = `${kind} ${id}`;
  const known = orgs.get(key);
  if (known !== undefined) return known;
  const name = kind === "none" ? "Keys without a team" : shortText(id, NAME_CHARS_MAX);
  const ref = `litellm-${shortText(id, NAME_CHARS_MAX)}`;
  const open: OpenOrg = { org: { name, ref, limits: {} }, keys: [] };
  orgs.set(key, open);
  return open;
}

function isTrue(item: RawJson, field: string): boolean {
  return settingAt(item, field) === true;
}

/** A monthly budget becomes a cap. With `hasCredit`, the rest of one without a period is credit. */
function planBudget(
  item: RawJson,
  path: SettingPath,
  { fates, hasCredit }: { readonly fates: Fates; readonly hasCredit: boolean },
): Pick<PlannedOrg, "capUsd" | "creditUsd"> {
  const budget = parseBudget(numberAt(item, "max_budget"), textAt(item, "budget_duration"));
  const fields = ["max_budget", "budget_duration"];
  const capUsd = budget.kind === "monthly" ? budget.usd : undefined;
  const creditUsd =
    budget.kind === "lasting" && hasCredit
      ? remainingUsd(budget.usd, numberAt(item, "spend"))
      : undefined;
  if (capUsd !== undefined || creditUsd !== undefined) {
    for (const field of fields) fates.carried([...path, field]);
    const why = "it is subtracted from a budget without a period";
    if (creditUsd !== undefined) fates.carried([...path, "spend"], { why });
    else fates.ignored([...path, "spend"], { why: SPENT_BEFORE });
    return defined({ capUsd, creditUsd });
  }
  const why = WHY_NO_CAP[budget.kind];
  if (budget.kind !== "absent") {
    const next = "set a cap by hand: tokenmarket org cap, tokenmarket key change";
    for (const field of fields) fates.notCarried([...path, field], { why, next });
  } else if (!isEmpty(settingAt(item, "budget_duration") ?? null)) {
    fates.ignored([...path, "budget_duration"], { why });
  }
  fates.ignored([...path, "spend"], { why: SPENT_BEFORE });
  return {};
}

const SPENT_BEFORE = "the books here begin with the move; what was spent before stays in LiteLLM";

const WHY_NO_CAP: Readonly<Record<Budget["kind"], string>> = {
  absent: "there is no budget beside it",
  monthly: "",
  lasting: "a cap has a period, and this budget has no period or is used up",
  other: "only monthly budgets are carried, and this one has another period or is not an amount",
};

const ALL_MODELS = new Set(["all-proxy-models", "all-team-models", "*"]);

function noteModels(item: RawJson, path: SettingPath, fates: Fates): void {
  const models = asList(settingAt(item, "models"));
  if (models === undefined) return;
  if (models.length === 0 || models.some((each) => ALL_MODELS.has(asText(each) ?? ""))) {
    fates.carried([...path, "models"]);
    return;
  }
  fates.notCarried([...path, "models"], {
    why: `it allows ${models.length} models; the new key may use every listed model`,
    next:
      "tokenmarket key change KEY_ID --models MODELS, for each key; models of one organization alone: a " +
      "private manifest and a dedicated endpoint (tokenmarket endpoint add)",
  });
}

const LIMIT_FIELDS = {
  rpm: "rpm_limit",
  tpm: "tpm_limit",
  concurrency: "max_parallel_requests",
} as const;
const LIMIT_MAX = 1_000_000_000;

function planLimits(item: RawJson, path: SettingPath, fates: Fates): PlannedLimits {
  return Object.fromEntries(
    Object.entries(LIMIT_FIELDS).flatMap(([name, field]) => {
      const text = numberAt(item, field);
      if (text === undefined || !/^\d{1,10}(?:\.0*)?$/.test(text)) return [];
      const value = Number(text);
      if (value < 1 || value > LIMIT_MAX) return [];
      fates.carried([...path, field]);
      return [[name, value]];
    }),
  );
}

function namePages(tree: RawJson | undefined, root: string, fates: Fates): void {
  const pages = numberAt(tree, "total_pages");
  if (pages === undefined || parseUsd(pages) === undefined || /^0*1?(\.0*)?$/.test(pages)) return;
  fates.notCarried([root, "total_pages"], {
    what: "pages of the export",
    why: `the export has ${shortText(pages, 12)} pages, and this file is one of them`,
    next: "export every page, and import each",
  });
}

type Budget =
  | { readonly kind: "absent" }
  | { readonly kind: "monthly"; readonly usd: string }
  | { readonly kind: "lasting"; readonly usd: string }
  /** A budget with another period, or an amount that cannot be used. */
  | { readonly kind: "other" };

/** LiteLLM's texts for a month: 30 or 31 days, or from the first day of a calendar month. */
const MONTHS: ReadonlySet<string> = new Set(["30d", "31d", "1mo", "1M", "720h"]);

const FRACTION_DIGITS = 6;
const WHOLE_DIGITS_MAX = 9;

export function parseBudget(amount: string | undefined, duration: string | undefined): Budget {
  if (amount === undefined) return { kind: "absent" };
  const usd = dollars(amount);
  if (usd === undefined) return { kind: "other" };
  if (duration === undefined) return { kind: "lasting", usd };
  return MONTHS.has(duration) ? { kind: "monthly", usd } : { kind: "other" };
}

/** Rounds down to six decimals. Undefined for 0 or less, or for more than nine whole digits. */
function dollars(raw: string): string | undefined {
  const decimal = parseDecimal(raw);
  if (decimal === undefined || decimal.negative || decimal.point > WHOLE_DIGITS_MAX) {
    return undefined;
  }
  const usd = plainDecimal(decimal, FRACTION_DIGITS);
  return usd === "0" ? undefined : usd;
}

/** The unspent dollars, rounded down to micro-dollars; undefined if nothing is left. */
export function remainingUsd(budget: string, spent: string | undefined): string | undefined {
  const whole = parseUsd(budget);
  if (whole === undefined) return undefined;
  const gone = spent === undefined ? 0n : spentMicroUsd(spent);
  if (gone === undefined || gone >= whole) return undefined;
  return formatUsd(microUsd(whole - gone));
}

/** Rounds up to micro-dollars, so that no more credit is granted than is left. */
function spentMicroUsd(raw: string): bigint | undefined {
  const decimal = parseDecimal(raw);
  if (decimal === undefined || decimal.point > WHOLE_DIGITS_MAX) return undefined;
  if (decimal.negative) return 0n;
  const cut = parseUsd(plainDecimal(decimal, FRACTION_DIGITS));
  if (cut === undefined) return undefined;
  const isExact = decimal.digits.length - decimal.point <= FRACTION_DIGITS;
  return isExact ? cut : cut + 1n;
}
