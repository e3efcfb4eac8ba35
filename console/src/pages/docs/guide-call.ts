import type { Model } from "../../api/contract.ts";
import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import type { Block } from "./markdown-blocks.ts";
import { parseJson, text } from "../playground/gateway.ts";

export interface GuideCall {
  readonly method: "GET" | "POST";
  /** Below `/v1`, with its query. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The model that the call's body or query names; undefined if it names none. */
  readonly modelId: string | undefined;
  /** The `for` of `POST /v1/route?for=`, which quotes the call; undefined if the call is free. */
  readonly quotedAs: string | undefined;
}

const QUOTED: Readonly<Record<string, string>> = {
  "/chat/completions": "chat",
  "/messages": "messages",
  "/images/generations": "images",
  "/videos": "videos",
  "/decisions": "decisions",
};

/**
 * Parses a guide's curl command. Undefined if it is not exactly one request to the gateway, if its
 * path has a shell variable, or if its body is not a JSON object.
 */
export function readGuideCall(code: string): GuideCall | undefined {
  if (code.split(/\bcurl\b/).length !== 2) return undefined;
  const path = /"?https?:\/\/[^/\s"]+\/v1(\/[^\s"\\]*)"?/.exec(code)?.[1];
  if (path === undefined || path.includes("$")) return undefined;
  const sent = /-d '([\s\S]*?)'/.exec(code)?.[1];
  if (sent === undefined) {
    const modelId = new URLSearchParams(path.split("?")[1] ?? "").get("model") ?? undefined;
    return { method: "GET", path, modelId, quotedAs: undefined };
  }
  const body = parseObject(sent);
  if (body === undefined) return undefined;
  return { method: "POST", path, body, modelId: text(body["model"]), quotedAs: QUOTED[path] };
}

interface Replacement {
  readonly from: string;
  readonly to: string;
}

export function rewritten(
  code: string,
  { model }: { readonly model: Replacement | undefined },
): string {
  return model === undefined ? code : code.replaceAll(model.from, model.to);
}

export function withModel(call: GuideCall, modelId: string): GuideCall {
  if (call.modelId === undefined) return call;
  if (call.body !== undefined) return { ...call, modelId, body: { ...call.body, model: modelId } };
  const [path = "", query = ""] = call.path.split("?");
  const search = new URLSearchParams(query);
  search.set("model", modelId);
  return { ...call, modelId, path: `${path}?${search.toString()}` };
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(json);
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

const MODALITIES: Readonly<Record<string, Model["modality"]>> = {
  images: "image",
  videos: "video",
  decisions: "decisions",
};

/** Undefined if the page cannot run the block. */
function readCall(block: Block): GuideCall | undefined {
  if (block.kind !== "code") return undefined;
  const curl = block.tabs.find(({ label }) => label === "curl");
  return curl === undefined ? undefined : readGuideCall(curl.code);
}

/** Finds the model of a guide's first call, and the modality that a replacement must have. */
export function modelOfGuide(
  blocks: readonly Block[],
): { readonly modelId: string; readonly modality: Model["modality"] } | undefined {
  for (const block of blocks) {
    const call = readCall(block);
    // The guides use `no/…` as the example of a model that the gateway refuses.
    if (call?.modelId === undefined || call.modelId.startsWith("no/")) continue;
    return { modelId: call.modelId, modality: MODALITIES[call.quotedAs ?? ""] ?? "text" };
  }
  return undefined;
}

export interface ChosenBlock {
  readonly block: Block;
  readonly call: GuideCall | undefined;
}

/**
 * Puts the reader's choices into the guide's code. `model` replaces the guide's model; undefined
 * keeps it. `rawKey` goes into shell code only; if it is empty, the code shows an environment
 * variable.
 */
export function chosenBlocks(
  blocks: readonly Block[],
  { model, rawKey }: { readonly model: Replacement | undefined; readonly rawKey: string },
): readonly ChosenBlock[] {
  return blocks.map((block) => {
    if (block.kind !== "code") return { block, call: undefined };
    const call = readCall(block);
    const tabs = block.tabs.map(({ label, code }) => {
      const shown = rewritten(code, { model });
      const isShell = label === "curl" || label === "Shell";
      return { label, code: isShell && rawKey !== "" ? withKey(shown, rawKey) : shown };
    });
    const isOther = model !== undefined && call?.modelId === model.from;
    return {
      block: { kind: "code", tabs },
      call: call !== undefined && isOther ? withModel(call, model.to) : call,
    };
  });
}

function withKey(code: string, rawKey: string): string {
  return code.replaceAll(`$${KEY_VARIABLE}`, rawKey).replaceAll("tm_vk_YOUR_KEY", rawKey);
}

/** Only a raw key may go into shell code: it has no character that a shell interprets. */
export function isRawKey(typed: string): boolean {
  return /^tm_vk_[A-Za-z0-9_-]{8,200}$/.test(typed);
}
