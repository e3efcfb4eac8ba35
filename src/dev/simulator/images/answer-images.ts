import type { ImageCheat } from "../cheat.ts";
import { deliverJson, deliverPieces, failEarly } from "../deliver.ts";
import { isObject, jsonText } from "../json.ts";
import { invalidValue } from "../media-requests.ts";
import type { ImageFault } from "../faults.ts";
import type { ReceivedCall } from "../received-call.ts";
import { isRefused, findRequestProblem } from "../trouble.ts";
import { priceImages, type ImageHost } from "./image-host.ts";
import { readImageOrder, type ImageOrder } from "./image-order.ts";
import { base64Length, base64Pieces, renderFile, drawPicture, type Picture } from "./picture.ts";

export async function answerImages(host: ImageHost, call: ReceivedCall): Promise<void> {
  const { delivery, body } = call;
  const { faults } = delivery;
  await failEarly(delivery);
  const problem = findRequestProblem(call, (asked) => invalidValue(host.accepts(asked, "")));
  if (await isRefused(host, delivery, problem)) return;
  if (faults.image?.moderation_flag === true) {
    return await deliverJson(delivery, 200, host.blocked(call.createdS));
  }
  await deliverImages(host, call, readImageOrder(isObject(body) ? body : {}));
}

async function deliverImages(
  host: ImageHost,
  { delivery, createdS, nextChatAnswer }: ReceivedCall,
  order: ImageOrder,
): Promise<void> {
  const { faults } = delivery;
  if (faults.body === "html") return await deliverJson(delivery, 200, {});
  const { image = {} } = faults;
  const cheat = faults.cheat?.image ?? {};
  const count = image.count ?? cheat.count?.(order.count) ?? order.count;
  const canvas = cheat.canvas?.(order.canvas) ?? order.canvas;
  const parts: (Buffer | Picture)[] = [Buffer.from(`{"created":${createdS},"data":[`)];
  const call = nextChatAnswer();
  for (let index = 0; index < count; index += 1) {
    if (index > 0) parts.push(Buffer.from(","));
    parts.push(...imageParts(host, { ...order, canvas }, { image, index, cheat, call }));
  }
  parts.push(Buffer.from(`]${renderRest(host, order, faults)}`));
  const lengthBytes = parts.reduce((sum, part) => sum + countBytes(part), 0);
  const pieces = iteratePieces(parts);
  await deliverPieces(delivery, { status: 200, type: "application/json", lengthBytes, pieces });
}

/* Writes one item of `data`: JSON text before and after the base64 of its picture. */
function imageParts(
  host: ImageHost,
  order: ImageOrder,
  made: {
    readonly image: ImageFault;
    readonly index: number;
    readonly cheat: ImageCheat;
    readonly call: number;
  },
): readonly (Buffer | Picture)[] {
  const { image, index, cheat, call } = made;
  const seed = cheat.seed?.(order.prompt, index) ?? `${order.prompt}:${index}`;
  const picture = drawPicture(order.canvas, seed, image.bytes);
  const beside = jsonText(host.besideImage(picture.mediaType)).slice(1);
  const end = `"${beside === "}" ? "" : ","}${beside}`;
  const isUrl = image.url_only === true || (host.prefersUrl && !order.wantsBase64);
  if (isUrl) {
    const url = `https://images.invalid/${index}.${order.canvas.format}`;
    return [Buffer.from(`{"url":"${url}${end}`)];
  }
  const changed = cheat.file?.(renderFile(picture), call).toString("base64");
  return [
    Buffer.from('{"b64_json":"'),
    brokenPicture(image) ?? (changed === undefined ? picture : Buffer.from(changed)),
    Buffer.from(end),
  ];
}

function brokenPicture(image: ImageFault): Buffer | undefined {
  if (image.bad_base64 === true) return Buffer.from("this is *not* base64!");
  if (image.not_an_image === true) return Buffer.from(btoa("a text and no picture at all"));
  return image.empty === true ? Buffer.alloc(0) : undefined;
}

/* Writes the JSON text that follows the list of images, including the closing brace. */
function renderRest(
  host: ImageHost,
  order: ImageOrder,
  faults: ReceivedCall["delivery"]["faults"],
): string {
  const { image = {}, usage = {}, no_usage: noUsage } = faults;
  const { billed, model: otherModel, hidesUsage = false } = faults.cheat?.image ?? {};
  const model = faults.model_echo ?? otherModel;
  const isSilent = noUsage === true || hidesUsage;
  const costUsd = image.cost === undefined ? priceImages(order) : image.cost;
  const reported = isSilent
    ? {}
    : { usage: { ...host.usage({ ...order, ...billed?.(order) }, costUsd), ...usage } };
  const echo = model === undefined ? {} : { model };
  const rest = jsonText({ ...host.besideList(order), ...echo, ...reported }).slice(1);
  return rest === "}" ? rest : `,${rest}`;
}

function countBytes(part: Buffer | Picture): number {
  return Buffer.isBuffer(part) ? part.length : base64Length(part.lengthBytes);
}

function* iteratePieces(parts: readonly (Buffer | Picture)[]): Generator<Buffer> {
  for (const part of parts) {
    if (Buffer.isBuffer(part)) yield part;
    else yield* base64Pieces(part);
  }
}
