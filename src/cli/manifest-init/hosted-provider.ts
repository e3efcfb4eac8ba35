import type { Manifest } from "../../catalog/index.ts";
import { defined } from "../../kernel/index.ts";
import {
  splitServed,
  presentText,
  surveyEndpoint,
  withListings,
} from "../../listing-tools/index.ts";
import { type CommandContext, UsageFault } from "../command-context.ts";
import { readAskDeps } from "../with-backend.ts";
import { chosenBy, type InitResult, type ModelNote, startResult } from "./init-flags.ts";
import { surveyFault } from "./own-endpoint.ts";
import { keyIssue, type ManifestPlace, placeManifest } from "./write-manifest.ts";

export interface HostedRequest extends ManifestPlace {
  readonly manifest: Manifest;
  /** The provider's key; undefined if the provider is not asked which models it serves. */
  readonly key: string | undefined;
  readonly globs: readonly string[];
}

/** Writes a manifest of those shipped listings that the provider serves to this key. */
export async function listHosted(io: CommandContext, request: HostedRequest): Promise<InitResult> {
  const { globs } = request;
  const { found, notes, skipped } = await keepServed(request);
  const providerId = found.provider.id;
  const unknown = `${providerId} has no model named`;
  const models = chosenBy(globs, found.models, { names: listNames, unknown });
  const chosen = withListings(found, models, globs.length > 0);
  const known = startResult(providerId, { skipped, notes });
  if (models.length === 0) return { ...known, issues: [`${providerId}: no model to list`] };
  const placed = placeManifest(io, request, chosen, known);
  if (placed.file === undefined) return placed;
  const staged = chosen.models.filter(({ is_ready: isReady }) => isReady === false);
  return { ...placed, notes: [...notes, ...staged.map((model) => stagedNote(chosen, model))] };
}

async function keepServed(request: HostedRequest) {
  const { config, manifest, key, file } = request;
  const { base_url: baseUrl, dialect, api_key_env: apiKeyEnv } = manifest.endpoint;
  const everything = { found: manifest, skipped: [], notes: [] };
  if (key === undefined || apiKeyEnv === undefined) return everything;
  // Checks that the key may be sent to `baseUrl`, because the key may be another endpoint's.
  const issue = keyIssue(config, file, { baseUrl, apiKeyEnv });
  if (issue !== undefined) throw new UsageFault(issue);
  const { wire_profile: wireProfile } = manifest;
  const outcome = await surveyEndpoint(
    { baseUrl, key, wireId: dialect, isSelfHosted: false, ...defined({ wireProfile }) },
    readAskDeps(config),
  );
  if (!outcome.ok && outcome.code === "no_list") {
    const message = `${presentText(baseUrl)}: ${outcome.message}; all of its listings were taken`;
    return { ...everything, notes: [{ model: "*", code: "no_list", message }] };
  }
  if (!outcome.ok) throw surveyFault(baseUrl, outcome);
  const servedIds = outcome.survey.models.map(({ upstreamId }) => upstreamId);
  const { served, unserved } = splitServed(manifest, servedIds);
  const reason = { code: "not_served", message: "the provider does not list it for this key" };
  return {
    found: withListings(manifest, served),
    notes: [],
    skipped: unserved.map(({ id }) => ({ model: id, ...reason })),
  };
}

type Model = Manifest["models"][number];

function listNames({ id, upstream_id: upstreamId = id }: Model): readonly string[] {
  return [id, id.replace(/^[^/]*\//, ""), upstreamId];
}

function stagedNote({ listing_terms: terms }: Manifest, { id }: Model): ModelNote {
  const reasons = terms?.[id]?.staged_because ?? [];
  const why = reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
  return { model: id, code: "staged", message: `it is listed and not sold yet${why}` };
}
