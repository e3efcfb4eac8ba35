import type { Deployment } from "../../../catalog/index.ts";
import { chatProbes } from "../chat/chat-probes.ts";
import { decisionProbes } from "../decisions/decision-probes.ts";
import { imageProbes } from "../images/image-probes.ts";
import type { Subject } from "../probing/lab.ts";
import type { Probe } from "../probing/probe.ts";
import { videoProbes } from "../videos/video-probes.ts";

interface CommonProbes {
  readonly plain: (subject: Subject) => Probe;
  /** Invalid requests: a body that is not JSON, an unknown model, a value out of range. */
  readonly bad: (subject: Subject) => readonly Probe[];
}

const COMMON: Readonly<Record<Deployment["modality"], CommonProbes>> = {
  text: {
    plain: ({ deployment }) => chatProbes.short(deployment),
    bad: ({ deployment }) => [
      chatProbes.notJson(deployment),
      chatProbes.unknownModel(deployment, false),
      chatProbes.unknownModel(deployment, true),
      // Engines differ in the parameters that they accept, so only a declared parameter is tested.
      ...(deployment.supportedParameters.get("temperature")?.type === "range"
        ? [chatProbes.tooHot(deployment)]
        : []),
    ],
  },
  image: {
    plain: imageProbes.one,
    bad: (subject) => [
      imageProbes.notJson(subject),
      imageProbes.unknownModel(subject),
      imageProbes.negativeCount(subject),
    ],
  },
  video: {
    plain: videoProbes.shortest,
    bad: (subject) => [
      videoProbes.notJson(subject),
      videoProbes.unknownModel(subject),
      videoProbes.negativeSeconds(subject),
    ],
  },
  decisions: {
    plain: ({ deployment }) => decisionProbes.one(deployment),
    bad: ({ deployment }) => [
      decisionProbes.notJson(deployment),
      decisionProbes.unknownModel(deployment),
      decisionProbes.noQuestion(deployment),
    ],
  },
};

/** The cheapest valid request of the listing's modality. */
export function plainProbe(subject: Subject): Probe {
  return COMMON[subject.deployment.modality].plain(subject);
}

export function badProbes(subject: Subject): readonly Probe[] {
  return COMMON[subject.deployment.modality].bad(subject);
}
