import { useEffect, useState } from "react";

import type { ReceivedInvitation } from "../../../../src/account/console-api/contract.ts";
import { ApiFault, call } from "../../api/client.ts";
import { forgetInvitation } from "./invitation-token.ts";

export interface FoundInvitation {
  readonly invitation?: ReceivedInvitation;
  readonly fault?: unknown;
}

/** The invitation of a link. Not cached like other answers, because the cache key has the token. */
export function useFoundInvitation(token: string): FoundInvitation {
  const [found, setFound] = useState<FoundInvitation>({});
  useEffect(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    call("POST /api/console/received-invitations/find", { body: { token }, signal }).then(
      (invitation) => setFound({ invitation }),
      (fault: unknown) => {
        if (signal.aborted) return;
        if (fault instanceof ApiFault && fault.status === 410) forgetInvitation();
        setFound({ fault });
      },
    );
    return () => stopping.abort();
  }, [token]);
  return found;
}
