import { useRef, useState } from "react";

import { ApiFault } from "../../api/client.ts";

/** The state of a form's own request. */
export interface Submission {
  readonly isBusy: boolean;
  /** Why the last submission was refused; undefined while it is sent again. */
  readonly fault: ApiFault | undefined;
  /** What was refused is being changed: the refusal is of an earlier text. */
  forget(): void;
  /** Runs the sending; a second one while the first is under way does nothing. */
  run(send: () => Promise<void>): void;
}

/**
 * The sending of a form. What is sent and answered is kept nowhere: secrets pass through forms,
 * and a cache of requests would hold them for minutes.
 */
export function useSubmission(): Submission {
  const [fault, setFault] = useState<ApiFault>();
  const [isBusy, setIsBusy] = useState(false);
  const isRunning = useRef(false);
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
        .catch((error: unknown) => setFault(toApiFault(error)))
        .finally(() => {
          isRunning.current = false;
          setIsBusy(false);
        });
    },
  };
}

/** The change stops requests at once: the same again, confirmed, makes it. */
export function isConfirmNeeded(fault: ApiFault | undefined): boolean {
  return fault?.code === "confirm_needed";
}

/** Anything else is a fault of this page: its own message would not help a reader. */
function toApiFault(error: unknown): ApiFault {
  return error instanceof ApiFault ? error : new ApiFault(0, undefined);
}
