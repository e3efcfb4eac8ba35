export { type AbuseMonitor, NO_ABUSE_MONITOR } from "./abuse-monitor.ts";
export type { AbuseRestrictionRecord } from "./abuse-restriction-store.ts";
export {
  type AbuseRestrictionStore,
  PostgresAbuseRestrictionStore,
} from "./postgres-abuse-restriction-store.ts";
export { TrialAbuseMonitor, type UsageRule } from "./trial-abuse-monitor.ts";
