import { REFUSALS } from "../../src/kernel/core/refusals.ts";
import { code, table } from "./markdown.ts";

/** docs/guides/errors.md: what a program does about each class, from the one table of refusals. */
export function errorsGuide(): string {
  const rows = Object.entries(REFUSALS).map(([name, row]) => [
    code(name),
    String(row.status),
    row.retryable ? "yes" : "no",
    row.condition,
    row.advice,
  ]);
  return `${HEAD}\n${table(["Class", "Status", "Retryable", "When", "What to do"], rows)}\n`;
}

const HEAD = `# Errors

Every error names its class: in the header \`x-tm-error-code\`, in \`error.metadata.error_type\` (chat
completions) and in \`error.error_type\` (messages). The gateway writes the body; the provider's status is in
\`x-tm-upstream-status\`. Every response has an \`x-request-id\`. A rejected request costs nothing.

\`\`\`sh
curl -s http://127.0.0.1:8080/v1/chat/completions \\
  -H "authorization: Bearer $TOKEN_MARKET_KEY" \\
  -H "content-type: application/json" \\
  -d '{"model":"no/such-model","messages":[{"role":"user","content":"Say hello"}]}'
\`\`\`

\`\`\`python
import os
import openai

client = openai.OpenAI(base_url="http://127.0.0.1:8080/v1", api_key=os.environ["TOKEN_MARKET_KEY"])
try:
    client.chat.completions.create(
        model="no/such-model",
        messages=[{"role": "user", "content": "Say hello"}],
    )
except openai.APIStatusError as error:
    print(error.response.headers["x-tm-error-code"], error.response.headers["x-request-id"])
\`\`\`

\`\`\`ts
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "http://127.0.0.1:8080/v1",
  apiKey: process.env.TOKEN_MARKET_KEY,
});
try {
  await client.chat.completions.create({
    model: "no/such-model",
    messages: [{ role: "user", content: "Say hello" }],
  });
} catch (error) {
  if (!(error instanceof OpenAI.APIError)) throw error;
  console.log(error.code, error.headers?.get("x-request-id"));
}
\`\`\`

The table shows the usual status of each class; the *When* column names any other. See also
[retries](retries.md) and [limits](limits.md).
`;
