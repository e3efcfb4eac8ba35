import { writeFile } from "node:fs/promises";
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: `${process.env.TM_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOKEN_MARKET_KEY,
});

const answer = await client.images.generate({
  model: process.env.TM_MODEL ?? "sim/image",
  prompt: "a red bicycle on a white wall",
  n: 2,
});
for (const [at, image] of answer.data.entries()) {
  const file = `image-${at + 1}.${image.media_type.split("/")[1].replace("svg+xml", "svg")}`;
  await writeFile(file, Buffer.from(image.b64_json, "base64"));
  console.log(file);
}
console.log(JSON.stringify(answer.usage));
