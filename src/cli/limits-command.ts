import type { Command } from "commander";

import type { AccountRules } from "../gateway/index.ts";
import type { CommandContext } from "./command-io.ts";
import { addOperations } from "./operation-command.ts";
import { addStoredCommands, knownOrg, required, type StoredCommand } from "./stored-command.ts";

/** `limits contract`, `limits show` */
export function addLimitsCommand(program: Command, context: CommandContext): void {
  const limits = program
    .command("limits")
    .description("set and show the limits of an organization");
  addOperations(limits, context);
  addStoredCommands(limits, context, [SHOW]);
}

const SHOW: StoredCommand = {
  usage: "show",
  summary: "list the limits set by contract or by the customer",
  options: [required("--org <id>", "the organization")],
  read: (flags) => async (backend) => {
    const { orgId } = await knownOrg(backend, flags["org"]);
    const limits = await backend.rulesStore.listLimits(orgId);
    return {
      json: {
        org_id: orgId,
        limits: limits.map((limit) => ({
          source: limit.source,
          scope: limit.scope,
          key_id: limit.keyId ?? null,
          model: limit.modelId ?? null,
          ...shownValues(limit),
        })),
      },
    };
  },
};

type StoredLimit = AccountRules["limits"][number];

/** The three values that every limit may have, as commands print them: null is not set. */
export function shownValues(
  limits: Pick<StoredLimit, "requestsPerMinute" | "tokensPerMinute" | "concurrent">,
): object {
  return {
    rpm: limits.requestsPerMinute ?? null,
    tpm: limits.tokensPerMinute ?? null,
    concurrency: limits.concurrent ?? null,
  };
}
