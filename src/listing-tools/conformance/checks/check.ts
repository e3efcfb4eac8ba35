import type { Deployment, ModalityId } from "../../../catalog/index.ts";
import type { CheckId, Finding } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";

/** May reject with `ProbeNotSent`; any other error is a bug of ours. */
type JudgeListing = (lab: Lab) => Promise<Finding>;

/** One promise of a listing and how it is checked. */
export interface Check {
  readonly id: CheckId;
  readonly title: string;
  /** How listings are checked, by what they make. */
  readonly runs: Readonly<Partial<Record<ModalityId, JudgeListing>>>;
  /** Why listings that make something else are not checked. */
  readonly otherwise?: string;
  /** Why a listing is not checked although it makes that; undefined if it is. */
  readonly inapplicable?: (deployment: Deployment) => string | undefined;
}

/** Why a listing is not checked; undefined if it is. */
export function whyNotChecked(
  { runs, otherwise, inapplicable }: Check,
  deployment: Deployment,
): string | undefined {
  return runs[deployment.modality] === undefined ? otherwise : inapplicable?.(deployment);
}

/** Every listing is checked in the same way. */
export function forAll(run: JudgeListing): Check["runs"] {
  return { text: run, image: run, video: run, decisions: run };
}
