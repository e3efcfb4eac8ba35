import { ABSENT, type JsonDocument, type JsonNode, NODE_SIZE } from "../../../kernel/index.ts";
import { chatVocabulary, type ChatWord, word } from "../fields/chat-vocabulary.ts";
import type { MediaPart, MediaCollector } from "../neutral/media-collector.ts";

const kinds: Readonly<Partial<Record<ChatWord, MediaPart["kind"]>>> = {
  image: "image",
  document: "file",
  audio: "audio",
  video: "video",
};

const kindByWord = Array.from(
  { length: chatVocabulary.size + 1 },
  (_, id) => kinds[(chatVocabulary.nameOf(id) ?? "") as ChatWord],
);

/** Finds the media blocks of a checked body, those inside tool results and documents too. */
export function findMedia(doc: JsonDocument, media: MediaCollector): void {
  const system = doc.member(0, word.system);
  if (system !== ABSENT) findInContent(doc, system, { path: "system", media });
  const messages = doc.member(0, word.messages);
  const end = doc.next(messages);
  let index = 0;
  for (let node = messages + NODE_SIZE; node < end; node = doc.next(node)) {
    const content = doc.member(node, word.content);
    if (doc.isArray(content)) {
      findInContent(doc, content, { path: `messages.${index}.content`, media });
    }
    index += 1;
  }
}

interface Place {
  readonly path: string;
  readonly media: MediaCollector;
}

/** The readable depth of a document bounds the recursion. */
function findInContent(doc: JsonDocument, content: JsonNode, { path, media }: Place): void {
  if (!doc.isArray(content)) return;
  for (const [position, block] of doc.items(content).entries()) {
    const place = { path: `${path}.${position}`, media };
    const kind = blockKind(doc, block);
    if (kind !== undefined) {
      const bytes = inlineBytes(doc, block);
      media.add(place.path, kind, { imageBytes: bytes, isInline: bytes > 0 });
    }
    findNested(doc, doc.member(block, word.content), { path: `${place.path}.content`, media });
    const source = doc.member(block, word.source);
    if (source !== ABSENT && doc.isObject(source)) {
      const nested = { path: `${place.path}.source.content`, media };
      findNested(doc, doc.member(source, word.content), nested);
    }
  }
}

function findNested(doc: JsonDocument, content: JsonNode, place: Place): void {
  if (content !== ABSENT) findInContent(doc, content, place);
}

/** What a checked content block holds; undefined for text and for blocks of other types. */
export function blockKind(doc: JsonDocument, block: JsonNode): MediaPart["kind"] | undefined {
  const type = doc.isObject(block) ? doc.member(block, word.type) : ABSENT;
  return type === ABSENT || !doc.isString(type) ? undefined : kindByWord[doc.word(type)];
}

/** Base64 bytes of an image in the body. */
function inlineBytes(doc: JsonDocument, block: JsonNode): number {
  const source = doc.member(block, word.source);
  if (source === ABSENT || !doc.isObject(source)) return 0;
  const type = doc.member(source, word.type);
  const data = doc.member(source, word.data);
  if (type === ABSENT || data === ABSENT || !doc.isString(type) || !doc.isString(data)) return 0;
  return doc.word(type) === word.base64 ? doc.end(data) - doc.start(data) - 2 : 0;
}
