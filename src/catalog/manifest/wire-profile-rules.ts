import { asObject, asText, foldName, membersOf, pointerTo, textOf } from "../../kernel/index.ts";
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

export function wireProfileProblems(profile: unknown): ManifestProblem[] {
  const { rename, values, body } = asObject(profile) ?? {};
  return [
    ...ownedNames("rename", rename),
    ...ownedNames("values", values, new Set(["toolchoice"])),
    ...renameProblems(rename),
    ...fixedBodyProblems(["wire_profile", "body"], body),
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
  return Object.entries(asObject(map) ?? {}).flatMap(([from, to]) => {
    const isOwned = [from, textOf(to)]
      .map(plainName)
      .some((name) => (renameOwned.has(name) && !allowed.has(name)) || credentials.has(name));
    return isOwned ? [problem(["wire_profile", member, from], "wire-profile-owned")] : [];
  });
}

/** A new name must not be another parameter's old or new name: a body would have it twice. */
function renameProblems(map: unknown): ManifestProblem[] {
  const renames = asObject(map) ?? {};
  const old = new Set(Object.keys(renames).map(plainName));
  const given = new Set<string>();
  return Object.entries(renames).flatMap(([from, to]) => {
    const renamed = asText(to);
    if (renamed === undefined) return [];
    const name = plainName(renamed);
    const isTaken = old.has(name) || given.has(name);
    given.add(name);
    return isTaken ? [problem(["wire_profile", "rename", from], "wire-profile-rename")] : [];
  });
}

export function fixedBodyProblems(
  path: readonly (string | number)[],
  body: unknown,
): ManifestProblem[] {
  const members = asObject(body);
  if (members === undefined) return [];
  const found = Object.keys(members)
    .filter((name) => bodyOwned.has(plainName(name)))
    .map((name) => problem([...path, name], "wire-profile-body-owned"));
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
  for (const [key, inner] of membersOf(value) ?? []) {
    if (credentials.has(plainName(key))) {
      found.push(problem([...path, key], "wire-profile-body-credential"));
    }
    addCredentials([...path, key], inner, found);
  }
}

/** Recursion is bounded, because `readJson` refuses manifests with more than 32 levels. */
function measureDepth(value: unknown): number {
  const members = membersOf(value);
  if (members === undefined) return 0;
  return 1 + Math.max(0, ...members.map(([, inner]) => measureDepth(inner)));
}
