export { hashOf, newBrowserToken } from "./browser-token.ts";
export { type ClaimLink, makeClaimLink } from "./claim-link.ts";
export { IdentitySettingFault, isLoopback, signInKindOf } from "./console-address.ts";
export type { Identity, Redirect, SignedIn } from "./identity.ts";
export { orgNameOf } from "./org-name.ts";
export { openIdentity } from "./open-identity.ts";
export { safeReturnPath } from "./return-path.ts";
export { type IdentityStore, PostgresIdentityStore } from "./postgres-identity-store.ts";
