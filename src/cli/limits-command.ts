import type { Command } from "commander";

import type { AccountRules } from "../accounts/account-rules.ts";
import type { LimitChange, LimitTarget } from "../accounts/rules-store.ts";
import type { Backend } from "../app/open-backend.ts";
import { parseKeyId, type KeyId } from "../core/ids.ts";
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
  const limits = program.command("limits").description("what limits an organization");
  onStoredData(limits.command("contract"))
    .description("replace defaults by contract, within five seconds; what you do not name stays")
    .requiredOption("--org <id>", "the organization, all keys together")
    .option("--keys", "of each key instead: the most that any key of it may have")
    .option("--key <id>", "of this key instead: the most that it may have")
    .option(
      "--model <id>",
      "of this model alone: in the organization, or with --key under that key",
    )
    .option("--rpm <n>", "requests per minute, or none: the default again")
    .option("--tpm <n>", "tokens per minute, or none")
    .option("--concurrency <n>", "requests in flight, or none")
    .action(
      answering(context, (flags: Flags) => {
        const target = readTarget(flags);
        const change = readChange(flags);
        return withBackend(context, flags, (backend) =>
          setContract(backend, flags, { target, change }),
        );
      }),
    );
  onStoredData(limits.command("show"))
    .description("list the limits that a contract or the customer has set")
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
    throw new UsageFault("--keys stands alone: a limit of one key or model is named by that");
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
  return new UsageFault(`${keyId} is no key of ${orgId}; ${next}`);
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
  throw new UsageFault("say at least one of --rpm, --tpm and --concurrency, with a number or none");
}

async function setContract(
  { accountStore, rulesStore }: Backend,
  flags: Flags,
  { target, change }: { readonly target: LimitTarget; readonly change: LimitChange },
): Promise<CommandAnswer> {
  const org = await accountStore.findOrg(String(flags["org"]));
  if (org === undefined) throw noSuchOrg(String(flags["org"]));
  const stored = await rulesStore.changeLimit(org.orgId, target, change);
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

/** The same in words; those that are not set are left out. */
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
