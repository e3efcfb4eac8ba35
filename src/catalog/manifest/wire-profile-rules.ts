import { asObject, foldName, pointerTo } from "../../kernel/index.ts";
import type { ManifestProblem } from "./schema-parts.ts";

export const WIRE_PROFILE_RULES: Readonly<Record<string, string>> = {
  "wire-profile-owned":
    "must not name a field that the gateway owns: model, the conversation, tools, an output bound, " +
    "stream or provider",
  "wire-profile-rename": "must give each parameter a name of its own that nothing else has",
  "wire-profile-body-owned":
    "must not hold model, the conversation, tools, an output bound or stream",
  "wire-profile-body-credential":
    "must not hold a credential or a destination; name the variable of the key in api_key_env",
  "wire-profile-body-size": "must have at most 1024 bytes as JSON and at most 6 levels",
};

/** Maximum size of the fixed members of a body, written as JSON in UTF-8. */
const BODY_BYTES_MAX = 1024;
const BODY_DEPTH_MAX = 6;

/** Names that a fixed body must not set, in the form that `plainName` returns. */
const CONVERSATION = [
  "model", "models", "messages", "system", "input", "prompt", "contents", "tools", "functions",
  "n", "stream", "streamoptions", "maxtokens", "maxcompletiontokens", "maxoutputtokens",
  "maxnewtokens", "constructor", "prototype", "proto",
]; // prettier-ignore
const bodyOwned = new Set(CONVERSATION);
const renameOwned = new Set([...CONVERSATION, "provider", "toolchoice"]);

const credentials = new Set([
  "accesstoken", "apibase", "apikey", "apikeyenv", "apiurl", "authorization", "authtoken",
  "baseurl", "bearertoken", "connectionid", "credentials", "endpoint", "extraheaders", "headers",
  "host", "password", "proxy", "secret", "token", "url", "xapikey",
]); // prettier-ignore

/** Folds a name as lenient parsers do, which ignore case, underscores and hyphens. */
function plainName(name: string): string {
  return foldName(name).replaceAll(/[_-]/g, "");
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return asObject(value) !== undefined;
}

export function wireProfileProblems(profile: unknown): ManifestProblem[] {
  if (!isFields(profile)) return [];
  return [
    ...ownedNames("rename", profile["rename"]),
    ...ownedNames("values", profile["values"], new Set(["toolchoice"])),
    ...renameProblems(profile["rename"]),
    ...fixedBodyProblems(["wire_profile", "body"], profile["body"]),
  ];
}

function problem(
  path: readonly (string | number)[],
  rule: keyof typeof WIRE_PROFILE_RULES,
): ManifestProblem {
  const message = `${path.at(-1) ?? ""} ${WIRE_PROFILE_RULES[rule] ?? ""}`;
  return { pointer: pointerTo(path), rule, message };
}

function ownedNames(
  member: "rename" | "values",
  map: unknown,
  allowed: ReadonlySet<string> = new Set(),
): ManifestProblem[] {
  if (!isFields(map)) return [];
  return Object.entries(map).flatMap(([from, to]) => {
    const names = typeof to === "string" ? [from, to] : [from];
    const isOwned = names
      .map(plainName)
      .some((name) => (renameOwned.has(name) && !allowed.has(name)) || credentials.has(name));
    return isOwned ? [problem(["wire_profile", member, from], "wire-profile-owned")] : [];
  });
}

/** A new name must not be another parameter's old or new name: the key would occur twice. */
function renameProblems(map: unknown): ManifestProblem[] {
  if (!isFields(map)) return [];
  const old = new Set(Object.keys(map).map(plainName));
  const given = new Set<string>();
  return Object.entries(map).flatMap(([from, to]) => {
    if (typeof to !== "string") return [];
    const name = plainName(to);
    const isTaken = old.has(name) || given.has(name);
    given.add(name);
    return isTaken ? [problem(["wire_profile", "rename", from], "wire-profile-rename")] : [];
  });
}

export function fixedBodyProblems(
  path: readonly (string | number)[],
  body: unknown,
): ManifestProblem[] {
  if (!isFields(body)) return [];
  const found: ManifestProblem[] = [];
  for (const name of Object.keys(body)) {
    if (bodyOwned.has(plainName(name))) {
      found.push(problem([...path, name], "wire-profile-body-owned"));
    }
  }
  if (
    measureDepth(body) > BODY_DEPTH_MAX ||
    Buffer.byteLength(JSON.stringify(body)) > BODY_BYTES_MAX
  ) {
    return [...found, problem(path, "wire-profile-body-size")];
  }
  addCredentials(path, body, found);
  return found;
}

function addCredentials(
  path: readonly (string | number)[],
  value: unknown,
  found: ManifestProblem[],
): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (credentials.has(plainName(key))) {
      found.push(problem([...path, key], "wire-profile-body-credential"));
    }
    addCredentials([...path, key], inner, found);
  }
}

/** Recursion is bounded, because `readJson` refuses manifests with more than 32 levels. */
function measureDepth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(measureDepth));
}
