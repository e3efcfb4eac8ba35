import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { ApiFault, call } from "../../api/client.ts";
import { refreshAnswers } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { keptKey, type KeptKey } from "../../app/kept-key.ts";

export type FirstKey =
  | { readonly state: "asking" }
  | { readonly state: "none"; readonly make: () => Promise<void> }
  | { readonly state: "shown"; readonly secret: string; readonly save: () => Promise<void> }
  | { readonly state: "saved"; readonly secret: string }
  | { readonly state: "failed"; readonly error: unknown; readonly retry: () => void };

/** The key on the welcome page: the trial key, requested when the page opens, or a new key. */
export function useFirstKey(): FirstKey {
  const { has_reveal: hasReveal, org } = useSession();
  const orgId = org?.org_id ?? "";
  const [error, setError] = useState<unknown>();
  const [key, setKey] = useState<KeptKey | undefined>(keptKey.of(orgId));
  const [isGone, setGone] = useState(false);
  const wasAsked = useRef(false);
  const client = useQueryClient();

  function keep(of: Omit<KeptKey, "orgId">): void {
    const next = { ...of, orgId };
    keptKey.keep(next);
    setKey(next);
  }
  async function ask(): Promise<void> {
    setError(undefined);
    try {
      const { key: secret } = await call("POST /api/console/reveal");
      keep({ secret, isSaved: false, isTrial: true });
      void refreshAnswers(client, ["GET /api/console/keys"]);
    } catch (fault) {
      if (fault instanceof ApiFault && fault.status === 410) setGone(true);
      else setError(fault);
    }
  }
  async function make(): Promise<void> {
    const { secret } = await call("POST /api/console/keys", { body: { name: FIRST_NAME } });
    keep({ secret, isSaved: false, isTrial: false });
    await refreshAnswers(client, ["GET /api/console/keys", "GET /api/console/overview"]);
  }
  async function save({ secret, isTrial }: KeptKey): Promise<void> {
    if (isTrial) await call("POST /api/console/reveal/saved");
    keep({ secret, isTrial, isSaved: true });
    if (isTrial) await refreshAnswers(client, []);
  }
  const isDue = hasReveal && key === undefined && !isGone;
  useEffect(() => {
    if (!isDue || wasAsked.current) return;
    wasAsked.current = true;
    void ask();
  });

  if (key !== undefined) {
    const { secret } = key;
    return key.isSaved
      ? { state: "saved", secret }
      : { state: "shown", secret, save: () => save(key) };
  }
  if (error !== undefined) return { state: "failed", error, retry: () => void ask() };
  return isDue ? { state: "asking" } : { state: "none", make };
}

const FIRST_NAME = "first key";
