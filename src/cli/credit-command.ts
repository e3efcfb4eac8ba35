import type { Command } from "commander";

import { formatUsd, instant } from "../kernel/index.ts";
import type { CommandContext } from "./command-io.ts";
import { addOperations } from "./operation-command.ts";
import { addStoredCommands, knownOrg, required, type StoredCommand } from "./stored-command.ts";

/** `credit grant`, `credit ledger` */
export function addCreditCommand(program: Command, context: CommandContext): void {
  const credit = program.command("credit").description("grant credit and show wallets");
  addOperations(credit, context);
  addStoredCommands(credit, context, [LEDGER]);
}

const LEDGER: StoredCommand = {
  usage: "ledger",
  summary: "show balance, holds and the newest entries of an organization's wallet",
  options: [required("--org <id>", "the organization")],
  read: (flags) => async (backend) => {
    const org = await knownOrg(backend, flags["org"]);
    const entries = (await backend.creditStore.ledgerEntries(org.orgId)).map((entry) => ({
      at: instant(entry.atMs),
      kind: entry.kind,
      ref: entry.ref,
      detail: entry.detail,
      amount_usd: formatUsd(entry.amountMicroUsd),
    }));
    return {
      json: {
        org_id: org.orgId,
        balance_usd: formatUsd(org.balanceMicroUsd),
        held_usd: formatUsd(org.heldMicroUsd),
        entries,
      },
    };
  },
};
