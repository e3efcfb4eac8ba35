import type { Command } from "commander";

import { formatUsd, instant, parseUsd } from "../core/index.ts";
import { UsageFault } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import {
  addStoredCommands,
  knownOrg,
  option,
  required,
  type StoredCommand,
} from "./stored-command.ts";

/** `credit grant`, `credit ledger` */
export function addCreditCommand(program: Command, context: CommandContext): void {
  const credit = program.command("credit").description("grant credit and show wallets");
  addStoredCommands(credit, context, [GRANT, LEDGER]);
}

const GRANT: StoredCommand = {
  usage: "grant",
  summary: "grant credit to an organization, once per reference",
  options: [
    required("--org <id>", "the organization"),
    required("--usd <amount>", "dollars above 0, at most six decimals"),
    required(
      "--ref <reference>",
      "identifies this grant permanently; granting it again changes nothing",
    ),
    option(
      "--trial",
      "free trial credit: unusual use is monitored until the organization buys credit",
    ),
  ],
  read: (flags) => async (backend, by) => {
    const amountMicroUsd = parseUsd(String(flags["usd"]));
    if (amountMicroUsd === undefined || amountMicroUsd <= 0n) {
      throw new UsageFault(`--usd must be dollars above 0 such as 25.00`);
    }
    const { orgId } = await knownOrg(backend, flags["org"]);
    const ref = String(flags["ref"]);
    const isTrial = flags["trial"] === true;
    const outcome = await backend.creditStore.grant({ orgId, amountMicroUsd, ref, isTrial }, by);
    const granted = `granted $${formatUsd(amountMicroUsd)}${isTrial ? " to try the service" : ""}`;
    const balance = `balance $${formatUsd(outcome.balanceMicroUsd)}`;
    return {
      json: {
        org_id: orgId,
        granted_usd: formatUsd(amountMicroUsd),
        balance_usd: formatUsd(outcome.balanceMicroUsd),
        created: outcome.created,
        ...(isTrial ? { trial: true } : {}),
      },
      text: outcome.created ? `${granted}; ${balance}` : `${ref} was granted before; ${balance}`,
    };
  },
};

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
    const balance = formatUsd(org.balanceMicroUsd);
    const held = formatUsd(org.heldMicroUsd);
    return {
      json: { org_id: org.orgId, balance_usd: balance, held_usd: held, entries },
      text: [
        `balance $${balance}, held $${held}`,
        ...entries.map((each) => `${each.at}  ${each.amount_usd}  ${each.kind}  ${each.ref}`),
      ].join("\n"),
    };
  },
};
