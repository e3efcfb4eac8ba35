import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  pathText,
  READ_DEPTH_MAX,
} from "../../../kernel/index.ts";
import { problem, type Problem } from "../../wire/fields/check-shape.ts";
import { scanDeeper, TOO_MANY_VALUES } from "../../wire/fields/forbidden-fields.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";

/** An object of type `image_url` in the state or in a question. */
export interface ImagePart {
  /** `state.items[2]` */
  readonly path: string;
  readonly isInState: boolean;
  /** Bytes of its base64 text in the body. */
  readonly inlineBytes: number;
}

/**
 * Checks every object of a body, however deep: a duplicated key is refused, because the
 * provider might read the other one, and image parts are gathered.
 */
export function inspectBody(doc: JsonDocument): readonly ImagePart[] | Problem {
  const inspection = new Inspection();
  return inspection.visit(doc, 0, 0) ?? inspection.images;
}

/** Neither an image nor a duplicated key fits in fewer: `{"":0,"":0}`. */
const TELLING_BYTES_MIN = 11;
/** The members whose content reaches the provider. */
const readByModels = new Set<string | number>(["state", "questions", "schema"]);

class Inspection {
  readonly images: ImagePart[] = [];
  readonly #path: (string | number)[] = [];

  /** `depth`: containers of `doc` around this one. */
  visit(doc: JsonDocument, node: JsonNode, depth: number): Problem | undefined {
    if (doc.end(node) - doc.start(node) < TELLING_BYTES_MIN) return undefined;
    if (depth === READ_DEPTH_MAX) return this.#visitDeeper(doc, node);
    if (doc.isObject(node)) return this.#visitObject(doc, node, depth);
    return doc.isArray(node) ? this.#visitArray(doc, node, depth) : undefined;
  }

  /** The address of an image is two levels below its part. */
  #visitDeeper(doc: JsonDocument, node: JsonNode): Problem | undefined {
    if (!doc.isObject(node) && !doc.isArray(node)) return undefined;
    const deeper = scanDeeper(doc, node);
    return deeper === undefined
      ? problem(TOO_MANY_VALUES, ...this.#path)
      : this.visit(deeper, 0, 0);
  }

  #visitObject(doc: JsonDocument, object: JsonNode, depth: number): Problem | undefined {
    const names = new Set<string>();
    for (const key of doc.keys(object)) {
      const name = doc.text(key);
      if (names.has(name)) return problem("is duplicated; send it once", ...this.#path, name);
      names.add(name);
      const found = this.#visitChild(name, doc, doc.valueOf(key), depth);
      if (found !== undefined) return found;
    }
    return this.#isImage(doc, object) ? this.#addImage(doc, object) : undefined;
  }

  #visitArray(doc: JsonDocument, array: JsonNode, depth: number): Problem | undefined {
    for (const [index, item] of doc.items(array).entries()) {
      const found = this.#visitChild(index, doc, item, depth);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #visitChild(
    step: string | number,
    doc: JsonDocument,
    node: JsonNode,
    depth: number,
  ): Problem | undefined {
    this.#path.push(step);
    const found = this.visit(doc, node, depth + 1);
    this.#path.pop();
    return found;
  }

  #isImage(doc: JsonDocument, object: JsonNode): boolean {
    if (!readByModels.has(this.#path[0] ?? "")) return false;
    const type = doc.member(object, word.type);
    return type !== ABSENT && doc.isString(type) && doc.word(type) === word.image_url;
  }

  #addImage(doc: JsonDocument, object: JsonNode): Problem | undefined {
    const inlineBytes = inlineImageBytes(doc, object);
    if (inlineBytes === undefined) {
      return problem(ONLY_INLINE, ...this.#path, "image_url", "url");
    }
    const isInState = this.#path[0] === "state";
    this.images.push({ path: pathText(this.#path), isInState, inlineBytes });
    return undefined;
  }
}

const ONLY_INLINE =
  "must be a data: URL with a png, jpeg or webp image in base64; nothing is fetched";

/** Bytes of the base64 text of an image part; undefined when its address is not such a data URL. */
function inlineImageBytes(doc: JsonDocument, part: JsonNode): number | undefined {
  const image = doc.member(part, word.image_url);
  if (image === ABSENT || !doc.isObject(image)) return undefined;
  const url = doc.member(image, word.url);
  if (url === ABSENT || !doc.isString(url)) return undefined;
  if (!/^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(doc.text(url))) {
    return undefined;
  }
  // Measured as sent: some clients write each slash of it with a backslash.
  const comma = doc.body.indexOf(0x2c, doc.start(url));
  return comma === -1 || comma >= doc.end(url) ? 0 : doc.end(url) - 1 - (comma + 1);
}
