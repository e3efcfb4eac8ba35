import type { Deployment, ModalityId } from "../../../catalog/index.ts";
import type { CheckId, Finding } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";

/** May reject with `ProbeNotSent`; any other error is a bug of this program. */
type JudgeListing = (lab: Lab) => Promise<Finding>;

/** A promise of listings, and its checks. */
export interface Check {
  readonly id: CheckId;
  readonly title: string;
  /** The check for each modality. */
  readonly runs: Readonly<Partial<Record<ModalityId, JudgeListing>>>;
  /** Why listings of other modalities are not checked. */
  readonly otherwise?: string;
  /** Why a listing of a checked modality is not checked; undefined if it is. */
  readonly inapplicable?: (deployment: Deployment) => string | undefined;
}

/** Why a listing is not checked; undefined if it is. */
export function whyNotChecked(
  { runs, otherwise, inapplicable }: Check,
  deployment: Deployment,
): string | undefined {
  return runs[deployment.modality] === undefined ? otherwise : inapplicable?.(deployment);
}

/** Uses one check for all modalities. */
export function forAll(run: JudgeListing): Check["runs"] {
  return { text: run, image: run, video: run, decisions: run };
}
