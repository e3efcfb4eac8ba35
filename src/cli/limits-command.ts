import type { Command } from "commander";

import type { AccountRules, LimitChange, LimitTarget } from "../accounts/index.ts";
import type { Backend } from "../app/index.ts";
import type { ChangedBy } from "../changes/index.ts";
import { type KeyId, parseKeyId } from "../core/index.ts";
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
import { LIMIT_RANGE, readWholeOrNone } from "./number-flags.ts";

/** `limits contract`, `limits show` */
export function addLimitsCommand(program: Command, context: CommandContext): void {
  const limits = program
    .command("limits")
    .description("set and show the limits of an organization");
  onStoredData(limits.command("contract"))
    .description(
      "set contract limits in place of the defaults, within five seconds; limits not named do not change",
    )
    .requiredOption("--org <id>", "the organization: all its keys together")
    .option("--keys", "limit each key of the organization instead")
    .option("--key <id>", "limit this key instead")
    .option(
      "--model <id>",
      "limit this model only: in the organization, or with --key for that key",
    )
    .option("--rpm <n>", "requests per minute, or none for the default")
    .option("--tpm <n>", "tokens per minute, or none for the default")
    .option("--concurrency <n>", "requests in flight, or none for the default")
    .action(
      answering(context, (flags: Flags) => {
        const target = readTarget(flags);
        const change = readChange(flags);
        return withBackend(context, flags, (backend, by) =>
          setContract(backend, flags, { target, change, by }),
        );
      }),
    );
  onStoredData(limits.command("show"))
    .description("list the limits set by contract or by the customer")
    .requiredOption("--org <id>", "the organization")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => show(backend, flags)),
      ),
    );
}

function readTarget(flags: Flags): LimitTarget {
  const { keys, key, model } = flags;
  if (keys === true && (key !== undefined || model !== undefined)) {
    throw new UsageFault("--keys cannot be combined with --key or --model; remove one of them");
  }
  const keyId = key === undefined ? {} : { keyId: readKeyId(flags) };
  if (model !== undefined) {
    return { source: "contract", scope: "model", ...keyId, modelId: readModel(String(model)) };
  }
  return {
    source: "contract",
    scope: keys === true || key !== undefined ? "key" : "org",
    ...keyId,
  };
}

function readKeyId({ org, key }: Flags): KeyId {
  const keyId = parseKeyId(String(key));
  if (keyId === undefined) throw noSuchKey(String(key), String(org));
  return keyId;
}

function noSuchKey(keyId: string, orgId: string): UsageFault {
  const next = `\`tokenmarket key list --org ${orgId}\` has the ids`;
  return new UsageFault(`${keyId} is not a key of ${orgId}; ${next}`);
}

function readModel(model: string): string {
  if (model.trim() !== "") return model;
  throw new UsageFault("--model must be a model id such as acme/large");
}

function readChange(flags: Flags): LimitChange {
  const requestsPerMinute = readWholeOrNone(flags, "rpm", LIMIT_RANGE);
  const tokensPerMinute = readWholeOrNone(flags, "tpm", LIMIT_RANGE);
  const concurrent = readWholeOrNone(flags, "concurrency", LIMIT_RANGE);
  const change: LimitChange = {
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(concurrent === undefined ? {} : { concurrent }),
  };
  if (Object.keys(change).length > 0) return change;
  throw new UsageFault(
    "specify at least one of --rpm, --tpm and --concurrency, with a number or none",
  );
}

async function setContract(
  { accountStore, rulesStore }: Backend,
  flags: Flags,
  {
    target,
    change,
    by,
  }: { readonly target: LimitTarget; readonly change: LimitChange; readonly by: ChangedBy },
): Promise<CommandAnswer> {
  const org = await accountStore.findOrg(String(flags["org"]));
  if (org === undefined) throw noSuchOrg(String(flags["org"]));
  const stored = await rulesStore.changeLimit(org.orgId, target, change, by);
  if (stored === undefined) throw noSuchKey(String(flags["key"]), org.orgId);
  return { json: { org_id: org.orgId, ...shown(stored) }, text: line(stored) };
}

async function show({ accountStore, rulesStore }: Backend, flags: Flags): Promise<CommandAnswer> {
  const org = await accountStore.findOrg(String(flags["org"]));
  if (org === undefined) throw noSuchOrg(String(flags["org"]));
  const limits = await rulesStore.listLimits(org.orgId);
  return {
    json: { org_id: org.orgId, limits: limits.map(shown) },
    text: limits.map(line).join("\n") || `${org.orgId} has the default limits`,
  };
}

type StoredLimit = AccountRules["limits"][number];
type LimitValues = Pick<StoredLimit, "requestsPerMinute" | "tokensPerMinute" | "concurrent">;

function shown(limit: StoredLimit): object {
  return {
    source: limit.source,
    scope: limit.scope,
    key_id: limit.keyId ?? null,
    model: limit.modelId ?? null,
    ...shownValues(limit),
  };
}

/** The three values that every limit may have, as commands print them: null is not set. */
export function shownValues(limits: LimitValues): object {
  return {
    rpm: limits.requestsPerMinute ?? null,
    tpm: limits.tokensPerMinute ?? null,
    concurrency: limits.concurrent ?? null,
  };
}

/** The same as a text; those that are not set are left out. */
export function valueLabel(limits: LimitValues): readonly string[] {
  const { requestsPerMinute, tokensPerMinute, concurrent } = limits;
  return [
    ...(requestsPerMinute === undefined ? [] : [`${requestsPerMinute} rpm`]),
    ...(tokensPerMinute === undefined ? [] : [`${tokensPerMinute} tpm`]),
    ...(concurrent === undefined ? [] : [`${concurrent} in flight`]),
  ];
}

function line(limit: StoredLimit): string {
  const text = valueLabel(limit).join(", ") || "the default again";
  return `${limit.source.padEnd("contract".length)}  ${whatIsLimited(limit)}  ${text}`;
}

function whatIsLimited({ scope, keyId, modelId }: StoredLimit): string {
  if (modelId !== undefined) return keyId === undefined ? modelId : `${modelId} under ${keyId}`;
  if (scope === "org") return "organization";
  return keyId ?? "every key";
}
