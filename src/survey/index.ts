export type { AskDeps, EndpointAddress } from "./ask-endpoint.ts";
export { draftManifest, type ListableModel, type OwnEndpoint } from "./draft-manifest.ts";
export {
  deploymentListing,
  deploymentTerms,
  servedListings,
  withListings,
} from "./hosted-listings.ts";
export { withMargin } from "./margin.ts";
export { shownText } from "./shown-text.ts";
export {
  DIALECTS,
  loadedContexts,
  type Survey,
  surveyEndpoint,
  type SurveyOutcome,
  tryWires,
} from "./survey-endpoint.ts";
export { modelName, type SurveyedModel } from "./surveyed-model.ts";
