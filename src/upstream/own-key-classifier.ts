import type { Deployment } from "../catalog/index.ts";
import type { UpstreamFailure } from "../formats/index.ts";
import type { AttemptClassifier } from "./run-attempt.ts";

/**
 * The same failures, reported to the owner of the key that was sent: an account that the provider
 * refuses is the caller's own here, and only the caller can mend it.
 */
export function ownKeyClassifier(
  classifier: AttemptClassifier,
  deployment: Pick<Deployment, "ownKey">,
): AttemptClassifier {
  if (deployment.ownKey === undefined) return classifier;
  return { ...classifier, answer: (failed) => toOwner(classifier.answer(failed)) };
}

function toOwner(failure: UpstreamFailure): UpstreamFailure {
  const { refusal } = failure;
  if (refusal.class !== "auth") return failure;
  const message =
    `the provider refused your organization's own key with status ${refusal.status}; ` +
    `check its connection, or set provider.connections to "never" in the meantime`;
  return { ...failure, refusal: { ...refusal, message } };
}
