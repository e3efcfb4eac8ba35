import { type Config, Fault, type OrgId } from "../../kernel/index.ts";

/** Thrown if the console would send session cookies over a network in plain text. */
export class InsecureConsoleFault extends Fault {}

export class IdentitySettingFault extends Fault {}

export type AddressConfig = Pick<
  Config,
  "consoleUrl" | "host" | "oidcIssuer" | "localSignIn" | "allowInsecureConsole"
>;

/** `oidc`: a configured issuer; `local`: links made on this machine; `none`: sign-in is off. */
export type SignInKind = "oidc" | "local" | "none";

export function chooseSignInKind(config: AddressConfig): SignInKind {
  if (config.oidcIssuer !== "") return "oidc";
  return config.localSignIn || isLoopback(findConsoleHost(config)) ? "local" : "none";
}

/** Returns a page's URL with the organization's id, since the reader may be in several. */
export function orgPage(consoleUrl: string, path: string, orgId: OrgId): string {
  return `${consoleUrl}${path}${path.includes("?") ? "&" : "?"}org=${orgId}`;
}

/**
 * Throws if people would sign in over plain http at an address that other machines reach, unless
 * the operator allows it.
 */
export function assertSafeConsole(config: AddressConfig): void {
  if (chooseSignInKind(config) === "none" || config.allowInsecureConsole) return;
  if (config.consoleUrl.startsWith("https:") || isLoopback(findConsoleHost(config))) return;
  const at = config.consoleUrl === "" ? `host ${config.host}` : `console_url ${config.consoleUrl}`;
  throw new InsecureConsoleFault(
    `sign-in would use plain http at ${at}; set console_url (TM_CONSOLE_URL) to the https ` +
      "address of the console, or set allow_insecure_console (TM_ALLOW_INSECURE_CONSOLE) to allow it",
  );
}

/** Parses the issuer's address: https, or http on loopback, without a query or a user name. */
export function parseIssuer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe =
    url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url === undefined || !isSafe || url.search !== "" || url.hash !== "" || url.username !== "") {
    throw new IdentitySettingFault(
      "oidc.issuer (OIDC_ISSUER) must be the https address of the identity provider as its discovery " +
        "document names it, without query; http is for loopback only",
    );
  }
  return url;
}

function findConsoleHost({ consoleUrl, host }: AddressConfig): string {
  return URL.canParse(consoleUrl) ? new URL(consoleUrl).hostname : host;
}

export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (host === "::1" || host === "localhost" || host.endsWith(".localhost")) return true;
  return /^127(\.\d{1,3}){3}$/.test(host);
}
