export { AccountNotices, noticed } from "./account-notices.ts";
export type {
  AbuseRestriction,
  AccountRules,
  CallFamily,
  DedicatedEndpoint,
  RoutingPolicy,
} from "./account-rules.ts";
export { type Authenticator, type AuthOutcome, openAuthenticator } from "./authenticate.ts";
export {
  type ConnectionSummary,
  sealConnection,
  type StoredConnection,
} from "./connection-store.ts";
export type { OrgSummary } from "./account-store.ts";
export type { KeyStore, KeySummary } from "./key-store.ts";
export { MANAGED_SQL } from "./key-summary-rows.ts";
export {
  type KeyVault,
  openKeyVault,
  providerKeyProblem,
  readEncryptionKeys,
  SealedKeyFault,
} from "./key-vault.ts";
export { countSealedBy, resealConnections } from "./reseal-connections.ts";
export { createdKey } from "./key-changes.ts";
export { CREATE_ORG_SQL, createdOrg } from "./org-rows.ts";
export type { ListedOrg } from "./org-directory.ts";
export { type OrgDirectory, PostgresOrgDirectory } from "./postgres-org-directory.ts";
export { type AccountStore, PostgresAccountStore } from "./postgres-account-store.ts";
export { type ConnectionStore, PostgresConnectionStore } from "./postgres-connection-store.ts";
export { type Organization, organizationOf, type Principal, principalOf } from "./principal.ts";
export type { EndpointRecord, LimitChange, LimitTarget } from "./rules-store.ts";
export { PostgresRulesStore, type RulesStore } from "./postgres-rules-store.ts";
export { digestHex, newVirtualKey } from "./virtual-key.ts";
