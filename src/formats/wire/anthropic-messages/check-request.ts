import { ABSENT } from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";
import {
  type Check,
  checkFilledList,
  isBoolean,
  isFilledText,
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
import { commonFields, markedFields, textList } from "../fields/common-fields.ts";
import { refuseForbidden } from "../fields/forbidden-fields.ts";

const textBlock: Check = shape({ ...markedFields, text: isText }, { required: ["text"] });
const BLOCKS_MESSAGE = "must be a string or an array of content blocks";
/** The content of a tool result or of a source, which can itself contain blocks. */
const nestedContent: Check = textOr((doc, node) => nestedBlocks(doc, node), BLOCKS_MESSAGE);
const sourceType: Check = (doc, node) =>
  isText(doc, node) ?? (doc.word(node) === word.file ? keptFile : undefined);
const keptFile = problem(
  "is file, which is not accepted: files are stored at one provider, and none stores files for this " +
    "gateway; send the content itself, as base64, text or url",
);
const source: Check = shape({
  type: sourceType,
  content: nestedContent,
  data: isText,
  url: isText,
});
const sourced: Check = shape({ ...markedFields, source }, { required: ["source"] });
const nestedBlock: Check = variant(
  "type",
  { text: textBlock, image: sourced, document: sourced },
  (doc, node) => unknownBlock(doc, node),
);
const nestedBlocks: Check = listOf(nestedBlock);
/** In the content of an unknown block, what has no type is passed on. */
const unknownContent: Check = (doc, node) =>
  doc.isObject(node) && doc.member(node, word.type) !== ABSENT ? nestedBlock(doc, node) : undefined;
const unknownContents: Check = listOf(unknownContent);
/** A block of any other type, whose content may be one block or a list. */
const unknownBlock: Check = shape({
  ...markedFields,
  content: (doc, node) => (doc.isArray(node) ? unknownContents : unknownContent)(doc, node),
});

const block: Check = variant(
  "type",
  {
    text: textBlock,
    image: sourced,
    document: sourced,
    tool_use: shape(
      { ...markedFields, id: isText, name: isFilledText, input: isObject },
      { required: ["id", "name", "input"] },
    ),
    tool_result: shape(
      {
        ...markedFields,
        tool_use_id: isText,
        content: optional(nestedContent),
        is_error: optional(isBoolean),
      },
      { required: ["tool_use_id"] },
    ),
    thinking: shape({ ...markedFields, thinking: isText, signature: optional(isText) }),
    redacted_thinking: shape({ ...markedFields, data: isText }),
    container_upload: () =>
      problem(
        "is container_upload, which is not accepted: no container runs here; remove it",
        "type",
      ),
  },
  unknownBlock,
);

const content: Check = textOr(listOf(block), BLOCKS_MESSAGE);
const message: Check = shape({ role: isText, content }, { required: ["content"] });

/** A system message may have only settings of its turn. */
const systemMessage: Check = (doc, node) =>
  (doc.member(node, word.output_config) === ABSENT ? message : settings)(doc, node);
const settings: Check = shape({ role: isText, content, output_config: optional(isObject) });

const roleAndMessage: Check = variant(
  "role",
  { user: message, assistant: message, system: systemMessage },
  () => problem("must be user, assistant or system", "role"),
);

const tool: Check = shape({
  ...markedFields,
  type: optional(isText),
  name: isFilledText,
  description: optional(isText),
  input_schema: optional(shape({})),
  strict: optional(isBoolean),
});

/** Checks the types of known fields, and the names of all other top-level fields. */
export const checkBody: Check = shape(
  {
    ...commonFields,
    messages: checkFilledList(roleAndMessage, "must have at least one message"),
    system: optional(textOr(listOf(block), BLOCKS_MESSAGE)),
    stop_sequences: optional(textList),
    tools: optional(onceForSameBytes(listOf(tool))),
    tool_choice: optional(
      shape(
        {
          type: isText,
          name: isFilledText,
          disable_parallel_tool_use: optional(isBoolean),
        },
        { required: ["type"] },
      ),
    ),
    metadata: optional(shape({ user_id: optional(isText) })),
    thinking: optional(shape({ type: isText }, { required: ["type"] })),
    output_format: optional(() => problem("is not accepted; send it as output_config.format")),
    output_config: optional(shape({ effort: optional(isText), format: optional(isObject) })),
  },
  { required: ["model", "messages"], other: refuseForbidden },
);
