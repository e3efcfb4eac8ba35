import type { ProviderHead } from "../listing-sources/provider-heads.ts";

/** The base address of a deployment here. */
export type FoundAddress =
  | {
      readonly ok: true;
      readonly baseUrl: string;
      /** False: another server than the provider's own, which only speaks its wire. */
      readonly isProvidersOwn: boolean;
    }
  | { readonly ok: false; readonly why: string; readonly next: string };

export interface AddressInput {
  readonly head: ProviderHead;
  /** As configured; undefined where LiteLLM knows the address by itself. */
  readonly apiBase: string | undefined;
  readonly region: string | undefined;
}

/** The address as a deployment states it, in the form of a manifest. Never quotes the address. */
export function findAddress({ head, apiBase, region }: AddressInput): FoundAddress {
  const standard = head.endpoint.base_url;
  if (apiBase === undefined) return standardAddress(head, standard, region);
  const url = URL.canParse(apiBase) ? new URL(apiBase) : undefined;
  const flaw = url === undefined ? "it is not an address" : addressFlaw(url);
  if (url === undefined || flaw !== undefined) {
    return { ok: false, why: flaw ?? "", next: "write an http(s) address without key or query" };
  }
  if (head.provider.id === "azure") return own(`${url.origin}/openai/v1`);
  if (head.provider.id.startsWith("bedrock")) return own(`${url.origin}${pathOf(standard)}`);
  if (head.use === "local") {
    const path = cleanPath(url.pathname);
    return own(`${url.origin}${/\/v\d+$/.test(path) ? path : `${path}/v1`}`);
  }
  if (url.origin === new URL(standard).origin) return own(standard);
  const path = cleanPath(url.pathname);
  // LiteLLM writes these addresses without the version, and adds it to each request.
  const needsVersion = /\/v\d+$/.test(pathOf(standard)) && !/\/v\d/.test(path);
  const isCompatible = head.provider.id === "openai";
  const version = needsVersion && !isCompatible ? "/v1" : "";
  return { ok: true, baseUrl: `${url.origin}${path}${version}`, isProvidersOwn: false };
}

function own(baseUrl: string): FoundAddress {
  return { ok: true, baseUrl, isProvidersOwn: true };
}

function standardAddress(
  head: ProviderHead,
  standard: string,
  region: string | undefined,
): FoundAddress {
  const [asked] = head.asks ?? [];
  if (asked === undefined) return own(standard);
  if (asked === "REGION" && region !== undefined && /^[a-z]{2}[a-z0-9-]{2,30}$/.test(region)) {
    return own(standard.replaceAll("REGION", region));
  }
  const field = asked === "REGION" ? "aws_region_name" : "api_base";
  return {
    ok: false,
    why: `its address needs ${field}, which is not written, or is a variable that is not set`,
    next: `write ${field}, or set the variable that it names, and import again`,
  };
}

function addressFlaw({ protocol, username, password, search, hash }: URL): string | undefined {
  if (protocol !== "https:" && protocol !== "http:") return "it is not an http(s) address";
  if (username !== "" || password !== "") return "it holds user information, which is a secret";
  return search !== "" || hash !== "" ? "it has a query or a fragment" : undefined;
}

/** Without the route, which the gateway adds by itself. */
function cleanPath(path: string): string {
  return path
    .replace(/\/+$/, "")
    .replace(/\/(chat\/completions|messages|completions)$/, "")
    .replace(/\/+$/, "");
}

function pathOf(address: string): string {
  return cleanPath(new URL(address.replaceAll("REGION", "region")).pathname);
}
