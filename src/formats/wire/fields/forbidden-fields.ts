import {
  assert,
  foldName,
  type JsonDocument,
  type JsonNode,
  NODE_SIZE,
  READ_DEPTH_MAX,
  scanJson,
  UNKNOWN_FIELDS_MAX,
} from "../../../kernel/index.ts";
import { chatVocabulary } from "./chat-vocabulary.ts";
import { type Problem, problem } from "./check-shape.ts";

const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const LOWER_A = 0x61;
const LOWER_Z = 0x7a;

/** Names of credentials and destinations, refused at any depth outside content and schemas. */
const deepNames = new Set([
  "accesstoken", "apibase", "apikey", "apikeyenv", "apiurl", "authtoken", "awsaccesskeyid",
  "awsbedrockruntimeendpoint", "awsprofilename", "awsrolename", "awssecretaccesskey",
  "awssessiontoken", "awsstsendpoint", "awswebidentitytoken", "azureadtoken", "azureendpoint",
  "baseurl", "bearertoken", "clientsecret", "connectionid", "googleapplicationcredentials",
  "httpproxy", "httpsproxy", "proxies", "proxy", "vertexcredentials", "vertexlocation",
  "vertexproject", "xapikey",
]); // prettier-ignore

/** Names refused at the top level and in `provider`. Deeper, only `deepNames` are refused. */
const topNames = new Set([
  ...deepNames, "apitype", "apiversion", "authorization", "credentials", "endpoint",
  "extraheaders", "extraquery", "headers", "host", "organization", "organizationid", "secret",
  "token", "url",
]); // prettier-ignore

const deepHashes = new Set(
  [...deepNames].map((name) => plainHash(Buffer.from(name), 0, name.length)),
);
/** Bytes of the smallest container that can have a forbidden name: `{"proxy":0}`. */
const TELLING_BYTES_MIN = 11;

/** Maximum length of a key that is compared with forbidden names, all of which are shorter. */
const NAME_CHARS_MAX = 64;
/** Maximum bytes of a compared key, with its quotes. An escaped letter (`\u0061`) has six bytes. */
const NAME_BYTES_MAX = 6 * NAME_CHARS_MAX + 2;

/** Names that some JSON parsers treat specially. No request has them at its top level. */
const prototypeNames = new Set(["constructor", "prototype"]);

/** Refuses credentials and destinations in any spelling: `base_url`, `baseURL`, `base-url`. */
export function refuseCredential(name: string): Problem | undefined {
  return isNamedIn(topNames, name) ? problem(NOT_TAKEN, name) : undefined;
}

const NOT_TAKEN = "is not accepted: a request cannot carry credentials or a destination; remove it";

function isNamedIn(names: ReadonlySet<string>, name: string): boolean {
  if (name.length > NAME_CHARS_MAX) return false;
  return names.has(foldName(name).replaceAll(/[^\p{L}\p{N}]/gu, ""));
}

export function refuseForbidden(name: string): Problem | undefined {
  if (prototypeNames.has(name)) return problem("is not accepted; remove it", name);
  return refuseCredential(name);
}

/** Fields that contain a JSON Schema, even inside provider-specific members such as `nvext`. */
const ownSchemas = new Set([
  "guided_json", "json_schema", "response_json_schema", "response_schema",
]); // prettier-ignore

/** Top-level fields that are not searched, because customers choose the names in them. */
const contentNames = new Set([
  ...ownSchemas, "documents", "format", "input", "messages", "prediction", "prompt", "questions",
  "schema", "state", "structured_outputs", "system", "text",
]); // prettier-ignore

/** Top-level fields that contain schemas, in the members that `schemaNames` lists. */
const schemaHolders = new Set([
  "functions",
  "output_config",
  "output_format",
  "response_format",
  "tools",
]);
const schemaNames = new Set([
  "$defs", "definitions", "input_examples", "input_schema", "json_schema", "output_schema",
  "parameters", "properties", "schema",
]); // prettier-ignore

/** Names of members that are not searched: they contain the customer's content or schemas. */
type Skipped = ReadonlySet<string>;

/** The first credential or destination at any depth of a body, outside content and schemas. */
export function findCredential(doc: JsonDocument): Problem | undefined {
  const walk = new CredentialWalk();
  return walk.visit(doc, 0, 0, contentNames) ? walk.problem() : undefined;
}

/** Like `findCredential`, but also refuses forbidden names of top-level fields. */
export function findForbidden(doc: JsonDocument): Problem | undefined {
  for (const key of doc.keys(0)) {
    const found = refuseForbidden(doc.text(key));
    if (found !== undefined) return found;
  }
  return findCredential(doc);
}

/**
 * Scans a value below `READ_DEPTH_MAX` as a document of its own. Undefined if it has too many
 * values, which the scan of the whole body did not count.
 */
export function scanDeeper(doc: JsonDocument, node: JsonNode): JsonDocument | undefined {
  const deeper = scanJson(doc.body.subarray(doc.start(node), doc.end(node)), chatVocabulary);
  if (deeper.ok) return deeper.doc;
  assert(deeper.fault.fault === "values", "a value inside a checked body is well-formed");
  return undefined;
}

export const TOO_MANY_VALUES = "holds too many values at this depth; send fewer";

class CredentialWalk {
  readonly #path: (string | number)[] = [];
  #message = NOT_TAKEN;
  #oddNames = 0;

  problem(): Problem {
    return problem(this.#message, ...this.#path);
  }

  /** True if the value must be refused; `problem` then says why and where. */
  visit(doc: JsonDocument, node: JsonNode, depth: number, skipped: Skipped): boolean {
    const isObject = doc.isObject(node);
    if (!isObject && !doc.isArray(node)) return false;
    if (depth === READ_DEPTH_MAX) return this.#visitDeeper(doc, node, skipped);
    return isObject
      ? this.#visitObject(doc, node, depth, skipped)
      : this.#visitArray(doc, node, depth, skipped);
  }

  #visitDeeper(doc: JsonDocument, node: JsonNode, skipped: Skipped): boolean {
    const deeper = scanDeeper(doc, node);
    if (deeper !== undefined) return this.visit(deeper, 0, 0, skipped);
    this.#message = TOO_MANY_VALUES;
    return true;
  }

  #visitObject(doc: JsonDocument, node: JsonNode, depth: number, skipped: Skipped): boolean {
    const end = doc.next(node);
    for (let key = node + NODE_SIZE; key < end; key = doc.next(key + NODE_SIZE)) {
      if (this.#isRefused(doc, key)) return true;
      const value = key + NODE_SIZE;
      if (doc.end(value) - doc.start(value) < TELLING_BYTES_MIN) continue;
      const name = nameAt(doc, key);
      if (skipped.has(name) || doc.hasPassed(value, CredentialWalk)) continue;
      this.#path.push(name);
      const inside = skippedIn(name, skipped);
      const oddNames = this.#oddNames;
      if (this.visit(doc, value, depth + 1, inside)) return true;
      // A value with odd names is searched in each body, to count them against the body's bound.
      if (this.#oddNames === oddNames) doc.notePassed(value, CredentialWalk);
      this.#path.pop();
    }
    return false;
  }

  /** Odd names (escaped, non-ASCII) take 100 times longer to check, so their number is bounded. */
  #isRefused(doc: JsonDocument, key: JsonNode): boolean {
    const bytes = doc.end(key) - doc.start(key);
    if (doc.keyWord(key) !== 0 || bytes > NAME_BYTES_MAX) return false;
    const hash = plainHash(doc.body, doc.start(key) + 1, doc.end(key) - 1);
    if (hash !== undefined && !deepHashes.has(hash)) return false;
    if (hash === undefined && ++this.#oddNames > UNKNOWN_FIELDS_MAX) {
      this.#message = `has more than ${UNKNOWN_FIELDS_MAX} names in other letters; send fewer`;
      return true;
    }
    const name = doc.text(key);
    if (!isNamedIn(deepNames, name)) return false;
    this.#path.push(name);
    return true;
  }

  #visitArray(doc: JsonDocument, node: JsonNode, depth: number, skipped: Skipped): boolean {
    const end = doc.next(node);
    let index = 0;
    for (let item = node + NODE_SIZE; item < end; item = doc.next(item)) {
      this.#path.push(index);
      if (this.visit(doc, item, depth + 1, skipped)) return true;
      this.#path.pop();
      index += 1;
    }
    return false;
  }
}

/** `extra_body` is searched like the top level, into which client libraries merge it. */
function skippedIn(name: string, skipped: Skipped): Skipped {
  if (skipped !== contentNames) return skipped;
  if (name === "extra_body") return contentNames;
  return schemaHolders.has(name) ? schemaNames : ownSchemas;
}

/** Returns "…" if the name is too long to show. */
function nameAt(doc: JsonDocument, key: JsonNode): string {
  const known = chatVocabulary.nameOf(doc.keyWord(key));
  if (known !== undefined) return known;
  return doc.end(key) - doc.start(key) > NAME_BYTES_MAX ? "…" : doc.text(key);
}

/** Hashes letters and digits in lower case. Undefined if the name is escaped or not ASCII. */
function plainHash(body: Buffer, start: number, end: number): number | undefined {
  let hash = 0;
  for (let at = start; at < end; at += 1) {
    let code = body[at] ?? 0;
    if (code > 0x7f || code === BACKSLASH) return undefined;
    if (code >= UPPER_A && code <= UPPER_Z) code += LOWER_A - UPPER_A;
    const isLetter = code >= LOWER_A && code <= LOWER_Z;
    if (isLetter || (code >= ZERO && code <= NINE)) hash = (Math.imul(hash, 31) + code) | 0;
  }
  return hash;
}
