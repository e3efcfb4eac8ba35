import type { Command } from "commander";

import type { KeySummary } from "../accounts/index.ts";
import { CAP_PERIODS, type Caps, formatUsd, type MicroUsd, readTags } from "../core/index.ts";
import { parseCap } from "./cap-flags.ts";
import { answering, onStoredData, UsageFault, withBackend, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { noSuchKey, shownKey } from "./key-answers.ts";
import { readText } from "./number-flags.ts";

/** `key caps`, `key tags`. */
export function addKeyCapCommands(key: Command, context: CommandContext): void {
  onStoredData(key.command("caps <key_id>"))
    .description("set or remove the caps of a key by the day, the week and the month, together")
    .option("--day-usd <usd>", "dollars per UTC day; 0 removes the cap")
    .option("--week-usd <usd>", "dollars per week from Monday 00:00 UTC on; 0 removes the cap")
    .option("--month-usd <usd>", "dollars per UTC month; 0 removes the cap")
    .action(
      answering(context, (keyId: string, flags: Flags) => {
        const caps = readCaps(flags);
        return withBackend(context, flags, async ({ accountStore }, by) => {
          const [changed] = (await accountStore.editKeys("anyone", [keyId], { caps }, by)) ?? [];
          if (changed === undefined) throw noSuchKey(keyId);
          return { json: shownKey(changed), text: capsText(changed) };
        });
      }),
    );
  onStoredData(key.command("tags <key_id>"))
    .description("set the tags of a key, or remove them")
    .option("--set <tags>", "at most 10 tags, with commas between them")
    .option("--none", "remove all tags")
    .action(
      answering(context, (keyId: string, flags: Flags) => {
        const { set, none } = flags;
        if ((set === undefined) === (none !== true)) {
          throw new UsageFault("specify either --set <tags> or --none");
        }
        const tags = set === undefined ? [] : readTagList("--set", String(set));
        return withBackend(context, flags, async ({ accountStore }, by) => {
          const [changed] = (await accountStore.editKeys("anyone", [keyId], { tags }, by)) ?? [];
          if (changed === undefined) throw noSuchKey(keyId);
          const text = changed.tags.length === 0 ? "has no tags" : `has ${changed.tags.join(", ")}`;
          return { json: shownKey(changed), text: `${changed.keyId} ${text}` };
        });
      }),
    );
}

/** Tags with commas between them. */
export function readTagList(flag: string, text: string): readonly string[] {
  const words = text.split(",").map((tag) => tag.trim());
  const read = readTags(words.filter(Boolean));
  if (read.ok) return read.tags;
  throw new UsageFault(`${flag}: ${read.problem}`);
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
