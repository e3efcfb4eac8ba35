export { hashOf, newBrowserToken } from "./browser-token.ts";
export { type ClaimLink, makeClaimLink } from "./claim-link.ts";
export { IdentitySettingFault, isLoopback, signInKindOf } from "./console-address.ts";
export type { IdentityStore } from "./identity-store.ts";
export type { Identity, Redirect, SignedIn } from "./identity.ts";
export { orgNameOf } from "./org-name.ts";
export { openIdentity } from "./open-identity.ts";
export { safeReturnPath } from "./return-path.ts";
export { PostgresIdentityStore } from "./postgres-identity-store.ts";
