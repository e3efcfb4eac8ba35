import type { Option } from "commander";

import type { KeyEdit, KeySummary } from "../accounts/index.ts";
import type { Backend } from "../app/index.ts";
import type { ChangedBy } from "../changes/index.ts";
import {
  CAP_PERIODS,
  type Caps,
  formatUsd,
  instant,
  KEY_MODELS_MAX,
  type MicroUsd,
  readTags,
} from "../core/index.ts";
import { parseCap } from "./cap-flags.ts";
import { readConfig, UsageFault, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readText } from "./number-flags.ts";
import { readCatalog } from "./read-catalog.ts";
import { readLater } from "./read-instant.ts";
import { option } from "./stored-command.ts";

/** A command that changes something of a key and answers the key. */
interface KeyEditCommand {
  readonly usage: string;
  readonly summary: string;
  readonly options: readonly Option[];
  readonly readEdit: (flags: Flags, context: CommandContext) => KeyEdit;
  readonly text: (key: KeySummary) => string;
}

export const KEY_EDITS: readonly KeyEditCommand[] = [
  {
    usage: "expiry <key_id>",
    summary: "set when a key expires, or remove its expiry; an expired key works again",
    options: [
      option("--at <instant>", "refuse it from then on, such as 2027-01-31T00:00:00Z"),
      option("--never", "remove the expiry"),
    ],
    readEdit: ({ at, never }) => {
      assertOneOf(at, never, "--at <instant> or --never");
      return { expiresAtMs: at === undefined ? null : readLater(String(at), "--at") };
    },
    text: ({ keyId, expiresAtMs }) =>
      expiresAtMs === null
        ? `${keyId} never expires`
        : `${keyId} expires at ${instant(expiresAtMs)}`,
  },
  {
    usage: "models <key_id>",
    summary: "set which models a key may call; any other is not listed for it",
    options: [
      option("--only <ids>", "ids of the models, with commas between them"),
      option("--all", "every model"),
      option("--manifests <folder>", "folder of provider manifests (default ./manifests)"),
    ],
    readEdit: (flags, context) => ({ models: readModels(context, flags) }),
    text: ({ keyId, models }) =>
      `${keyId} may call ${models === null ? "every model" : models.join(", ")}`,
  },
  {
    usage: "caps <key_id>",
    summary: "set or remove the caps of a key by the day, the week and the month, together",
    options: [
      option("--day-usd <usd>", "dollars per UTC day; 0 removes the cap"),
      option("--week-usd <usd>", "dollars per week from Monday 00:00 UTC on; 0 removes the cap"),
      option("--month-usd <usd>", "dollars per UTC month; 0 removes the cap"),
    ],
    readEdit: (flags) => ({ caps: readCaps(flags) }),
    text: capsText,
  },
  {
    usage: "tags <key_id>",
    summary: "set the tags of a key, or remove them",
    options: [
      option("--set <tags>", "at most 10 tags, with commas between them"),
      option("--none", "remove all tags"),
    ],
    readEdit: ({ set, none }) => {
      assertOneOf(set, none, "--set <tags> or --none");
      return { tags: set === undefined ? [] : readTagList("--set", String(set)) };
    },
    text: ({ keyId, tags }) =>
      `${keyId} ${tags.length === 0 ? "has no tags" : `has ${tags.join(", ")}`}`,
  },
];

/** Any key, whoever has it: this is an operator's command. */
export async function changedKey(
  { accountStore }: Backend,
  keyId: string,
  edit: KeyEdit,
  by: ChangedBy,
): Promise<KeySummary> {
  const [changed] = (await accountStore.editKeys("anyone", [keyId], edit, by)) ?? [];
  if (changed !== undefined) return changed;
  throw new UsageFault(`there is no key ${keyId}; \`tokenmarket key list\` has the ids`);
}

/** Tags with commas between them. */
export function readTagList(flag: string, text: string): readonly string[] {
  const read = readTags(readList(text));
  if (read.ok) return read.tags;
  throw new UsageFault(`${flag}: ${read.problem}`);
}

function readList(text: string): readonly string[] {
  const words = text.split(",").map((word) => word.trim());
  return words.filter(Boolean);
}

/** Either a value, or the flag that there is none. */
function assertOneOf(value: Flags[string], nothing: Flags[string], flags: string): void {
  if ((value === undefined) === (nothing !== true)) throw new UsageFault(`specify either ${flags}`);
}

/** Null: every model. An id that no manifest lists is refused: a slip would stop the key's calls. */
function readModels(context: CommandContext, flags: Flags): readonly string[] | null {
  const { only, all } = flags;
  assertOneOf(only, all, "--only <ids> or --all");
  if (only === undefined) return null;
  const ids = [...new Set(readList(String(only)))];
  if (ids.length === 0)
    throw new UsageFault("--only needs the id of a model; --all allows every one");
  if (ids.length > KEY_MODELS_MAX)
    throw new UsageFault(`--only takes at most ${KEY_MODELS_MAX} ids`);
  const config = readConfig(context, flags);
  const { deployments } = readCatalog(context, config);
  const listed = new Set<string>(deployments.map(({ modelId }) => modelId));
  const unknown = ids.find((id) => !listed.has(id));
  if (unknown === undefined) return ids;
  throw new UsageFault(
    `there is no model ${unknown} in ${config.manifestsDir}; name the folder of the server with --manifests`,
  );
}

function readCaps(flags: Flags): Partial<Caps> {
  const given = CAP_PERIODS.flatMap((period) => {
    const text = readText(flags, `${period}-usd`);
    return text === undefined ? [] : [[period, capOrNone(`--${period}-usd`, text)] as const];
  });
  if (given.length > 0) return Object.fromEntries(given);
  throw new UsageFault("specify --day-usd, --week-usd or --month-usd; 0 removes that cap");
}

function capOrNone(flag: string, text: string): MicroUsd | null {
  return /^0+(\.0+)?$/.test(text) ? null : parseCap(flag, text);
}

function capsText({ keyId, caps }: KeySummary): string {
  const set = CAP_PERIODS.toReversed().flatMap((period) => {
    const cap = caps[period];
    return cap === null ? [] : [`$${formatUsd(cap)} per UTC ${period}`];
  });
  return set.length === 0 ? `${keyId} has no spend cap` : `${keyId} may spend ${set.join(", ")}`;
}
