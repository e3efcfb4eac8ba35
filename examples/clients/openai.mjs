import OpenAI from "openai";

const client = new OpenAI({
  baseURL: `${process.env.TM_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOKEN_MARKET_KEY,
});

const stream = client.chat.completions.stream({
  model: process.env.TM_MODEL ?? "sim/echo-b",
  messages: [{ role: "user", content: "Say hello to the other wire" }],
});
stream.on("content", (text) => process.stdout.write(text));
const answer = await stream.finalChatCompletion();
console.log(`\n\n${JSON.stringify(answer.usage)}`);
