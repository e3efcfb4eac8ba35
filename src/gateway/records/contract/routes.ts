import { ChangedLimit, LimitChange } from "./limit-change.ts";
import { limitRoutes, Limits } from "./limits.ts";
import {
  messagesModel,
  MessagesModelList,
  modelEntry,
  ModelList,
  modelProvider,
  modelRoutes,
  priceTier,
} from "./models.ts";
import { Pricing } from "./prices.ts";
import { generation, usagePage, usageRoutes } from "./usage.ts";

/** Queries are checked by these contracts, and the API reference is generated from them. */
export const RECORD_ROUTES = { ...modelRoutes, ...usageRoutes, ...limitRoutes };

export const NAMED_SCHEMAS = {
  Pricing,
  PriceTier: priceTier.schema,
  ModelProvider: modelProvider.schema,
  Model: modelEntry.schema,
  ModelList,
  MessagesModel: messagesModel.schema,
  MessagesModelList,
  Generation: generation.schema,
  Usage: usagePage.schema,
  Limits,
  LimitChange,
  ChangedLimit,
};
