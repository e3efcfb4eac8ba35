import { json, KEY_VARIABLE, type Snippet, type SnippetOf } from "./chat-snippets.ts";

/** Sets up an agent for each chat API. The key is set in the shell and written to no file. */
export function agentSnippets(
  of: Pick<SnippetOf, "gatewayUrl" | "modelId" | "secret">,
): readonly Snippet[] {
  const { modelId, secret = `$${KEY_VARIABLE}` } = of;
  const root = of.gatewayUrl.replace(/\/+$/, "");
  return [
    {
      label: "Claude Code",
      code: `export ANTHROPIC_BASE_URL=${root}
export ANTHROPIC_AUTH_TOKEN=${secret}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${modelId}
export CLAUDE_CODE_MAX_OUTPUT_TOKENS=32000
export CLAUDE_CODE_ATTRIBUTION_HEADER=0
export MAX_THINKING_TOKENS=0

claude --model ${modelId}`,
    },
    {
      label: "opencode",
      code: `export ${KEY_VARIABLE}=${secret === `$${KEY_VARIABLE}` ? "YOUR_KEY" : secret}

cat > opencode.json <<'END'
${json(openCode(root, modelId))}
END
opencode`,
    },
  ];
}

function openCode(root: string, modelId: string): object {
  return {
    $schema: "https://opencode.ai/config.json",
    model: `market/${modelId}`,
    small_model: `market/${modelId}`,
    provider: {
      market: {
        npm: "@ai-sdk/openai-compatible",
        name: "Token Market",
        options: { baseURL: `${root}/v1`, apiKey: `{env:${KEY_VARIABLE}}` },
        models: { [modelId]: {} },
      },
    },
  };
}
