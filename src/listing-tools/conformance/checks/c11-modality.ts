import type { Check } from "./check.ts";
import { decisionSpecifics } from "../decisions/decision-specifics.ts";
import { imageSpecifics } from "../images/image-specifics.ts";
import { videoSpecifics } from "../videos/video-specifics.ts";

export const modalitySpecifics: Check = {
  id: "C11",
  title: "modality specifics",
  otherwise: "chat has checks of its own",
  runs: { image: imageSpecifics, video: videoSpecifics, decisions: decisionSpecifics },
};
