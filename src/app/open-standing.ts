import { type CallPorts, Conduct, Verification, type VerdictStore } from "../gateway/index.ts";
import type { Config, Clock, Logger } from "../kernel/index.ts";
import type { DisposalStack } from "./disposal-stack.ts";

/** What is known of listings, and how calls ask for it. */
export interface Standing {
  readonly verification: Verification;
  readonly standing: CallPorts["standing"];
}

interface StandingOptions {
  readonly config: Pick<Config, "requireVerified" | "liveBadPercent" | "liveAnswersMin">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: { readonly verdictStore: VerdictStore };
}

/**
 * How far listings are trusted: by the verdicts of conformance runs, and by what live answers show.
 * A listing that is found suspect is recorded for all processes; no call waits for that.
 */
export async function openStanding(
  { config, clock, log, backend: { verdictStore: store } }: StandingOptions,
  stack: DisposalStack,
): Promise<Standing> {
  const policy = {
    badPercent: config.liveBadPercent,
    answersMin: config.liveAnswersMin,
  };
  const conduct = new Conduct(policy, (listing, breaches) => {
    // Recorded already.
    if (verification.isSuspect(listing)) return;
    const detail = { provider: listing.providerId, model: listing.modelId, ...breaches };
    log.warn(detail, "live answers break what the listing promises: it is tried last");
    store.suspect(listing, breaches).then(
      () => verification.refresh(),
      (fault: unknown) => log.warn({ ...detail, err: fault }, "this could not be recorded"),
    );
  });
  const onCleared = (listingId: string): void => conduct.forget(listingId);
  const verification = stack.use(new Verification({ store, clock, log, onCleared }));
  await verification.start();
  const standing: CallPorts["standing"] = {
    mayRoute: (deployment) => !config.requireVerified || verification.isVerified(deployment),
    isSuspect: (deployment) => verification.isSuspect(deployment),
    note: (deployment, orgId, breaches) => conduct.note(deployment, orgId, breaches),
  };
  return { verification, standing };
}
