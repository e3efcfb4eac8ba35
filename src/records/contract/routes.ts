import { ChangedLimit, LimitChange } from "./limit-change.ts";
import { limitRoutes, Limits } from "./limits.ts";
import {
  MessagesModel,
  MessagesModelList,
  Model,
  ModelList,
  ModelProvider,
  modelRoutes,
  PriceTier,
  Pricing,
} from "./models.ts";
import { Generation, Usage, usageRoutes } from "./usage.ts";

/** The routes that read what is recorded, as they are checked and documented. */
export const RECORD_ROUTES = { ...modelRoutes, ...usageRoutes, ...limitRoutes };

/** Schemas that the document has under these names. */
export const NAMED_SCHEMAS = {
  Pricing,
  PriceTier,
  ModelProvider,
  Model,
  ModelList,
  MessagesModel,
  MessagesModelList,
  Generation,
  Usage,
  Limits,
  LimitChange,
  ChangedLimit,
};
