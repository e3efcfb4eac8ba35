import type { Command } from "commander";

import type { AccountRules, LimitChange, LimitTarget } from "../accounts/index.ts";
import { type KeyId, parseKeyId } from "../core/index.ts";
import { UsageFault, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { LIMIT_RANGE, readWholeOrNone } from "./number-flags.ts";
import {
  addStoredCommands,
  knownOrg,
  option,
  required,
  type StoredCommand,
} from "./stored-command.ts";

/** `limits contract`, `limits show` */
export function addLimitsCommand(program: Command, context: CommandContext): void {
  const limits = program
    .command("limits")
    .description("set and show the limits of an organization");
  addStoredCommands(limits, context, [CONTRACT, SHOW]);
}

const CONTRACT: StoredCommand = {
  usage: "contract",
  summary:
    "set contract limits in place of the defaults, within five seconds; limits not named do not change",
  options: [
    required("--org <id>", "the organization: all its keys together"),
    option("--keys", "limit each key of the organization instead"),
    option("--key <id>", "limit this key instead"),
    option(
      "--model <id>",
      "limit this model only: in the organization, or with --key for that key",
    ),
    option("--rpm <n>", "requests per minute, or none for the default"),
    option("--tpm <n>", "tokens per minute, or none for the default"),
    option("--concurrency <n>", "requests in flight, or none for the default"),
  ],
  read: (flags) => {
    const target = readTarget(flags);
    const change = readChange(flags);
    return async (backend, by) => {
      const { orgId } = await knownOrg(backend, flags["org"]);
      const stored = await backend.rulesStore.changeLimit(orgId, target, change, by);
      if (stored === undefined) throw noSuchKey(String(flags["key"]), orgId);
      return { json: { org_id: orgId, ...shown(stored) }, text: line(stored) };
    };
  },
};

const SHOW: StoredCommand = {
  usage: "show",
  summary: "list the limits set by contract or by the customer",
  options: [required("--org <id>", "the organization")],
  read: (flags) => async (backend) => {
    const { orgId } = await knownOrg(backend, flags["org"]);
    const limits = await backend.rulesStore.listLimits(orgId);
    return {
      json: { org_id: orgId, limits: limits.map(shown) },
      text: limits.map(line).join("\n") || `${orgId} has the default limits`,
    };
  },
};

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
