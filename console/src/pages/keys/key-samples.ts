const PLACEHOLDER = "$TOKEN_MARKET_KEY";

/** One runnable call; the key comes from the shell, so that it is not in the shell's history. */
export function curlSample(gatewayUrl: string, model: string): string {
  return [
    `curl ${rootOf(gatewayUrl)}/v1/chat/completions \\`,
    `  -H "authorization: Bearer ${PLACEHOLDER}" \\`,
    `  -H "content-type: application/json" \\`,
    `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
  ].join("\n");
}

/** The same call with curl and with the usual clients of both wires; never with a real key. */
export function keySamples(
  gatewayUrl: string,
  model: string,
): readonly { readonly label: string; readonly code: string }[] {
  const root = rootOf(gatewayUrl);
  return [
    { label: "curl", code: curlSample(gatewayUrl, model) },
    {
      label: "OpenAI SDK",
      code: [
        `import OpenAI from "openai";`,
        ``,
        `const client = new OpenAI({`,
        `  baseURL: "${root}/v1",`,
        `  apiKey: process.env.TOKEN_MARKET_KEY,`,
        `});`,
        `const answer = await client.chat.completions.create({`,
        `  model: "${model}",`,
        `  messages: [{ role: "user", content: "Hello" }],`,
        `});`,
        `console.log(answer.choices[0].message.content);`,
      ].join("\n"),
    },
    {
      label: "Anthropic SDK",
      code: [
        `import Anthropic from "@anthropic-ai/sdk";`,
        ``,
        `const client = new Anthropic({`,
        `  baseURL: "${root}",`,
        `  apiKey: process.env.TOKEN_MARKET_KEY,`,
        `});`,
        `const message = await client.messages.create({`,
        `  model: "${model}",`,
        `  max_tokens: 256,`,
        `  messages: [{ role: "user", content: "Hello" }],`,
        `});`,
        `console.log(message.content);`,
      ].join("\n"),
    },
  ];
}

function rootOf(gatewayUrl: string): string {
  return gatewayUrl.replace(/\/+$/, "");
}
