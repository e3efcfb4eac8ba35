import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { readGuideCall, rewritten, withModel, type GuideCall } from "./guide-call.ts";
import type { Block } from "./markdown-blocks.ts";

export type Modality = "text" | "image" | "video" | "decisions";

const MODALITIES: Readonly<Record<string, Modality>> = {
  images: "image",
  videos: "video",
  decisions: "decisions",
};

/** The call of a block of code; undefined if it cannot be made from a page. */
export function readCall(block: Block): GuideCall | undefined {
  if (block.kind !== "code") return undefined;
  const curl = block.tabs.find(({ label }) => label === "curl");
  return curl === undefined ? undefined : readGuideCall(curl.code);
}

/** The model that a guide is written for, and what models could take its place. */
export function modelOfGuide(
  blocks: readonly Block[],
): { readonly modelId: string; readonly modality: Modality } | undefined {
  for (const block of blocks) {
    const call = readCall(block);
    // A model that is not listed is an example of a refusal.
    if (call?.modelId === undefined || call.modelId.startsWith("no/")) continue;
    const modality = MODALITIES[call.quotedAs ?? ""] ?? "text";
    return { modelId: call.modelId, modality };
  }
  return undefined;
}

export interface GuideChoice {
  /** Undefined to keep the guide's own model. */
  readonly model: { readonly from: string; readonly to: string } | undefined;
  /** A key that was pasted; empty: the environment variable. */
  readonly rawKey: string;
}

export interface ChosenBlock {
  readonly block: Block;
  readonly call: GuideCall | undefined;
}

/** The guide with the reader's choices in its code. A raw key is only inserted into shell code. */
export function chosenBlocks(
  blocks: readonly Block[],
  { model, rawKey }: GuideChoice,
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

/** True for a text that can be a key: a shell reads it as one word. */
export function isRawKey(text: string): boolean {
  return /^tm_vk_[A-Za-z0-9_-]{8,200}$/.test(text);
}
