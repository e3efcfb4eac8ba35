import { NODE_SIZE } from "../../../kernel/index.ts";
import {
  anything,
  type Check,
  type Fields,
  isArray,
  isBoolean,
  isFilledText,
  isInteger,
  isNumber,
  isObject,
  isText,
  listOf,
  optional,
  problem,
  shape,
  textOr,
  variant,
} from "../fields/check-shape.ts";
import { cacheMark, commonFields, textList } from "../fields/common-fields.ts";
import { refuseForbidden } from "../fields/forbidden-fields.ts";

const partFields: Fields = { type: isText, cache_control: optional(cacheMark) };

const part: Check = variant(
  "type",
  {
    text: shape({ ...partFields, text: isText }, { required: ["text"] }),
    refusal: shape({ ...partFields, refusal: isText }, { required: ["refusal"] }),
    image_url: shape(
      {
        ...partFields,
        image_url: shape({ url: isText, detail: optional(isText) }, { required: ["url"] }),
      },
      { required: ["image_url"] },
    ),
    input_audio: shape(
      { ...partFields, input_audio: shape({ data: isText, format: isText }) },
      { required: ["input_audio"] },
    ),
    file: shape({ ...partFields, file: shape({}) }, { required: ["file"] }),
    video_url: shape(
      { ...partFields, video_url: shape({ url: isText }, { required: ["url"] }) },
      { required: ["video_url"] },
    ),
  },
  shape(partFields),
);

const content: Check = textOr(listOf(part), "must be a string or an array of parts");

const toolCall: Check = shape(
  {
    id: isText,
    type: optional(isText),
    function: shape({ name: isFilledText, arguments: optional(isText) }, { required: ["name"] }),
    custom: shape({ name: isFilledText, input: optional(isText) }, { required: ["name"] }),
  },
  { required: ["id"] },
);

const legacyCall: Check = shape(
  { name: isFilledText, arguments: optional(isText) },
  { required: ["name"] },
);

const messageFields: Fields = { role: isText, content, name: optional(isText) };

const assistant: Check = shape({
  ...messageFields,
  content: optional(content),
  refusal: optional(isText),
  tool_calls: optional(listOf(toolCall)),
  function_call: optional(legacyCall),
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
    function: shape({ ...messageFields, content: optional(content) }),
  },
  () => problem("must be system, developer, user, assistant, tool or function", "role"),
);

const messages: Check = (doc, node) =>
  isArray(doc, node) ??
  (doc.next(node) === node + NODE_SIZE
    ? problem("must have at least one message")
    : listOf(message)(doc, node));

const namedFunction: Check = shape(
  {
    name: isFilledText,
    description: optional(isText),
    parameters: optional(shape({})),
    strict: optional(isBoolean),
  },
  { required: ["name"] },
);

const toolFields: Fields = { type: isText, cache_control: optional(cacheMark) };

const tool: Check = variant(
  "type",
  {
    function: shape({ ...toolFields, function: namedFunction }, { required: ["function"] }),
    custom: shape({ ...toolFields, custom: isObject }),
  },
  shape(toolFields),
);

const functionName: Check = shape({ name: isFilledText }, { required: ["name"] });

const toolChoice: Check = textOr(
  shape(
    {
      type: isText,
      function: functionName,
      custom: functionName,
      allowed_tools: shape({ mode: isText, tools: listOf(isObject) }),
    },
    { required: ["type"] },
  ),
  "must be a string or an object",
);

/** The grammar of a chat-completions body: known fields by type, other members pass. */
export const checkBody: Check = shape(
  {
    ...commonFields,
    messages,
    stream_options: optional(shape({ include_usage: optional(isBoolean) })),
    stop: optional(textOr(textList, "must be a string or an array of strings")),
    tools: optional(listOf(tool)),
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
    function_call: optional(textOr(functionName, "must be a string or an object")),
  },
  { required: ["model", "messages"], other: refuseForbidden },
);
