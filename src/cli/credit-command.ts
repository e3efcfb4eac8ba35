import type { Command } from "commander";

import type { Backend } from "../app/index.ts";
import type { ChangedBy } from "../changes/index.ts";
import { formatUsd, parseUsd } from "../core/index.ts";
import {
  answering,
  onStoredData,
  UsageFault,
  withBackend,
  type CommandAnswer,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { noSuchOrg } from "./key-command.ts";

/** `credit grant`, `credit ledger` */
export function addCreditCommand(program: Command, context: CommandContext): void {
  const credit = program.command("credit").description("grant credit and show wallets");
  onStoredData(credit.command("grant"))
    .description("grant credit to an organization, once per reference")
    .requiredOption("--org <id>", "the organization")
    .requiredOption("--usd <amount>", "dollars above 0, at most six decimals")
    .requiredOption(
      "--ref <reference>",
      "identifies this grant permanently; granting it again changes nothing",
    )
    .option(
      "--trial",
      "free trial credit: unusual use is monitored until the organization buys credit",
    )
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend, by) => grant(backend, flags, by)),
      ),
    );
  onStoredData(credit.command("ledger"))
    .description("show balance, holds and the newest entries of an organization's wallet")
    .requiredOption("--org <id>", "the organization")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ accountStore, creditStore }) => {
          const org = await accountStore.findOrg(String(flags["org"]));
          if (org === undefined) throw noSuchOrg(String(flags["org"]));
          const entries = (await creditStore.ledgerEntries(org.orgId)).map((entry) => ({
            at: new Date(entry.atMs).toISOString(),
            kind: entry.kind,
            ref: entry.ref,
            detail: entry.detail,
            amount_usd: formatUsd(entry.amountMicroUsd),
          }));
          const balance = formatUsd(org.balanceMicroUsd);
          const held = formatUsd(org.heldMicroUsd);
          return {
            json: { org_id: org.orgId, balance_usd: balance, held_usd: held, entries },
            text: [
              `balance $${balance}, held $${held}`,
              ...entries.map((each) => `${each.at}  ${each.amount_usd}  ${each.kind}  ${each.ref}`),
            ].join("\n"),
          };
        }),
      ),
    );
}

async function grant(
  { accountStore, creditStore }: Backend,
  flags: Flags,
  by: ChangedBy,
): Promise<CommandAnswer> {
  const amountMicroUsd = parseUsd(String(flags["usd"]));
  if (amountMicroUsd === undefined || amountMicroUsd <= 0n) {
    throw new UsageFault(`--usd must be dollars above 0 such as 25.00`);
  }
  const org = await accountStore.findOrg(String(flags["org"]));
  if (org === undefined) throw noSuchOrg(String(flags["org"]));
  const ref = String(flags["ref"]);
  const isTrial = flags["trial"] === true;
  const outcome = await creditStore.grant({ orgId: org.orgId, amountMicroUsd, ref, isTrial }, by);
  const granted = `granted $${formatUsd(amountMicroUsd)}${isTrial ? " to try the service" : ""}`;
  const balance = `balance $${formatUsd(outcome.balanceMicroUsd)}`;
  return {
    json: {
      org_id: org.orgId,
      granted_usd: formatUsd(amountMicroUsd),
      balance_usd: formatUsd(outcome.balanceMicroUsd),
      created: outcome.created,
      ...(isTrial ? { trial: true } : {}),
    },
    text: outcome.created ? `${granted}; ${balance}` : `${ref} was granted before; ${balance}`,
  };
}
