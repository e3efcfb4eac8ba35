import type { Deployment } from "../../catalog/index.ts";
import {
  ABSENT,
  foldName,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  type Splice,
  textToken,
  tokenText,
} from "../../kernel/index.ts";
import type { RequestCodec } from "./contract.ts";
import { chatVocabulary, readName, word } from "./fields/chat-vocabulary.ts";
import { GATEWAY_FIELDS, upstreamControls } from "./fields/common-fields.ts";
import { type ChatCall, isUsual } from "./neutral/chat-call.ts";
import { headerName } from "./neutral/translation-issues.ts";
import { pricedNames } from "./price-guard.ts";

type Target = Pick<
  Deployment,
  "wire" | "wireProfile" | "fixedBody" | "supportedParameters" | "priority"
>;

/** Names of the effort. wire_b has it in `output_config`, and refuses it at the top of a body. */
const EFFORTS: ReadonlySet<string> = new Set(["effort", "reasoning_effort"]);

/** Top-level members that the gateway handles itself, so a listing need not declare them. */
const OWNED: ReadonlySet<string> = new Set([...GATEWAY_FIELDS, "system", "stream_options"]);

/** Other names by which a listing may declare a parameter, such as its name on the other wire. */
const ALSO_DECLARED: ReadonlyMap<string, readonly string[]> = new Map([
  ["stop", ["stop_sequences"]],
  ["stop_sequences", ["stop"]],
  ["output_config", ["reasoning_effort", "effort", "response_format"]],
  ["reasoning_effort", ["effort"]],
  ["functions", ["tools"]],
  ["function_call", ["tool_choice"]],
  ["top_logprobs", ["logprobs"]],
]);

/** Top-level fields that a deployment of the client's own wire does not get. */
export interface UndeclaredFields {
  readonly keys: readonly JsonNode[];
  /** Reported in `x-tm-dropped-params`. */
  readonly names: readonly string[];
}

const NOTHING: UndeclaredFields = { keys: [], names: [] };

export function undeclaredFields(doc: JsonDocument, target: Target): UndeclaredFields {
  const fixed = new Set(target.fixedBody?.map(({ name }) => foldName(name)));
  const drops = target.wireProfile?.dropsUndeclared === true;
  const renames = (target.wireProfile?.rename.size ?? 0) > 0;
  if (!drops && fixed.size === 0 && !renames) return NOTHING;
  const keys: JsonNode[] = [];
  const names: string[] = [];
  const taken = renames ? takenNames(doc, target) : undefined;
  for (const key of doc.keys(0)) {
    const name = readName(doc, key);
    if (OWNED.has(name)) continue;
    const isReplaced = fixed.has(foldName(name)) || taken?.has(name) === true;
    const isTaken = declares(target, name) && !(target.wire === "wire_b" && EFFORTS.has(name));
    if (!isReplaced && (!drops || isTaken)) continue;
    keys.push(key);
    // Fields that `pricedNames` lists are left out, because the price guard reports them.
    if (!isUsual(doc, name, doc.valueOf(key)) && !pricedNames.has(name)) names.push(name);
  }
  return { keys, names: names.slice(0, NAMES_MAX).map(headerName) };
}

const NAMES_MAX = 64;

function declares({ supportedParameters, wireProfile }: Target, name: string): boolean {
  if (supportedParameters.has(name)) return true;
  if (ALSO_DECLARED.get(name)?.some((each) => supportedParameters.has(each)) === true) return true;
  for (const [from, to] of wireProfile?.rename ?? []) {
    if (to === name && supportedParameters.has(from)) return true;
  }
  return false;
}

/** The new names of renamed members. A member that the client sent under one of them is dropped. */
function takenNames(doc: JsonDocument, target: Target): ReadonlySet<string> {
  const taken = new Set<string>();
  for (const key of doc.keys(0)) {
    const renamed = newName(target, readName(doc, key));
    if (renamed !== undefined) taken.add(renamed);
  }
  return taken;
}

function newName(target: Target, name: string): string | undefined {
  const renamed = target.wireProfile?.rename.get(name);
  return renamed !== undefined && declares(target, name) ? renamed : undefined;
}

const DEPENDED_ON: ReadonlySet<string> = new Set([
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "response_format",
  "thinking",
]);

export function neededField(doc: JsonDocument, target: Target): string | undefined {
  if (target.wireProfile?.dropsUndeclared !== true) return undefined;
  for (const key of doc.keys(0)) {
    const name = readName(doc, key);
    const isNeeded =
      DEPENDED_ON.has(name) || (name === "output_config" && hasFormat(doc, doc.valueOf(key)));
    if (!isNeeded || declares(target, name)) continue;
    if (!isUsual(doc, name, doc.valueOf(key))) return name;
  }
  return undefined;
}

function hasFormat(doc: JsonDocument, config: JsonNode): boolean {
  return doc.isObject(config) && doc.present(config, word.format) !== ABSENT;
}

/** `written` is the name of a fixed member that the wire has already written into the body. */
export function applyProfile(
  doc: JsonDocument,
  splice: Splice,
  target: Target,
  written?: string,
): void {
  const { wireProfile: profile, fixedBody = [] } = target;
  const kept = new Set(undeclaredFields(doc, target).keys);
  for (const key of kept) splice.removeKey(0, key);
  if (profile?.usageUnasked === true) splice.remove([word.stream_options]);
  if (profile !== undefined && (profile.rename.size > 0 || profile.values.size > 0)) {
    for (const key of doc.keys(0)) {
      const name = readName(doc, key);
      if (kept.has(key) || OWNED.has(name)) continue;
      const renamed = newName(target, name);
      if (renamed !== undefined) splice.replace(key, textToken(renamed));
      const value = doc.valueOf(key);
      const words = profile.values.get(name);
      const changed =
        words !== undefined && doc.isString(value) ? words.get(doc.text(value)) : undefined;
      if (changed !== undefined) splice.replace(value, textToken(changed));
    }
  }
  for (const { name, json } of fixedBody) {
    if (name !== written) splice.insert(name, json as JsonText);
  }
}

export function profiledMembers(
  members: Readonly<Record<string, string | undefined>>,
  target: Target,
): Readonly<Record<string, string | undefined>> {
  const { wireProfile: profile, fixedBody = [] } = target;
  if (profile === undefined && fixedBody.length === 0) return members;
  const taken: Record<string, string | undefined> = {};
  for (const [name, token] of Object.entries(members)) {
    if (token === undefined) continue;
    const isOwned = OWNED.has(name);
    if (name === "stream_options" && profile?.usageUnasked === true) continue;
    if (!isOwned && profile?.dropsUndeclared === true && !declares(target, name)) continue;
    const words = isOwned || !token.startsWith('"') ? undefined : profile?.values.get(name);
    const changed = words?.get(tokenText(token as JsonText));
    taken[newName(target, name) ?? name] = changed === undefined ? token : textToken(changed);
  }
  for (const { name, json } of fixedBody) {
    // `aggregatorControls` has already merged the fixed `provider` into one that is present.
    if (name !== "provider" || taken[name] === undefined) taken[name] = json;
  }
  return taken;
}

/** Parameters of a translated call that the deployment does not get, by the client's names. */
export function lostParameters(
  call: ChatCall,
  doc: JsonDocument,
  target: Target,
  codec: RequestCodec,
): readonly string[] {
  const fixed = new Set(target.fixedBody?.map(({ name }) => name));
  const drops = target.wireProfile?.dropsUndeclared === true;
  const { userField, parallelField } = codec;
  const isOneCall = !call.parallelTools && call.tools.length > 0;
  const sent: readonly (readonly [string, boolean, readonly string[]])[] = [
    ["temperature", call.temperature !== undefined, ["temperature"]],
    ["top_p", call.topP !== undefined, ["top_p"]],
    ["stop", call.stops.length > 0, ["stop", "stop_sequences"]],
    [userField, call.userId !== undefined, ["user", "safety_identifier", "metadata"]],
    [parallelField, isOneCall, ["parallel_tool_calls", "tool_choice"]],
  ];
  return sent.flatMap(([name, isSent, names]) => {
    if (!isSent || (!fixed.has(name) && !(drops && !declares(target, name)))) return [];
    const findNode = (each: string): JsonNode => doc.present(0, chatVocabulary.findId(each));
    const sentAs = names.filter((each) => findNode(each) !== ABSENT);
    if (sentAs.length === 0) return [name];
    return sentAs.filter((each) => !isUsual(doc, each, findNode(each))).slice(0, 1);
  });
}

/** The `provider` object for an aggregator. The listing's fixed members replace the client's. */
export function aggregatorControls(
  doc: JsonDocument,
  target: Pick<Deployment, "priority" | "fixedBody">,
): JsonText | undefined {
  const sent = upstreamControls(doc, target);
  const fixed = target.fixedBody?.find(({ name }) => name === "provider");
  if (fixed === undefined) return sent;
  if (sent === undefined) return fixed.json as JsonText;
  const own = JSON.parse(Buffer.from(sent, "latin1").toString()) as object;
  // A flat merge is enough, because the client's controls are a closed and flat set.
  const merged = { ...own, ...(JSON.parse(fixed.json) as object) };
  return Buffer.from(JSON.stringify(merged)).toString("latin1") as JsonText;
}
