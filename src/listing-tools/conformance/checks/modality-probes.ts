import type { Deployment } from "../../../catalog/index.ts";
import { chatProbes } from "../chat/chat-probes.ts";
import { decisionProbes } from "../decisions/decision-probes.ts";
import { imageProbes } from "../images/image-probes.ts";
import type { Probe } from "../probing/probe.ts";
import { videoProbes } from "../videos/video-probes.ts";

/** What every modality has: a usual request, and some that are wrong. */
interface CommonProbes {
  /** The cheapest usual request. */
  readonly plain: (deployment: Deployment) => Probe;
  /** What is not JSON, an unknown model, a value out of range. */
  readonly bad: (deployment: Deployment) => readonly Probe[];
}

const COMMON: Readonly<Record<Deployment["modality"], CommonProbes>> = {
  text: {
    plain: chatProbes.short,
    bad: (deployment) => [
      chatProbes.notJson(deployment),
      chatProbes.unknownModel(deployment),
      // Engines differ in what they take: only what the listing declares is a promise.
      ...(deployment.supportedParameters.get("temperature")?.type === "range"
        ? [chatProbes.tooHot(deployment)]
        : []),
    ],
  },
  image: {
    plain: imageProbes.one,
    bad: () => [imageProbes.notJson(), imageProbes.unknownModel(), imageProbes.negativeCount()],
  },
  video: {
    plain: videoProbes.shortest,
    bad: (deployment) => [
      videoProbes.notJson(deployment),
      videoProbes.unknownModel(deployment),
      videoProbes.negativeSeconds(deployment),
    ],
  },
  decisions: {
    plain: decisionProbes.one,
    bad: (deployment) => [
      decisionProbes.notJson(deployment),
      decisionProbes.unknownModel(deployment),
      decisionProbes.noQuestion(deployment),
    ],
  },
};

/** The cheapest usual request of this listing's modality. */
export function plainProbe(deployment: Deployment): Probe {
  return COMMON[deployment.modality].plain(deployment);
}

/** Requests that no provider can serve. */
export function badProbes(deployment: Deployment): readonly Probe[] {
  return COMMON[deployment.modality].bad(deployment);
}
