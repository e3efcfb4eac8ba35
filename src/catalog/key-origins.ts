import type { ManifestFile } from "./catalog-input.ts";

type NamedManifest = Pick<ManifestFile, "file" | "manifest">;

/** For each environment variable, the origins (scheme, host, port) to which its key may be sent. */
export type KeyOrigins = ReadonlyMap<string, ReadonlySet<string>>;

/** The operator's rules that say which key may be sent where. A manifest cannot change them. */
export interface KeyRules {
  /** True if the program itself reads a setting or a secret from this variable. */
  readonly isOwnVariable: (name: string) => boolean;
  /** Where each listed key may be sent. Any other key is sent only to its owner (`KeyOwners`). */
  readonly origins: KeyOrigins;
  /** The owners in the catalog that is being replaced; absent at the program's start. */
  readonly owners?: KeyOwners;
}

/** For each environment variable: the origin that gets its key if `KeyRules.origins` has none. */
export type KeyOwners = ReadonlyMap<string, string>;

export interface KeyProblem {
  readonly file: string;
  readonly pointer: "/endpoint/api_key_env";
  readonly kind: "own_variable" | "other_origin";
  readonly message: string;
}

/** Finds manifests that would send a key or a secret of this program to the wrong host. */
export function keyProblems(manifests: readonly NamedManifest[], rules: KeyRules): KeyProblem[] {
  const owners = findOwners(manifests, rules);
  return inOrder(manifests).flatMap(({ file, manifest }): KeyProblem[] => {
    const { api_key_env: name, base_url: baseUrl } = manifest.endpoint;
    if (name === undefined) return [];
    const problem = { file, pointer: "/endpoint/api_key_env" } as const;
    if (rules.isOwnVariable(name)) {
      const message = `${name} is a variable of this program; name one that holds only this provider's key`;
      return [{ ...problem, kind: "own_variable", message }];
    }
    const { origin } = new URL(baseUrl);
    const listed = rules.origins.get(name);
    const owner = owners.get(name);
    if (listed === undefined ? owner?.origin === origin : listed.has(origin)) return [];
    const owned =
      listed === undefined
        ? `${name} belongs to ${owner?.origin}, which ${owner?.file} ${owner?.isKept === true ? "named before" : "names first"}`
        : `provider_key_origins gives ${name} to ${[...listed].join(" and ")} only`;
    const next = `name another variable, or add ${name}=${origin} to provider_key_origins`;
    return [{ ...problem, kind: "other_origin", message: `${owned}; ${next}` }];
  });
}

/** The owners of key variables, so that the next build lets no new manifest take over a key. */
export function keyOwners(manifests: readonly NamedManifest[], rules: KeyRules): KeyOwners {
  const owners = findOwners(manifests, rules);
  return new Map([...owners].map(([name, { origin }]) => [name, origin]));
}

interface Owner {
  readonly origin: string;
  readonly file: string;
  /** True if the origin also owned the variable in the catalog that is being replaced. */
  readonly isKept: boolean;
}

/**
 * An origin stays the owner of a variable while a manifest of that origin names the variable, so no
 * new manifest can take over the key. Otherwise the first manifest by file name decides.
 */
function findOwners(
  manifests: readonly NamedManifest[],
  rules: KeyRules,
): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const { file, manifest } of inOrder(manifests)) {
    const { api_key_env: name, base_url: baseUrl } = manifest.endpoint;
    if (name === undefined) continue;
    const { origin } = new URL(baseUrl);
    const isKept = rules.owners?.get(name) === origin;
    const known = owners.get(name);
    if (known === undefined || (isKept && !known.isKept))
      owners.set(name, { origin, file, isKept });
  }
  return owners;
}

function inOrder(manifests: readonly NamedManifest[]): readonly NamedManifest[] {
  return manifests.toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

export type ParsedKeyOrigins =
  | { readonly ok: true; readonly origins: KeyOrigins }
  | { readonly ok: false; readonly message: string };

export function parseKeyOrigins(text: string): ParsedKeyOrigins {
  const origins = new Map<string, Set<string>>();
  for (const pair of text.split(",").map((each) => each.trim())) {
    if (pair === "") continue;
    const [, name = "", address = ""] = /^([A-Z][A-Z0-9_]*)=(https?:\/\/.+)$/.exec(pair) ?? [];
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (name === "" || url?.href !== `${url?.origin}/`) {
      return { ok: false, message: "must be NAME=origin pairs, such as A_KEY=https://a.example" };
    }
    origins.set(name, (origins.get(name) ?? new Set()).add(url.origin));
  }
  return { ok: true, origins };
}
