import type { Deployment } from "../../../catalog/index.ts";
import type { CheckId, Finding } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";

/** One promise of a listing and how it is checked. */
export interface Check {
  readonly id: CheckId;
  readonly title: string;
  /** Why the check does not apply to this listing; undefined if it does. */
  inapplicable(deployment: Deployment): string | undefined;
  /** May reject with `ProbeNotSent`; any other error is a bug of ours. */
  run(lab: Lab): Promise<Finding>;
}
