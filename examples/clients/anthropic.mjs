import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: process.env.TM_URL ?? "http://127.0.0.1:8080",
  apiKey: process.env.TOKEN_MARKET_KEY,
});

const stream = client.messages.stream({
  model: process.env.TM_MODEL ?? "sim/echo-a",
  max_tokens: 256,
  messages: [{ role: "user", content: "Say hello to the other wire" }],
});
stream.on("text", (text) => process.stdout.write(text));
const answer = await stream.finalMessage();
console.log(`\n\n${JSON.stringify(answer.usage)}`);
