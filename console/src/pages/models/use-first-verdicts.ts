import type { ListingTrust, Model } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMaybeSession } from "../../api/use-session.ts";
import { overbilledWords, TRUST } from "../verification/verification-labels.ts";

/**
 * A label for the verification state of each model's first listing, for at most four models.
 * Undefined for visitors and while it loads.
 */
export function useFirstVerdicts(models: readonly Model[]): readonly (string | undefined)[] {
  const verdicts = [
    useVerdict(models[0]),
    useVerdict(models[1]),
    useVerdict(models[2]),
    useVerdict(models[3]),
  ];
  return verdicts.slice(0, models.length);
}

function useVerdict(model: Model | undefined): string | undefined {
  const isSignedIn = useMaybeSession()?.state === "signed_in";
  const listing = model?.providers[0];
  const query = { model: model?.id, provider: listing?.provider };
  const options = { enabled: isSignedIn && listing !== undefined };
  const { data } = useAnswer("GET /api/console/verification", { query }, options);
  const trust = data?.listings[0];
  return trust === undefined ? undefined : verdictWord(trust);
}

function verdictWord(trust: ListingTrust): string {
  const billing = overbilledWords(trust.overbilled_percent);
  const words = [TRUST[trust.state].word, ...(billing === undefined ? [] : [billing])].join(", ");
  return trust.suspect === null ? words : `${words}, but live answers break its promises`;
}
