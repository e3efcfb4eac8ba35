import { useMemo } from "react";

import type { ProviderFigures } from "../../api/contract.ts";
import { useAnswer, useSession } from "../../api/use-answer.ts";
import { indexServedModels, type ServedModels } from "./served.ts";

export interface ServedFor {
  readonly of: ServedModels;
  /** By provider ID. */
  readonly providers: ReadonlyMap<string, ProviderFigures>;
  readonly whose: "all customers" | "your own calls";
}

/**
 * Measured speed and reliability of all customers' calls if the operator publishes them, otherwise
 * of the organization's own calls. Undefined if there are no figures.
 */
export function useServed(): ServedFor | undefined {
  const isSignedIn = useIsSignedIn();
  const shared = useAnswer("GET /api/listing-figures.json", { query: {} }).data;
  const hasShared = (shared?.listings ?? []).length > 0;
  const options = { enabled: isSignedIn && shared !== undefined && !hasShared };
  const own = useAnswer("GET /api/console/listing-figures", { query: {} }, options).data;
  return useMemo(() => {
    const known = hasShared ? shared : own;
    if (known === undefined || known.listings.length === 0) return undefined;
    return {
      of: indexServedModels(known.listings),
      providers: new Map(known.providers.map((each) => [each.provider, each])),
      whose: hasShared ? "all customers" : "your own calls",
    };
  }, [hasShared, shared, own]);
}

export function useIsSignedIn(): boolean {
  return useSession().state === "signed_in";
}
