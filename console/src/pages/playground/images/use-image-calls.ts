import { useCallback, useEffect, useState } from "react";

import { BrowserShelf } from "../browser-store.ts";
import type { Picture } from "./image-answer.ts";

/** Pictures are large: so many calls are shown and kept, the newest first. */
export const CALLS_MAX = 12;
export const MEGABYTES_MAX = 48;

/** What one request made. */
export interface ImageCall {
  readonly id: string;
  readonly orgId: string;
  readonly updatedAtMs: number;
  readonly prompt: string;
  readonly modelName: string;
  readonly pictures: readonly Picture[];
  readonly costUsd: string | undefined;
  readonly provider: string | undefined;
  readonly requestId: string | undefined;
}

const shelf = new BrowserShelf<ImageCall>("images", {
  count: CALLS_MAX,
  chars: {
    max: MEGABYTES_MAX * 1_000_000,
    of: ({ pictures }) => pictures.reduce((sum, { dataUrl }) => sum + dataUrl.length, 0),
  },
});

export interface ImageCalls {
  readonly calls: readonly ImageCall[];
  readonly add: (call: Omit<ImageCall, "id" | "orgId" | "updatedAtMs">) => void;
  /** False: this browser could not keep what was made last. */
  readonly isSaved: boolean;
}

/** The pictures of this browser, also after a reload. */
export function useImageCalls(orgId: string): ImageCalls {
  const [calls, setCalls] = useState<readonly ImageCall[]>([]);
  const [isSaved, setSaved] = useState(true);
  useEffect(() => {
    void shelf
      .list(orgId)
      .then((kept) =>
        setCalls((made) =>
          [...made, ...kept.filter((each) => !made.some(({ id }) => id === each.id))].slice(
            0,
            CALLS_MAX,
          ),
        ),
      );
  }, [orgId]);
  const add = useCallback<ImageCalls["add"]>(
    (made) => {
      const call = { ...made, id: crypto.randomUUID(), orgId, updatedAtMs: Date.now() };
      setCalls((before) => [call, ...before].slice(0, CALLS_MAX));
      void shelf.keep(call).then(setSaved);
    },
    [orgId],
  );
  return { calls, add, isSaved };
}
