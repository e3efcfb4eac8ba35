import type { HistoryRule, Manifest, ManifestWireProfile } from "./manifest/index.ts";

/** The differences of an endpoint from its wire; one object for all listings of a manifest. */
export interface WireProfile {
  /** The header that takes the key; absent: the one of the wire. */
  readonly auth?: "bearer" | "x-api-key" | "api-key";
  /** Streams report usage unasked, and what would ask for it is refused. */
  readonly usageUnasked: boolean;
  /** Parameters that a listing does not declare are kept back. */
  readonly dropsUndeclared: boolean;
  readonly rename: ReadonlyMap<string, string>;
  /** By parameter: the endpoint's word for each value. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly history: ReadonlySet<HistoryRule>;
  readonly toolSignature?: "gemini";
  readonly usageGap?: "reasoning";
  /** Most output tokens of an answer that is not streamed; 0: all are streamed. */
  readonly nonStreamMax?: number;
}

/** A member that every chat request to a deployment has. */
export interface FixedMember {
  readonly name: string;
  /** In ASCII. */
  readonly json: string;
}

const profiles = new WeakMap<ManifestWireProfile, WireProfile>();

/** The profile of a valid manifest; undefined where the endpoint is as its wire says. */
export function compileWireProfile({ wire_profile: declared }: Manifest): WireProfile | undefined {
  if (declared === undefined) return undefined;
  const known = profiles.get(declared);
  if (known !== undefined) return known;
  const { auth, tool_signature: toolSignature, usage_gap: usageGap } = declared;
  const values = Object.entries(declared.values ?? {});
  const profile: WireProfile = {
    ...(auth !== undefined && { auth }),
    usageUnasked: declared.stream_usage === "always",
    dropsUndeclared: declared.undeclared === "drop",
    rename: new Map(Object.entries(declared.rename ?? {})),
    values: new Map(values.map(([name, words]) => [name, new Map(Object.entries(words))])),
    history: new Set(declared.history),
    ...(toolSignature !== undefined && { toolSignature }),
    ...(usageGap !== undefined && { usageGap }),
    ...(declared.non_stream_max !== undefined && { nonStreamMax: declared.non_stream_max }),
  };
  profiles.set(declared, profile);
  return profile;
}

type Body = Readonly<Record<string, unknown>>;

/** The fixed members of the endpoint and those of one listing, which stand in for the former. */
export function compileFixedBody(
  endpoint: Body | undefined,
  listing: Body | undefined,
): readonly FixedMember[] {
  if (endpoint === undefined && listing === undefined) return NONE;
  const members = Object.entries({ ...endpoint, ...listing });
  return members.map(([name, value]) => ({ name, json: asciiJson(value) }));
}

const NONE: readonly FixedMember[] = [];

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
