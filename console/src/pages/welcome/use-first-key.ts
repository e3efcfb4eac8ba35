import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import type { Reveal } from "../../../../src/account/console-api/contract.ts";
import { ApiFault, call } from "../../api/client.ts";
import { refreshAnswers } from "../../api/use-answer.ts";

export type FirstKey =
  | { readonly state: "asking" }
  | { readonly state: "none" }
  | { readonly state: "saved" }
  | { readonly state: "shown"; readonly reveal: Reveal; readonly onSaved: () => Promise<void> }
  | { readonly state: "failed"; readonly error: unknown; readonly retry: () => void };

/**
 * Asks for the key on arrival. It is held by this component and nothing else: no cache, no storage, no
 * address. Until its owner says that it is saved, the server can show it again to this browser.
 */
export function useFirstKey(hasReveal: boolean): FirstKey {
  const [firstKey, setFirstKey] = useState<FirstKey>({ state: hasReveal ? "asking" : "none" });
  const wasAsked = useRef(false);
  const client = useQueryClient();
  useEffect(() => {
    async function end(): Promise<void> {
      await call("POST /api/console/reveal/saved");
      setFirstKey({ state: "saved" });
      await refreshAnswers(client, []);
    }
    async function ask(): Promise<void> {
      try {
        const reveal = await call("POST /api/console/reveal");
        setFirstKey({ state: "shown", reveal, onSaved: end });
        void refreshAnswers(client, ["GET /api/console/keys"]);
      } catch (error) {
        const isGone = error instanceof ApiFault && error.status === 410;
        setFirstKey(
          isGone ? { state: "none" } : { state: "failed", error, retry: () => void ask() },
        );
      }
    }
    if (!hasReveal || wasAsked.current) return;
    wasAsked.current = true;
    void ask();
  }, [hasReveal, client]);
  return firstKey;
}
