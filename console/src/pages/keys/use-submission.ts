import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { ApiFault } from "../../api/client.ts";
import { isAnswerLost } from "../../api/use-answer.ts";

export interface Submission {
  readonly isBusy: boolean;
  /** The last refusal; undefined as soon as the form is sent again. */
  readonly fault: ApiFault | undefined;
  /** Drops the refusal after the form was changed. */
  forget(): void;
  /** Sends the form; does nothing while it is already being sent. */
  run(send: () => Promise<void>): void;
}

/**
 * Sends a form without React Query, because forms can contain secrets and React Query would keep
 * them in memory for minutes.
 */
export function useSubmission(): Submission {
  const [fault, setFault] = useState<ApiFault>();
  const [isBusy, setIsBusy] = useState(false);
  const isRunning = useRef(false);
  const client = useQueryClient();
  const fail = (error: unknown): void => {
    const failure = toApiFault(error);
    setFault(failure);
    // Shows behind the form whether the change was made, before it is sent once more.
    if (isAnswerLost(failure)) void client.invalidateQueries();
  };
  return {
    isBusy,
    fault,
    forget: () => setFault(undefined),
    run(send) {
      if (isRunning.current) return;
      isRunning.current = true;
      setIsBusy(true);
      setFault(undefined);
      void send()
        .catch(fail)
        .finally(() => {
          isRunning.current = false;
          setIsBusy(false);
        });
    },
  };
}

/**
 * True if the server refused a change that would stop requests at once. The form must send it again
 * with `confirm`.
 */
export function isConfirmNeeded(fault: ApiFault | undefined): boolean {
  return fault?.code === "confirm_needed";
}

/** Replaces an unexpected error of this page by a fault whose message helps the reader. */
function toApiFault(error: unknown): ApiFault {
  return error instanceof ApiFault ? error : new ApiFault(0, undefined);
}
