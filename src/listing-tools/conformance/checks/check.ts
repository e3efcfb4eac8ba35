import type { Deployment, ModalityId } from "../../../catalog/index.ts";
import type { CheckId, Finding } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";

/** Rejects with `ProbeNotSent` if a probe is not sent; any other error is a bug of this program. */
type JudgeListing = (lab: Lab) => Promise<Finding>;

export interface Check {
  readonly id: CheckId;
  readonly title: string;
  /** Judges a listing, by its modality. A listing whose modality has no entry is not checked. */
  readonly runs: Readonly<Partial<Record<ModalityId, JudgeListing>>>;
  /** Why listings of a modality that `runs` lacks are not checked. */
  readonly otherwise?: string;
  /** Why this listing is not checked though `runs` has its modality; undefined if it is checked. */
  readonly inapplicable?: (deployment: Deployment) => string | undefined;
}

export function whyNotChecked(
  { runs, otherwise, inapplicable }: Check,
  deployment: Deployment,
): string | undefined {
  return runs[deployment.modality] === undefined ? otherwise : inapplicable?.(deployment);
}

export function forAll(run: JudgeListing): Check["runs"] {
  return { text: run, image: run, video: run, decisions: run };
}
