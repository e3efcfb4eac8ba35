import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import {
  type CatalogIssue,
  type CatalogOutcome,
  compileCatalog,
  type KeyOwners,
  type ManifestFile,
  type ManifestText,
  NO_POOLS,
  parseKeyOrigins,
  type ParsedPools,
  parseManifestFiles,
  parsePoolsFile,
} from "../catalog/index.ts";
import type { TermsRead } from "../account/index.ts";
import { isOwnVariable, type Clock } from "../kernel/index.ts";
import { isPrivateAddress } from "../upstream/index.ts";
import type { SettlementTerms } from "../ledger/index.ts";

export interface CatalogSources {
  readonly manifestsDir: string;
  /** If true, a missing folder counts as empty. Default: it is an issue. */
  readonly isFolderOptional?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** By variable name `X`: why the file that `X_FILE` names cannot be read. */
  readonly fileProblems?: ReadonlyMap<string, string>;
  readonly clock: Clock;
  readonly allowPrivateUpstreams: boolean;
  /** Replaces text in all manifests: the simulated provider's manifest cannot know its port. */
  readonly rewrite?: { readonly from: string; readonly to: string };
  /** The file that says which listings share a provider's capacity. Absent or "": none do. */
  readonly poolsFile?: string;
  /** `NAME=origin` pairs, comma-separated: where the key in variable `NAME` may be sent. */
  readonly providerKeyOrigins?: string;
  /**
   * The owner of each key variable (`KeyOwners`). A reload passes it on, so that a new manifest
   * cannot take over a key that a manifest of the owner still names.
   */
  readonly keyOwners?: KeyOwners;
  /** Comma-separated ids of the providers that get decision requests in their public format. */
  readonly decisionsPublicForm?: string;
  /** Listings with prices checked over this many days ago get no requests. Default 0: all do. */
  readonly staleAfterDays?: number;
}

export type LoadedCatalog =
  | Exclude<CatalogOutcome, { readonly ok: true }>
  | (Extract<CatalogOutcome, { readonly ok: true }> & {
      /** How each provider is paid, by provider id. */
      readonly settlementTerms: ReadonlyMap<string, SettlementTerms>;
      /** Manifests left out for their private addresses, which the settings do not allow. */
      readonly leftOut: readonly string[];
    });

/** Why a manifest is left out of the catalog. */
export const PRIVATE_NOTE = "its address is private; TM_ALLOW_PRIVATE_UPSTREAMS=1 allows it";

export function loadCatalog(sources: CatalogSources): LoadedCatalog {
  const isThere = existsSync(sources.manifestsDir);
  if (!isThere && sources.isFolderOptional !== true) {
    const message = "there is no such folder; create it, or name another with --manifests";
    return { ok: false, issues: [{ file: sources.manifestsDir, pointer: "", message }] };
  }
  const names = isThere ? listJsonFiles(sources.manifestsDir) : [];
  const files = names.map((file) => readManifest(sources, file));
  const parsed = parseManifestFiles(files);
  if (!parsed.ok) return parsed;
  const stated = readPools(sources.poolsFile);
  if (!stated.ok) return stated;
  const keyOrigins = parseKeyOrigins(sources.providerKeyOrigins ?? "");
  if (!keyOrigins.ok) {
    const { message } = keyOrigins;
    return { ok: false, issues: [{ file: "provider_key_origins", pointer: "", message }] };
  }
  const unread = unreadKeys(parsed.manifests, sources.fileProblems);
  if (unread.length > 0) return { ok: false, issues: unread };
  const reachable = parsed.manifests.filter((each) => mayBeReached(each, sources));
  const leftOut = parsed.manifests.filter((each) => !mayBeReached(each, sources));
  const publicForm = parsePublicForm(sources.decisionsPublicForm ?? "");
  const nowMs = sources.clock.nowMs();
  const outcome = compileCatalog({
    manifests: reachable,
    leftOut,
    hasKey: (name) => (sources.env[name] ?? "") !== "",
    today: new Date(nowMs).toISOString().slice(0, 10),
    nowMs,
    keys: {
      isOwnVariable,
      origins: keyOrigins.origins,
      ...(sources.keyOwners === undefined ? {} : { owners: sources.keyOwners }),
    },
    pools: stated.pools,
    ...((sources.staleAfterDays ?? 0) > 0 && { staleAfterDays: sources.staleAfterDays }),
    publicForm: (providerId) => publicForm.has(providerId),
  });
  if (!outcome.ok) return outcome;
  const settlementTerms = new Map(parsed.manifests.map(toTermsEntry));
  return { ...outcome, settlementTerms, leftOut: leftOut.map((each) => each.file) };
}

/** The ids of the providers that get decision requests in their public format. */
export function parsePublicForm(ids: string): ReadonlySet<string> {
  return new Set(ids.split(",").map((id) => id.trim()));
}

export function readSettlementTerms(
  of: Pick<CatalogSources, "manifestsDir" | "isFolderOptional" | "env"> & { readonly clock: Clock },
): TermsRead {
  const loaded = loadCatalog({ ...of, allowPrivateUpstreams: true });
  if (loaded.ok) return { ok: true, terms: loaded.settlementTerms };
  const issues = loaded.issues.map(renderIssue);
  return { ok: false, problem: `the manifests are not valid:\n${issues.join("\n")}` };
}

/** Formats an issue like `openai.json/models/0/id: must be a string`. */
export function renderIssue({ file, pointer, message }: CatalogIssue): string {
  return `${file}${pointer}: ${message}`;
}

export function listJsonFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .toSorted();
}

function readManifest({ manifestsDir, rewrite }: CatalogSources, file: string): ManifestText {
  const original = readFileSync(join(manifestsDir, file), "utf8");
  const text = rewrite === undefined ? original : original.replaceAll(rewrite.from, rewrite.to);
  return { file, text, original };
}

/** One issue per manifest whose secret file cannot be read. Any issue rejects the catalog. */
function unreadKeys(
  manifests: readonly ManifestFile[],
  problems: CatalogSources["fileProblems"],
): readonly CatalogIssue[] {
  return manifests.flatMap(({ file, manifest }): readonly CatalogIssue[] => {
    const message = problems?.get(manifest.endpoint.api_key_env ?? "");
    return message === undefined ? [] : [{ file, pointer: "/endpoint/api_key_env", message }];
  });
}

function readPools(file = ""): ParsedPools {
  if (file === "") return { ok: true, pools: NO_POOLS };
  try {
    return parsePoolsFile(file, readFileSync(file, "utf8"));
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    const message =
      code === "ENOENT"
        ? "there is no such file; create it, or name another with pools_file (TM_POOLS_FILE)"
        : `it cannot be read (${code})`;
    return { ok: false, issues: [{ file, pointer: "", message }] };
  }
}

function toTermsEntry({ manifest }: ManifestFile): [string, SettlementTerms] {
  const { mode, interval } = manifest.settlement;
  return [manifest.provider.id, { mode, interval }];
}

function mayBeReached({ manifest }: ManifestFile, sources: CatalogSources): boolean {
  if (sources.allowPrivateUpstreams) return true;
  const { hostname } = new URL(manifest.endpoint.base_url);
  return !isPrivateAddress(hostname) && hostname !== "localhost";
}
