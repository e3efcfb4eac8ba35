import type { Deployment } from "../../../catalog/index.ts";
import type { Check } from "./check.ts";
import { decisionSpecifics } from "../decisions/decision-specifics.ts";
import { type Finding, skipped } from "../report/finding.ts";
import { imageSpecifics } from "../images/image-specifics.ts";
import type { Lab } from "../probing/lab.ts";
import { videoSpecifics } from "../videos/video-specifics.ts";

/** C11: what only one modality has. */
export const modalitySpecifics: Check = {
  id: "C11",
  title: "modality specifics",
  inapplicable: ({ modality }) => (modality === "text" ? "chat has checks of its own" : undefined),
  run: (lab) => SPECIFICS[lab.deployment.modality](lab),
};

const SPECIFICS: Readonly<Record<Deployment["modality"], (lab: Lab) => Promise<Finding>>> = {
  image: imageSpecifics,
  video: videoSpecifics,
  decisions: decisionSpecifics,
  text: () => Promise.resolve(skipped("chat has checks of its own")),
};
