import type { Deployment, ModalityId } from "../../../catalog/index.ts";
import { chatProbes } from "../chat/chat-probes.ts";
import { decisionProbes } from "../decisions/decision-probes.ts";
import { imageProbes } from "../images/image-probes.ts";
import type { Lab, Probe, Subject } from "../probing/lab.ts";
import type { CheckId, Finding } from "../report/finding.ts";
import { videoProbes } from "../videos/video-probes.ts";

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

export function forAll(run: JudgeListing): Check["runs"] {
  return { text: run, image: run, video: run, decisions: run };
}

const PLAIN: Readonly<Record<ModalityId, (subject: Subject) => Probe>> = {
  text: ({ deployment }) => chatProbes.short(deployment),
  image: imageProbes.one,
  video: videoProbes.shortest,
  decisions: ({ deployment }) => decisionProbes.one(deployment),
};

/** The cheapest valid request of the listing's modality. */
export function plainProbe(subject: Subject): Probe {
  return PLAIN[subject.deployment.modality](subject);
}
