import { foldName } from "../../json/index.ts";
import { type Problem, problem } from "./check-shape.ts";

/** Names that would point the gateway at other credentials or another destination. */
const credentialNames = new Set([
  "accesstoken", "apibase", "apikey", "apikeyenv", "apitype", "apiurl", "apiversion",
  "authorization", "authtoken", "baseurl", "bearertoken", "connectionid", "credentials",
  "endpoint", "extraheaders", "extraquery", "headers", "host", "organization", "organizationid",
  "proxy", "secret", "token", "url", "xapikey",
]); // prettier-ignore

const NAME_CHARS_MAX = 24;

/** Names that some parsers act on; no chat request has them at its top level. */
const prototypeNames = new Set(["constructor", "prototype"]);

/** Refuses credentials and destinations in whatever spelling: `base_url`, `baseURL`, `base-url`. */
export function refuseCredential(name: string): Problem | undefined {
  // A body can hold very many names, and long ones are none of these.
  if (name.length > NAME_CHARS_MAX) return undefined;
  if (!credentialNames.has(foldName(name).replaceAll(/[_-]/g, ""))) return undefined;
  return problem(
    "is not accepted: a request cannot carry credentials or a destination; remove it",
    name,
  );
}

/** What the top level of a chat body never holds. */
export function refuseForbidden(name: string): Problem | undefined {
  if (prototypeNames.has(name)) return problem("is not accepted; remove it", name);
  return refuseCredential(name);
}
