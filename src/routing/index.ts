export { Affinity, hasEquals } from "./affinity.ts";
export type { HealthOutcome } from "./circuit.ts";
export { explainRoute } from "./explain-route.ts";
export { HealthExchange } from "./health-exchange.ts";
export { healthScripts } from "./health-scripts.ts";
export { type DeploymentHealth, MemoryDeploymentHealth } from "./health.ts";
export {
  allCooling,
  type ListingStanding,
  type OwnKeys,
  type PlanInput,
  planRoute,
  type RoutePlan,
  unknownModel,
} from "./plan-route.ts";
export { RedisSharedHealth } from "./redis-shared-health.ts";
export { RepeatedFailures } from "./repeated-failures.ts";
export type { SharedHealth } from "./shared-health.ts";
