import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { readGuideCall, rewritten, withModel, type GuideCall } from "./guide-call.ts";
import type { Block } from "./markdown-blocks.ts";

export type Modality = "text" | "image" | "video" | "decisions";

const MODALITIES: Readonly<Record<string, Modality>> = {
  images: "image",
  videos: "video",
  decisions: "decisions",
};

/** Reads the call in a block of code. Undefined if the page cannot run it. */
export function readCall(block: Block): GuideCall | undefined {
  if (block.kind !== "code") return undefined;
  const curl = block.tabs.find(({ label }) => label === "curl");
  return curl === undefined ? undefined : readGuideCall(curl.code);
}

/** Finds the model of a guide's first call, and the modality that a replacement must have. */
export function modelOfGuide(
  blocks: readonly Block[],
): { readonly modelId: string; readonly modality: Modality } | undefined {
  for (const block of blocks) {
    const call = readCall(block);
    // The guides use `no/…` as the example of a model that the gateway refuses.
    if (call?.modelId === undefined || call.modelId.startsWith("no/")) continue;
    const modality = MODALITIES[call.quotedAs ?? ""] ?? "text";
    return { modelId: call.modelId, modality };
  }
  return undefined;
}

export interface GuideChoice {
  /** The replacement of the guide's model. Undefined keeps the model that the guide names. */
  readonly model: { readonly from: string; readonly to: string } | undefined;
  /** Raw key that the reader pasted. If empty, the code shows an environment variable instead. */
  readonly rawKey: string;
}

export interface ChosenBlock {
  readonly block: Block;
  readonly call: GuideCall | undefined;
}

/** Puts the reader's choices into the guide's code. A raw key goes into shell code only. */
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

/**
 * True if the text is a raw key. Only such a text may go into shell code: it has no character that
 * a shell interprets.
 */
export function isRawKey(text: string): boolean {
  return /^tm_vk_[A-Za-z0-9_-]{8,200}$/.test(text);
}
