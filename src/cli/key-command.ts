import type { Command } from "commander";

import { type KeySummary, newVirtualKey } from "../accounts/index.ts";
import {
  byCapPeriod,
  CAP_FIELDS,
  capsInUsd,
  CONSOLE_KEY_REQUESTS_PER_MINUTE,
  instant,
  instantOrNull,
} from "../core/index.ts";
import { capAnswer, CAP_OPTIONS, parseCap, readCap } from "./cap-flags.ts";
import { clock, UsageFault } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { changedKey, KEY_EDITS, readTagList } from "./key-edit-commands.ts";
import { readText } from "./number-flags.ts";
import { readLater } from "./read-instant.ts";
import {
  addStoredCommands,
  knownOrg,
  option,
  required,
  type StoredCommand,
} from "./stored-command.ts";

/** `key create`, `key disable`, `key cap`, `key list`; the rest in `key-edit-commands.ts`. */
export function addKeyCommand(program: Command, context: CommandContext): void {
  const key = program.command("key").description("create and manage virtual keys");
  const edits = KEY_EDITS.map(({ usage, summary, options, readEdit, text }): StoredCommand => ({
    usage,
    summary,
    options,
    read: (flags, [keyId = ""]) => {
      const edit = readEdit(flags, context);
      return async (backend, by) => {
        const changed = await changedKey(backend, keyId, edit, by);
        return { json: shownKey(changed), text: text(changed) };
      };
    },
  }));
  addStoredCommands(key, context, [CREATE, ...edits, DISABLE, CAP, LIST]);
}

const CREATE: StoredCommand = {
  usage: "create",
  summary: "create a virtual key; it is shown once, by this command",
  options: [
    required("--org <id>", "the organization whose balance the key spends"),
    required("--name <name>", "name of the key"),
    option("--rpm <n>", "most requests per minute of the key"),
    option("--cap-usd <usd>", "monthly spend cap in dollars"),
    option("--cap-week-usd <usd>", "weekly spend cap, from Monday 00:00 UTC on"),
    option("--cap-day-usd <usd>", "daily spend cap, from 00:00 UTC on"),
    option("--tag <tags>", "tags, with commas between them"),
    option("--expires-at <instant>", "refuse it from then on, such as 2027-01-31T00:00:00Z"),
  ],
  read: (flags) => async (backend, by) => {
    const org = await knownOrg(backend, flags["org"]);
    const { tag, expiresAt } = flags;
    const fresh = newVirtualKey();
    const newKey = {
      orgId: org.orgId,
      name: String(flags["name"]),
      origin: "console",
      digest: fresh.digest,
      label: fresh.label,
      requestsPerMinuteCeiling: readRpm(flags["rpm"]),
      caps: byCapPeriod((period) => {
        const name = CAP_FIELDS[period].replaceAll("_", "-");
        const text = readText(flags, name);
        return text === undefined ? null : parseCap(`--${name}`, text);
      }),
      tags: tag === undefined ? [] : readTagList("--tag", String(tag)),
      expiresAtMs: expiresAt === undefined ? null : readLater(String(expiresAt), "--expires-at"),
    } as const;
    const made = await backend.accountStore.createKey(newKey, by);
    return {
      json: { ...shownKey(made), key: fresh.raw },
      text: `${fresh.raw}\n\nThis is the only time the key is shown (${made.keyId}).`,
    };
  },
};

const DISABLE: StoredCommand = {
  usage: "disable <key_id>",
  summary: "disable a key permanently; it stops working within five seconds",
  read:
    (_flags, [keyId = ""]) =>
    async (backend, by) => {
      const disabled = await changedKey(backend, keyId, { disable: true }, by);
      const at = instantOrNull(disabled.disabledAtMs);
      return {
        json: { key_id: disabled.keyId, disabled_at: at },
        text: `${disabled.keyId} disabled at ${String(at)}`,
      };
    },
};

const CAP: StoredCommand = {
  usage: "cap <key_id>",
  summary: "set or remove the monthly spend cap of a key",
  options: CAP_OPTIONS,
  read: (flags, [keyId = ""]) => {
    const caps = { month: readCap(flags) };
    return async (backend, by) => {
      const capped = await changedKey(backend, keyId, { caps }, by);
      return capAnswer({ key_id: capped.keyId, org_id: capped.orgId }, capped.caps.month);
    };
  },
};

const LIST: StoredCommand = {
  usage: "list",
  summary: "list keys with their first characters; a full key is shown only when it is created",
  options: [option("--org <id>", "only the keys of this organization")],
  read:
    ({ org }) =>
    async ({ accountStore }) => {
      const keys = await accountStore.listKeys(typeof org === "string" ? org : undefined);
      return {
        json: { keys: keys.map(shownKey) },
        text: keys
          .map((each) => `${each.keyId}  ${each.label}…  ${stateOf(each).padEnd(8)}  ${each.name}`)
          .join("\n"),
      };
    },
};

/** A key as every command answers it. */
function shownKey(key: KeySummary): object {
  return {
    key_id: key.keyId,
    label: key.label,
    org_id: key.orgId,
    name: key.name,
    rpm: key.requestsPerMinuteCeiling,
    ...capsInUsd(key.caps),
    created_at: instant(key.createdAtMs),
    disabled_at: instantOrNull(key.disabledAtMs),
    expires_at: instantOrNull(key.expiresAtMs),
    models: key.models,
    tags: key.tags,
  };
}

function stateOf({ disabledAtMs, expiresAtMs }: KeySummary): string {
  if (disabledAtMs !== null) return "disabled";
  return expiresAtMs !== null && clock.nowMs() >= expiresAtMs ? "expired" : "active";
}

function readRpm(flag: string | boolean | undefined): number {
  if (flag === undefined) return CONSOLE_KEY_REQUESTS_PER_MINUTE;
  const rpm = Number(flag);
  if (Number.isInteger(rpm) && rpm >= 1 && rpm <= 1_000_000) return rpm;
  throw new UsageFault(`--rpm must be a whole number from 1 to 1000000, not ${String(flag)}`);
}
