import { describe, expect, test } from "vitest";

import { moveText, parsed } from "../../../test/fixtures/moving-in/move-text.ts";
import { renderFiles } from "./move-litellm.ts";

/** A different secret for every place, so that a leak says where it came from. */
let count = 0;
function canary(form = ""): string {
  count += 1;
  return `${form}canary${String(count).padStart(4, "0")}x7Qz`;
}

const CONFIG = `
model_list:
  - model_name: gpt-4.1
    litellm_params:
      model: openai/gpt-4.1
      api_key: ${canary("sk-")}
      organization: ${canary("org-")}
      extra_headers: {authorization: Bearer ${canary()}, x: ${canary()}}
      aws_secret_access_key: ${canary()}
      azure_ad_token: ${canary("eyJ")}
      vertex_credentials: ${canary()}
      unheard_of_key: ${canary()}
      unknown_parameter: {deep: [${canary()}]}
      input_cost_per_token: ${canary()}
      rpm: ${canary()}
    model_info:
      id: ${canary()}
      description: ${canary()}
      ${canary("sk-")}: in a key
  - model_name: proxied
    litellm_params: {model: openai/m, api_base: "https://u:${canary()}@h.example/v1", api_key: ${canary()}}
  - model_name: queried
    litellm_params: {model: openai/m, api_base: "https://h.example/v1?key=${canary()}"}
  - model_name: pathed
    litellm_params: {model: openai/m, api_base: "https://h.example/${canary("sk-long-secret-")}/v1"}
  - model_name: ${canary("sk-ant-api03-")}
    litellm_params: {model: openai/gpt-4.1}
  - model_name: named
    litellm_params: {model: "openai/${canary("sk-proj-longlong")}"}
  - model_name: referenced
    litellm_params: {model: openai/gpt-4.1, api_key: "os.environ/${canary("sk-")}"}
  - ${canary()}
router_settings:
  redis_password: ${canary()}
  redis_url: redis://u:${canary()}@h:1
  model_group_alias: {"${canary("sk-ant-api03-")}": gpt-4.1, a: "${canary()}"}
  routing_strategy: ${canary()}
litellm_settings:
  cache_params: {password: ${canary()}}
  request_timeout: ${canary()}
  unknown: ${canary()}
general_settings:
  master_key: ${canary("sk-")}
  database_url: postgresql://u:${canary()}@h/db
  alert_to_webhook_url: {x: https://hooks.example/${canary()}}
  pass_through_endpoints: [{headers: {authorization: ${canary()}}}]
environment_variables:
  OPENAI_API_KEY: ${canary("sk-")}
  PLAIN: ${canary()}
unknown_section: {a: ${canary()}}
`;
const KEYS = `{keys: [{token: ${canary()}, key_name: sk-...${canary()}, metadata: {k: ${canary()}},
  permissions: ${canary()}, expires: ${canary()}, unknown: ${canary()}}]}`;
const TEAMS = `[{team_id: t, metadata: {logging: [{callback_vars: {langfuse_secret: ${canary()}}}]}}]`;

describe("a configuration full of secrets", () => {
  const moved = moveText(CONFIG, { keys: parsed(KEYS), teams: parsed(TEAMS) });
  const outputs = [JSON.stringify(moved), ...renderFiles(moved).map(({ text }) => text)].join("\n");

  test("is moved without a secret in any output", () => {
    expect(count).toBeGreaterThan(40);
    expect(moved.listings.length).toBeGreaterThan(1);
    expect(outputs).toContain("OPENAI_API_KEY");
    expect(outputs.match(/canary\d+/g) ?? []).toEqual([]);
  });

  test("loses the deployments with a secret in their name, model or address", () => {
    const names = moved.listings.map(({ id }) => id);
    for (const lost of ["proxied", "queried", "pathed", "named"]) expect(names).not.toContain(lost);
    const notes = moved.notes.filter(({ why }) => why.includes("holds a secret"));
    expect(notes.map(({ path }) => path)).toEqual([
      "model_list[3]",
      "model_list[4]",
      "model_list[5]",
    ]);
  });
});
