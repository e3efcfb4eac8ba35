import { type RawJson, RawNumber, textOf } from "../../kernel/index.ts";
import { Composer, type CST, isAlias, isMap, isScalar, isSeq, type Node, Parser } from "yaml";

import { asList, asMap, pathText } from "./setting-tree.ts";

/** Each bound stops a file that is made to exhaust memory. */
export interface YamlBounds {
  readonly bytesMax: number;
  readonly depthMax: number;
  /** Maximum number of settings. Each alias counts for all settings that it repeats. */
  readonly settingsMax: number;
}

export const CONFIG_BOUNDS: YamlBounds = {
  bytesMax: 1_048_576,
  depthMax: 32,
  settingsMax: 50_000,
};

export type YamlReading =
  | { readonly ok: true; readonly value: RawJson }
  /** `message` names the problem and its place, but quotes no value, which may be secret. */
  | { readonly ok: false; readonly message: string };

/** Refuses duplicate keys and unusual tags. Expanded aliases count toward the bounds. */
export function readYaml(text: string, bounds: YamlBounds = CONFIG_BOUNDS): YamlReading {
  if (Buffer.byteLength(text) > bounds.bytesMax) {
    return failReading(`is larger than ${bounds.bytesMax} bytes; split it`);
  }
  try {
    const tokens = boundedTokens(text, bounds);
    // The library would compare every pair of keys; `TreeReader` finds duplicates with a map.
    const documents = [...new Composer({ uniqueKeys: false, merge: false }).compose(tokens)];
    const [document] = documents;
    if (document === undefined) return failReading("is empty");
    if (documents.length > 1) return failReading("has several documents; give them one by one");
    const [error] = document.errors;
    if (error !== undefined) {
      return failReading(`is not valid YAML${describePlace(text, error.pos[0])} (${error.code})`);
    }
    const value = new TreeReader(bounds).read(document.contents);
    return { ok: true, value };
  } catch (fault) {
    if (fault instanceof YamlFlaw) return failReading(fault.message);
    throw fault;
  }
}

function failReading(message: string): YamlReading {
  return { ok: false, message };
}

class YamlFlaw extends Error {
  override readonly name = "YamlFlaw";
}

/** Checks the depth before the composer recurses into each level. The parser does not recurse. */
function boundedTokens(text: string, { depthMax, settingsMax }: YamlBounds): CST.Token[] {
  const tokens = [...new Parser().parse(text)];
  const waiting: { readonly token: CST.Token; readonly depth: number }[] = tokens.map((token) => ({
    token,
    depth: 0,
  }));
  let count = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { token, depth } = next;
    count += 1;
    if (depth > depthMax) {
      throw new YamlFlaw(
        `is nested over ${depthMax} levels deep${describePlace(text, token.offset)}`,
      );
    }
    if (count > settingsMax) throw new YamlFlaw(`has over ${settingsMax} settings; split it`);
    for (const inner of innerTokens(token)) waiting.push({ token: inner, depth: depth + 1 });
  }
  return tokens;
}

function innerTokens(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value === undefined ? [] : [token.value];
  const { type } = token;
  if (type !== "block-map" && type !== "block-seq" && type !== "flow-collection") return [];
  return token.items.flatMap(({ key, value }) => [key, value].flatMap((each) => each ?? []));
}

function describePlace(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** The value of this key is merged into its map (YAML 1.1, which most readers still support). */
const MERGE_KEY = "<<";

const PLAIN_TAGS = /^(!|tag:yaml\.org,2002:(str|int|float|bool|null|map|seq))$/;

class TreeReader {
  readonly #bounds: YamlBounds;
  readonly #anchors = new Map<string, RawJson>();
  readonly #path: (string | number)[] = [];
  #count = 0;

  constructor(bounds: YamlBounds) {
    this.#bounds = bounds;
  }

  read(node: unknown): RawJson {
    this.#count += 1;
    this.#checkSize(this.#path.length);
    if (node === null || node === undefined) return null;
    if (isAlias(node)) return this.#alias(node.source);
    const { tag, anchor } = node as Pick<Node, "tag"> & { readonly anchor?: string };
    if (tag !== undefined && !PLAIN_TAGS.test(tag)) {
      throw this.#flaw("has a tag; write the value without it");
    }
    const value = this.#value(node);
    if (anchor !== undefined) this.#anchors.set(anchor, value);
    return value;
  }

  #value(node: unknown): RawJson {
    if (isScalar(node)) return scalar(node.value, node.source);
    if (isSeq(node)) {
      return node.items.map((item, at) => this.#inside(at, () => this.read(item)));
    }
    if (isMap(node)) return this.#map(node.items);
    throw this.#flaw("is not a value");
  }

  #map(pairs: readonly { readonly key: unknown; readonly value: unknown }[]): RawJson {
    const entries = new Map<string, RawJson>();
    const merged: RawJson[] = [];
    for (const { key, value } of pairs) {
      const name = this.#keyText(key);
      if (name === MERGE_KEY) {
        merged.push(this.read(value));
        continue;
      }
      if (entries.has(name)) {
        throw new YamlFlaw(`has the key ${pathText([...this.#path, name])} more than once`);
      }
      entries.set(
        name,
        this.#inside(name, () => this.read(value)),
      );
    }
    for (const each of merged) this.#merge(each, entries);
    return entries;
  }

  /** A map's own entry takes precedence over a merged one. */
  #merge(source: RawJson, entries: Map<string, RawJson>): void {
    for (const each of asList(source) ?? [source]) {
      const map = asMap(each);
      if (map === undefined) throw this.#flaw("merges something that is not a map");
      for (const [name, value] of map) {
        if (!entries.has(name)) entries.set(name, value);
      }
    }
  }

  #keyText(key: unknown): string {
    if (isScalar(key) && key.source !== undefined) return key.source;
    throw this.#flaw("has a key that is not a plain text");
  }

  #alias(name: string): RawJson {
    const value = this.#anchors.get(name);
    // An anchor is registered when its value is complete: an alias inside that value fails, too.
    if (value === undefined) throw this.#flaw("has an alias without an anchor before it");
    this.#count += countSettings(value);
    this.#checkSize(this.#path.length + measureDepth(value));
    return value;
  }

  #checkSize(depth: number): void {
    const { settingsMax, depthMax } = this.#bounds;
    if (this.#count > settingsMax) throw new YamlFlaw(`has over ${settingsMax} settings; split it`);
    if (depth > depthMax) throw this.#flaw(`is nested over ${depthMax} levels deep`);
  }

  #inside<T>(step: string | number, read: () => T): T {
    this.#path.push(step);
    const value = read();
    this.#path.pop();
    return value;
  }

  #flaw(what: string): YamlFlaw {
    return new YamlFlaw(this.#path.length === 0 ? what : `${what} (${pathText(this.#path)})`);
  }
}

function scalar(value: unknown, source: string | undefined): RawJson {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean") return value;
  return typeof value === "number" ? new RawNumber(source ?? "") : textOf(value);
}

function countSettings(setting: RawJson): number {
  return listMembers(setting).reduce((count, each) => count + countSettings(each), 1);
}

/** Recursion is safe, because the depth of the document is bounded. */
function measureDepth(setting: RawJson): number {
  return listMembers(setting).reduce(
    (deepest, each) => Math.max(deepest, 1 + measureDepth(each)),
    0,
  );
}

function listMembers(setting: RawJson): readonly RawJson[] {
  return asList(setting) ?? [...(asMap(setting)?.values() ?? [])];
}
