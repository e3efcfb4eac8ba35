import type { Command } from "commander";

import { openBilling, type RecoveredPayments, type Seller, sellerOf } from "../account/index.ts";
import {
  answering,
  clock,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
  readInstant,
} from "./command-context.ts";
import { withBackend } from "./with-backend.ts";

export function addBillingCommand(program: Command, context: CommandContext): void {
  const billing = program.command("billing").description("payments of customers");
  onStoredData(billing.command("recover"))
    .description(
      "after a restore, take checkouts, refunds and disputes over from the payment provider, each once; exit 1 when something needs a person",
    )
    .requiredOption("--since <instant>", "the time to which the books were restored")
    .action(answering(context, recover));
}

async function recover(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const sinceMs = readInstant(String(flags["since"]), "--since");
  return await withBackend(context, flags, async (backend, by, { config, log }) => {
    const { purchaseStore: store, topUpStore } = backend;
    const consoleUrl = (): string => config.consoleUrl;
    const seller = (): Seller => sellerOf(config, config.consoleUrl);
    const billing = openBilling({ config, store, topUpStore, consoleUrl, seller, clock, log });
    try {
      return renderAnswer(await billing.recover(sinceMs, by));
    } finally {
      await billing.close();
    }
  });
}

function renderAnswer(found: RecoveredPayments): CommandAnswer {
  const { sessions, purchases, granted, claims, unknownOrgs, failed } = found;
  const unknown_organizations = unknownOrgs.map((payer) => ({
    org_id: payer.orgId,
    purchase_id: payer.purchaseId,
    session_id: payer.sessionId,
    amount_usd: payer.amountUsd,
  }));
  return {
    json: { sessions, purchases, granted, claims, unknown_organizations, failed },
    text: [
      `${sessions} checkouts and ${claims} refunds and disputes read`,
      `${purchases} lost purchases made again, ${granted} purchases credited`,
      ...unknownOrgs.map(
        ({ orgId, purchaseId, amountUsd }) =>
          `unknown organization ${orgId} paid $${amountUsd} in ${purchaseId}: make it again and grant the credit, or refund it`,
      ),
      ...failed.map((name) => `failed: ${name}; run this again`),
    ].join("\n"),
    exitCode: unknownOrgs.length + failed.length === 0 ? 0 : 1,
  };
}
