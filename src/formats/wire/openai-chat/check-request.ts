import { ABSENT, type JsonDocument, type JsonNode, NODE_SIZE } from "../../../kernel/index.ts";
import { byWordId, word } from "../fields/chat-vocabulary.ts";
import {
  anything,
  type Check,
  type Fields,
  checkFilledList,
  isArray,
  isBoolean,
  isFilledText,
  isInteger,
  isNumber,
  isObject,
  isText,
  listOf,
  onceForSameBytes,
  optional,
  problem,
  shape,
  textOr,
  variant,
} from "../fields/check-shape.ts";
import {
  commonFields,
  markedFields,
  type MediaCollector,
  type MediaPart,
  textList,
} from "../fields/common-fields.ts";
import { refuseForbidden } from "../fields/forbidden-fields.ts";

const partShape: Check = variant(
  "type",
  {
    text: shape({ ...markedFields, text: isText }, { required: ["text"] }),
    refusal: shape({ ...markedFields, refusal: isText }, { required: ["refusal"] }),
    image_url: shape(
      {
        ...markedFields,
        image_url: shape({ url: isText, detail: optional(isText) }, { required: ["url"] }),
      },
      { required: ["image_url"] },
    ),
    input_audio: shape(
      { ...markedFields, input_audio: shape({ data: isText, format: isText }) },
      { required: ["input_audio"] },
    ),
    file: shape({ ...markedFields, file: shape({}) }, { required: ["file"] }),
    video_url: shape(
      { ...markedFields, video_url: shape({ url: isText }, { required: ["url"] }) },
      { required: ["video_url"] },
    ),
  },
  shape(markedFields),
);

const contentShape: Check = textOr(listOf(partShape), "must be a string or an array of parts");

function named(fields: Fields = {}): Check {
  return shape({ name: isFilledText, ...fields }, { required: ["name"] });
}

const functionCall: Check = named({ arguments: optional(isText) });

const toolCall: Check = shape(
  {
    id: isText,
    type: optional(isText),
    function: functionCall,
    custom: named({ input: optional(isText) }),
  },
  { required: ["id"] },
);

const messageFields: Fields = { role: isText, content: contentShape, name: optional(isText) };

const assistant: Check = shape({
  ...messageFields,
  content: optional(contentShape),
  refusal: optional(isText),
  tool_calls: optional(listOf(toolCall)),
  function_call: optional(functionCall),
  audio: optional(isObject),
  reasoning_content: optional(isText),
  reasoning: optional(isText),
  reasoning_details: optional(isArray),
});

const plain: Check = shape(messageFields, { required: ["content"] });

const message: Check = variant(
  "role",
  {
    system: plain,
    developer: plain,
    user: plain,
    assistant,
    tool: shape(
      { ...messageFields, tool_call_id: isText },
      { required: ["content", "tool_call_id"] },
    ),
    function: shape({ ...messageFields, content: optional(contentShape) }),
  },
  () => problem("must be system, developer, user, assistant, tool or function", "role"),
);

const namedFunction: Check = named({
  description: optional(isText),
  parameters: optional(shape({})),
  strict: optional(isBoolean),
});

const tool: Check = variant(
  "type",
  {
    function: shape({ ...markedFields, function: namedFunction }, { required: ["function"] }),
    custom: shape({ ...markedFields, custom: isObject }),
  },
  shape(markedFields),
);

const toolChoice: Check = textOr(
  shape(
    {
      type: isText,
      function: named(),
      custom: named(),
      allowed_tools: shape({ mode: isText, tools: listOf(isObject) }),
    },
    { required: ["type"] },
  ),
  "must be a string or an object",
);

/** Checks the types of known fields, and the names of all other top-level fields. */
export const checkBody: Check = shape(
  {
    ...commonFields,
    messages: checkFilledList(message, "must have at least one message"),
    stream_options: optional(shape({ include_usage: optional(isBoolean) })),
    stop: optional(textOr(textList, "must be a string or an array of strings")),
    tools: optional(onceForSameBytes(listOf(tool))),
    tool_choice: optional(toolChoice),
    parallel_tool_calls: optional(isBoolean),
    user: optional(isText),
    safety_identifier: optional(isText),
    store: optional(isBoolean),
    seed: optional(isInteger),
    logprobs: optional(isBoolean),
    top_logprobs: optional(isInteger),
    logit_bias: optional(isObject),
    frequency_penalty: optional(isNumber),
    presence_penalty: optional(isNumber),
    repetition_penalty: optional(isNumber),
    min_p: optional(isNumber),
    verbosity: optional(isText),
    prediction: optional(isObject),
    moderation: anything,
    prompt_cache_key: optional(isText),
    prompt_cache_options: optional(isObject),
    prompt_cache_retention: optional(isText),
    reasoning_effort: optional(isText),
    reasoning: optional(isObject),
    functions: optional(listOf(namedFunction)),
    function_call: optional(textOr(named(), "must be a string or an object")),
  },
  { required: ["model", "messages"], other: refuseForbidden },
);

/** Media kinds by part type, with spellings that only some servers accept. */
const kindByWord = byWordId<MediaPart["kind"]>({
  image_url: "image",
  input_image: "image",
  image: "image",
  input_audio: "audio",
  audio_url: "audio",
  file: "file",
  input_file: "file",
  document: "file",
  video_url: "video",
  input_video: "video",
  video: "video",
});

export function findMedia(doc: JsonDocument, media: MediaCollector): void {
  const messages = doc.member(0, word.messages);
  const end = doc.next(messages);
  let index = 0;
  for (let node = messages + NODE_SIZE; node < end; node = doc.next(node)) {
    const content = doc.member(node, word.content);
    if (content !== ABSENT && doc.isArray(content)) {
      for (const [position, part] of doc.items(content).entries()) {
        const declared = partKind(doc, part);
        if (declared !== undefined) {
          const path = `messages[${index}].content[${position}]`;
          const kind = dataKind(doc, part) ?? declared;
          media.add(path, kind, inlineBytes(doc, part), isInline(doc, part));
        }
      }
    }
    index += 1;
  }
}

export function partKind(doc: JsonDocument, part: JsonNode): MediaPart["kind"] | undefined {
  return kindByWord[doc.word(doc.member(part, word.type))];
}

/** Some providers read a data URL as what it says, whatever the part's type, and price it so. */
function dataKind(doc: JsonDocument, part: JsonNode): "audio" | "video" | undefined {
  const held = heldIn(doc, part);
  if (held === ABSENT) return undefined;
  const url = doc.isObject(held) ? doc.present(held, word.url) : held;
  const address = url === ABSENT ? doc.present(held, word.file_data) : url;
  if (address === ABSENT) return undefined;
  const start = doc.start(address) + 1;
  // Each character may be escaped with six bytes.
  const head = doc.body
    .toString("latin1", start, start + 6 * "data:audio/".length)
    .replaceAll(/\\(?:u(.{4})|(.))/g, (_, hex: string | undefined, escaped: string) =>
      hex === undefined ? escaped : String.fromCharCode(Number.parseInt(hex, 16)),
    );
  const kind = /^data:(audio|video)\//i.exec(head)?.[1]?.toLowerCase();
  return kind === "audio" || kind === "video" ? kind : undefined;
}

function heldIn(doc: JsonDocument, part: JsonNode): JsonNode {
  return doc.present(part, doc.word(doc.member(part, word.type)));
}

function inlineBytes(doc: JsonDocument, part: JsonNode): number {
  const image = doc.member(part, word.image_url);
  if (image === ABSENT || !doc.isObject(image)) return 0;
  const url = doc.member(image, word.url);
  if (url === ABSENT) return 0;
  const start = doc.start(url) + 1;
  const head = doc.body.toString("latin1", start, Math.min(start + 100, doc.end(url)));
  const marker = /^data:image\/[^,"]*;base64,/.exec(head)?.[0];
  return marker === undefined ? 0 : doc.end(url) - 1 - start - marker.length;
}

/** True if the body contains the media itself: as a data URL, or in `data` without a URL. */
function isInline(doc: JsonDocument, part: JsonNode): boolean {
  const held = heldIn(doc, part);
  if (held === ABSENT) return false;
  if (!doc.isObject(held)) return isDataAddress(doc, held);
  const url = doc.present(held, word.url);
  return url === ABSENT ? doc.present(held, word.data) !== ABSENT : isDataAddress(doc, url);
}

function isDataAddress(doc: JsonDocument, node: JsonNode): boolean {
  const start = doc.start(node);
  return doc.body.toString("latin1", start, start + 6) === '"data:';
}
