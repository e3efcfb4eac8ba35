import { defined } from "../kernel/index.ts";
import type { HistoryRule, Manifest, ManifestWireProfile } from "./manifest/index.ts";

/** How an endpoint differs from its wire. Listings without rules of their own share one object. */
export interface WireProfile {
  /** The header in which the provider's key is sent; absent: the usual header of the wire. */
  readonly auth?: "bearer" | "x-api-key" | "api-key";
  /** True if streams report usage unasked. The gateway then never sends `stream_options`. */
  readonly usageUnasked: boolean;
  readonly dropsUndeclared: boolean;
  readonly rename: ReadonlyMap<string, string>;
  /** Maps a parameter's name to a map from the client's values to the endpoint's values. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly history: ReadonlySet<HistoryRule>;
  readonly toolSignature?: "gemini";
  readonly usageGap?: "reasoning";
  /** Maximum output tokens of a request without `stream`; 0: the endpoint only streams. */
  readonly nonStreamMax?: number;
}

export interface FixedMember {
  readonly name: string;
  /** The value as ASCII JSON text, because bodies are built as text with one character per byte. */
  readonly json: string;
}

const profiles = new WeakMap<ManifestWireProfile, WireProfile>();

const NO_DIFFERENCE: ManifestWireProfile = {};

export function compileWireProfile(
  { wire_profile: declared }: Manifest,
  ofListing: readonly HistoryRule[] = [],
): WireProfile | undefined {
  if (ofListing.length === 0) return declared && compileShared(declared);
  const shared = compileShared(declared ?? NO_DIFFERENCE);
  return { ...shared, history: new Set([...shared.history, ...ofListing]) };
}

function compileShared(declared: ManifestWireProfile): WireProfile {
  const known = profiles.get(declared);
  if (known !== undefined) return known;
  const values = Object.entries(declared.values ?? {});
  const profile: WireProfile = {
    usageUnasked: declared.stream_usage === "always",
    dropsUndeclared: declared.undeclared === "drop",
    rename: new Map(Object.entries(declared.rename ?? {})),
    values: new Map(values.map(([name, words]) => [name, new Map(Object.entries(words))])),
    history: new Set(declared.history),
    ...defined({
      auth: declared.auth,
      toolSignature: declared.tool_signature,
      usageGap: declared.usage_gap,
      nonStreamMax: declared.non_stream_max,
    }),
  };
  profiles.set(declared, profile);
  return profile;
}

type Body = Readonly<Record<string, unknown>>;

/** A listing's fixed member replaces the endpoint's member of the same name. */
export function compileFixedBody(
  endpoint: Body | undefined,
  listing: Body | undefined,
): readonly FixedMember[] {
  const members = Object.entries({ ...endpoint, ...listing });
  return members.map(([name, value]) => ({ name, json: asciiJson(value) }));
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
