import type { Command } from "commander";

import { monthStartMs } from "../account/index.ts";
import { formatUsd, instant } from "../kernel/index.ts";
import { answering, clock, onStoredData, withBackend, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { knownOrg } from "./stored-command.ts";

const LISTED_MAX = 1_000;

/** `topup list`, `topup pause` */
export function addTopupCommand(program: Command, context: CommandContext): void {
  const topup = program.command("topup").description("automatic top-up of organizations");
  onStoredData(topup.command("list"))
    .description("list the rules of automatic top-up, paused ones first")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ topUpStore }) => {
          const listed = await topUpStore.list(monthStartMs(clock.nowMs()), LISTED_MAX);
          const rows = listed.map((each) => ({
            org_id: each.orgId,
            name: each.orgName,
            state: each.pause !== undefined ? "paused" : each.isOn ? "active" : "off",
            paused_reason: each.pause?.reason ?? null,
            paused_at: each.pause === undefined ? null : instant(each.pause.sinceMs),
            below_usd: formatUsd(each.belowMicroUsd),
            amount_usd: formatUsd(each.amountMicroUsd),
            month_max_usd: formatUsd(each.monthMaxMicroUsd),
            month_spent_usd: formatUsd(each.monthMicroUsd),
          }));
          return { json: { data: rows } };
        }),
      ),
    );
  onStoredData(topup.command("pause"))
    .description("pause an organization's automatic top-up until its owner turns it on again")
    .requiredOption("--org <id>", "the organization")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend, by) => {
          const org = await knownOrg(backend, flags["org"]);
          const isPaused = await backend.topUpStore.pause(org.orgId, "operator", by);
          return { json: { org_id: org.orgId, paused: isPaused } };
        }),
      ),
    );
}
