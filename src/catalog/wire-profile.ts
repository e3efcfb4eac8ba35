import { defined } from "../kernel/index.ts";
import type { HistoryRule, Manifest, ManifestWireProfile } from "./manifest/index.ts";

/** The differences of an endpoint from its wire; one object for all listings of a manifest. */
export interface WireProfile {
  /** The header with the key; absent: that of the wire. */
  readonly auth?: "bearer" | "x-api-key" | "api-key";
  /** Streams always report usage, and `stream_options` is refused. */
  readonly usageUnasked: boolean;
  /** Parameters that a listing does not declare are not sent. */
  readonly dropsUndeclared: boolean;
  readonly rename: ReadonlyMap<string, string>;
  /** By parameter and value: the endpoint's word for the value. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly history: ReadonlySet<HistoryRule>;
  readonly toolSignature?: "gemini";
  readonly usageGap?: "reasoning";
  /** Most output tokens of an answer that is not streamed; 0: every answer is streamed. */
  readonly nonStreamMax?: number;
}

/** A member of every chat request to a deployment. */
export interface FixedMember {
  readonly name: string;
  /** In ASCII. */
  readonly json: string;
}

const profiles = new WeakMap<ManifestWireProfile, WireProfile>();

/** The profile of a valid manifest; undefined if the endpoint does not differ from its wire. */
export function compileWireProfile({ wire_profile: declared }: Manifest): WireProfile | undefined {
  if (declared === undefined) return undefined;
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

/** The fixed members of the endpoint, replaced by those of one listing. */
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
