import { assert } from "../../core/index.ts";
import {
  foldName,
  type JsonDocument,
  type JsonNode,
  NODE_SIZE,
  READ_DEPTH_MAX,
  scanJson,
} from "../../json/index.ts";
import { chatVocabulary } from "./chat-vocabulary.ts";
import { type Problem, problem } from "./check-shape.ts";

/**
 * Names of credentials and destinations that client libraries and gateways read from a body at any
 * depth. Each says by itself what it is: nobody's own note is called so.
 */
const deepNames = new Set([
  "accesstoken", "apibase", "apikey", "apikeyenv", "apiurl", "authtoken", "awsaccesskeyid",
  "awsbedrockruntimeendpoint", "awsprofilename", "awsrolename", "awssecretaccesskey",
  "awssessiontoken", "awsstsendpoint", "awswebidentitytoken", "azureadtoken", "azureendpoint",
  "baseurl", "bearertoken", "clientsecret", "connectionid", "googleapplicationcredentials",
  "httpproxy", "httpsproxy", "proxies", "proxy", "vertexcredentials", "vertexlocation",
  "vertexproject", "xapikey",
]); // prettier-ignore

/** Names that mean it at the top and in `provider`; deeper they are words of anybody's notes. */
const topNames = new Set([
  ...deepNames, "apitype", "apiversion", "authorization", "credentials", "endpoint",
  "extraheaders", "extraquery", "headers", "host", "organization", "organizationid", "secret",
  "token", "url",
]); // prettier-ignore

/** Longer than every name above, with separators; what is longer is none of these. */
const NAME_CHARS_MAX = 64;
/** A letter of a name has six bytes at most: `\u0061`. */
const NAME_BYTES_MAX = 6 * NAME_CHARS_MAX + 2;

/** Names that some parsers act on; no chat request has them at its top level. */
const prototypeNames = new Set(["constructor", "prototype"]);

/** Refuses credentials and destinations in whatever spelling: `base_url`, `baseURL`, `base-url`. */
export function refuseCredential(name: string): Problem | undefined {
  return isNamedIn(topNames, name) ? problem(NOT_TAKEN, name) : undefined;
}

const NOT_TAKEN = "is not accepted: a request cannot carry credentials or a destination; remove it";

/** A body can hold very many names, and long ones are none of these. */
function isNamedIn(names: ReadonlySet<string>, name: string): boolean {
  if (name.length > NAME_CHARS_MAX) return false;
  return names.has(foldName(name).replaceAll(/[^\p{L}\p{N}]/gu, ""));
}

/** What the top level of a chat body never holds. */
export function refuseForbidden(name: string): Problem | undefined {
  if (prototypeNames.has(name)) return problem("is not accepted; remove it", name);
  return refuseCredential(name);
}

/** Content for the model and schemas, whose names are the customer's own. */
const contentNames = new Set([
  "documents", "format", "guided_json", "input", "messages", "prediction", "prompt", "questions",
  "schema", "state", "structured_outputs", "system", "text",
]); // prettier-ignore

/** What holds schemas, and what it holds them in. */
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

/** Members that are no settings of the request in a container. */
type Skipped = ReadonlySet<string>;
const NONE: Skipped = new Set();

/** The first credential or destination at any depth of a body, outside of its content and schemas. */
export function findCredential(doc: JsonDocument): Problem | undefined {
  const walk = new CredentialWalk();
  return walk.visit(doc, { node: 0, depth: 0 }, contentNames) ? walk.problem() : undefined;
}

interface Place {
  readonly node: JsonNode;
  /** Containers of the document around this one. */
  readonly depth: number;
}

class CredentialWalk {
  readonly #path: (string | number)[] = [];

  problem(): Problem {
    return problem(NOT_TAKEN, ...this.#path);
  }

  /** Is there one in this value? Then the path leads to it. */
  visit(doc: JsonDocument, { node, depth }: Place, skipped: Skipped): boolean {
    const isObject = doc.isObject(node);
    if (!isObject && !doc.isArray(node)) return false;
    if (depth === READ_DEPTH_MAX) return this.#visitDeeper(doc, node, skipped);
    return isObject
      ? this.#visitObject(doc, { node, depth }, skipped)
      : this.#visitArray(doc, { node, depth }, skipped);
  }

  /** A scan keeps what is one level deeper: from here on the body is scanned as one of its own. */
  #visitDeeper(doc: JsonDocument, node: JsonNode, skipped: Skipped): boolean {
    const deeper = scanJson(doc.body.subarray(doc.start(node), doc.end(node)), chatVocabulary);
    assert(deeper.ok, "a value inside a checked body is well-formed");
    return this.visit(deeper.doc, { node: 0, depth: 0 }, skipped);
  }

  #visitObject(doc: JsonDocument, { node, depth }: Place, skipped: Skipped): boolean {
    const end = doc.next(node);
    for (let key = node + NODE_SIZE; key < end; key = doc.next(key + NODE_SIZE)) {
      const name = nameAt(doc, key);
      this.#path.push(name);
      if (isNamedIn(deepNames, name)) return true;
      const place = { node: key + NODE_SIZE, depth: depth + 1 };
      const isSkipped = skipped.has(name);
      if (!isSkipped && this.visit(doc, place, skippedIn(name, skipped))) return true;
      this.#path.pop();
    }
    return false;
  }

  #visitArray(doc: JsonDocument, { node, depth }: Place, skipped: Skipped): boolean {
    const end = doc.next(node);
    let index = 0;
    for (let item = node + NODE_SIZE; item < end; item = doc.next(item)) {
      this.#path.push(index);
      if (this.visit(doc, { node: item, depth: depth + 1 }, skipped)) return true;
      this.#path.pop();
      index += 1;
    }
    return false;
  }
}

/** Client libraries spread `extra_body` into the top level, so it is read like that. */
function skippedIn(name: string, skipped: Skipped): Skipped {
  if (skipped !== contentNames) return skipped;
  if (name === "extra_body") return contentNames;
  return schemaHolders.has(name) ? schemaNames : NONE;
}

/** Words of the vocabulary are not decoded, and names that are too long for a credential neither. */
function nameAt(doc: JsonDocument, key: JsonNode): string {
  const known = chatVocabulary.nameOf(doc.keyWord(key));
  if (known !== undefined) return known;
  return doc.end(key) - doc.start(key) > NAME_BYTES_MAX ? "" : doc.text(key);
}
