import { ABSENT, type JsonDocument, type JsonNode, NODE_SIZE } from "../../../kernel/index.ts";
import { chatVocabulary, type ChatWord, word } from "../fields/chat-vocabulary.ts";
import type { MediaPart, MediaCollector } from "../neutral/media-collector.ts";

/** Part types by what they hold; some servers take spellings beside the first-party ones. */
const kinds: Readonly<Partial<Record<ChatWord, MediaPart["kind"]>>> = {
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
};

const kindByWord = Array.from(
  { length: chatVocabulary.size + 1 },
  (_, id) => kinds[(chatVocabulary.nameOf(id) ?? "") as ChatWord],
);

/** Finds the media parts of all messages of a checked body. */
export function findMedia(doc: JsonDocument, media: MediaCollector): void {
  const messages = doc.member(0, word.messages);
  const end = doc.next(messages);
  let index = 0;
  for (let node = messages + NODE_SIZE; node < end; node = doc.next(node)) {
    const content = doc.member(node, word.content);
    if (content !== ABSENT && doc.isArray(content)) {
      for (const [position, part] of doc.items(content).entries()) {
        const kind = partKind(doc, part);
        if (kind !== undefined) {
          media.add(`messages[${index}].content[${position}]`, kind, {
            imageBytes: inlineBytes(doc, part),
            isInline: isInline(doc, part),
          });
        }
      }
    }
    index += 1;
  }
}

/** What a checked content part holds; undefined for text and for parts of unknown types. */
export function partKind(doc: JsonDocument, part: JsonNode): MediaPart["kind"] | undefined {
  return kindByWord[doc.word(doc.member(part, word.type))];
}

/** Base64 bytes of an image in the body as a data URL. */
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

/** Data and no address: a part that has both is one that its provider may fetch. */
function isInline(doc: JsonDocument, part: JsonNode): boolean {
  const held = doc.present(part, doc.word(doc.member(part, word.type)));
  if (held === ABSENT) return false;
  if (!doc.isObject(held)) return isDataAddress(doc, held);
  const url = doc.present(held, word.url);
  return url === ABSENT ? doc.present(held, word.data) !== ABSENT : isDataAddress(doc, url);
}

function isDataAddress(doc: JsonDocument, node: JsonNode): boolean {
  const start = doc.start(node);
  return doc.body.toString("latin1", start, start + 6) === '"data:';
}
