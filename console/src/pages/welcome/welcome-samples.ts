/**
 * A first call with curl and with the usual clients of both wires. While the key is on the page it
 * is in the first line, so that the call runs as it is copied; afterwards a placeholder does.
 */
export function welcomeSamples(
  gatewayUrl: string,
  model: string,
  secret: string | undefined,
): readonly { readonly label: string; readonly code: string }[] {
  const root = gatewayUrl.replace(/\/+$/, "");
  const key = secret ?? "YOUR_KEY";
  return [
    {
      label: "curl",
      code: `export TOKEN_MARKET_KEY=${key}

curl ${root}/v1/chat/completions \\
  -H "authorization: Bearer $TOKEN_MARKET_KEY" \\
  -H "content-type: application/json" \\
  -d '{"model": "${model}", "max_tokens": 64, "messages": [{"role": "user", "content": "Say hello"}]}'`,
    },
    {
      label: "OpenAI SDK",
      code: `# pip install openai
from openai import OpenAI

client = OpenAI(base_url="${root}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    max_tokens=64,
    messages=[{"role": "user", "content": "Say hello"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      label: "Anthropic SDK",
      code: `# pip install anthropic
from anthropic import Anthropic

client = Anthropic(base_url="${root}", api_key="${key}")
message = client.messages.create(
    model="${model}",
    max_tokens=64,
    messages=[{"role": "user", "content": "Say hello"}],
)
print(message.content[0].text)`,
    },
  ];
}
