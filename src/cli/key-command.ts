import type { Command } from "commander";

import { type KeySummary, newVirtualKey } from "../accounts/index.ts";
import {
  byCapPeriod,
  CAP_FIELDS,
  CONSOLE_KEY_REQUESTS_PER_MINUTE,
  type OrgId,
} from "../core/index.ts";
import { capAnswer, onStoredCap, parseCap, readCap } from "./cap-flags.ts";
import {
  answering,
  clock,
  onStoredData,
  UsageFault,
  withBackend,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { instantOrNull, noSuchKey, shownKey } from "./key-answers.ts";
import { addKeyCapCommands, readTagList } from "./key-cap-commands.ts";
import { addKeyChangeCommands } from "./key-change-commands.ts";
import { readText } from "./number-flags.ts";
import { readLater } from "./read-instant.ts";

/** `key create`, `key disable`, `key cap`, `key list`; the rest in `key-change-commands.ts`. */
export function addKeyCommand(program: Command, context: CommandContext): void {
  const key = program.command("key").description("create and manage virtual keys");
  addCreate(key, context);
  addKeyChangeCommands(key, context);
  addKeyCapCommands(key, context);
  onStoredData(key.command("disable <key_id>"))
    .description("disable a key permanently; it stops working within five seconds")
    .action(
      answering(context, (keyId: string, flags: Flags) =>
        withBackend(context, flags, async ({ accountStore }, by) => {
          const [disabled] =
            (await accountStore.editKeys("anyone", [keyId], { disable: true }, by)) ?? [];
          if (disabled === undefined) throw noSuchKey(keyId);
          const at = instantOrNull(disabled.disabledAtMs);
          return {
            json: { key_id: disabled.keyId, disabled_at: at },
            text: `${disabled.keyId} disabled at ${String(at)}`,
          };
        }),
      ),
    );
  onStoredCap(key.command("cap <key_id>"))
    .description("set or remove the monthly spend cap of a key")
    .action(
      answering(context, (keyId: string, flags: Flags) => {
        const cap = readCap(flags);
        return withBackend(context, flags, async ({ accountStore }, by) => {
          const caps = { month: cap };
          const [capped] = (await accountStore.editKeys("anyone", [keyId], { caps }, by)) ?? [];
          if (capped === undefined) throw noSuchKey(keyId);
          return capAnswer({ key_id: capped.keyId, org_id: capped.orgId }, capped.caps.month);
        });
      }),
    );
  onStoredData(key.command("list"))
    .description(
      "list keys with their first characters; a full key is shown only when it is created",
    )
    .option("--org <id>", "only the keys of this organization")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ accountStore }) => {
          const org = flags["org"];
          const keys = await accountStore.listKeys(typeof org === "string" ? org : undefined);
          return {
            json: { keys: keys.map(shownKey) },
            text: keys
              .map(
                (each) => `${each.keyId}  ${each.label}…  ${stateOf(each).padEnd(8)}  ${each.name}`,
              )
              .join("\n"),
          };
        }),
      ),
    );
}

function addCreate(key: Command, context: CommandContext): void {
  onStoredData(key.command("create"))
    .description("create a virtual key; it is shown once, by this command")
    .requiredOption("--org <id>", "the organization whose balance the key spends")
    .requiredOption("--name <name>", "name of the key")
    .option("--rpm <n>", "most requests per minute of the key")
    .option("--cap-usd <usd>", "monthly spend cap in dollars")
    .option("--cap-week-usd <usd>", "weekly spend cap, from Monday 00:00 UTC on")
    .option("--cap-day-usd <usd>", "daily spend cap, from 00:00 UTC on")
    .option("--tag <tags>", "tags, with commas between them")
    .option("--expires-at <instant>", "refuse it from then on, such as 2027-01-31T00:00:00Z")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ accountStore }, by) => {
          const org = await accountStore.findOrg(String(flags["org"]));
          if (org === undefined) throw noSuchOrg(String(flags["org"]));
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
            expiresAtMs:
              expiresAt === undefined ? null : readLater(String(expiresAt), "--expires-at"),
          } as const;
          const made = await accountStore.createKey(newKey, by);
          return {
            json: { ...shownKey(made), key: fresh.raw },
            text: `${fresh.raw}\n\nThis is the only time the key is shown (${made.keyId}).`,
          };
        }),
      ),
    );
}

/** The same sentence wherever an organization id is unknown. */
export function noSuchOrg(orgId: OrgId | string): UsageFault {
  return new UsageFault(`there is no organization ${orgId}; \`tokenmarket org list\` has the ids`);
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
