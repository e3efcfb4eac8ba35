import { asText, type RawJson, redactor } from "../../kernel/index.ts";
import type { MoveNote } from "./fates.ts";
import { isPlaceholderKey } from "./find-provider.ts";
import { asList, asMap } from "./setting-tree.ts";

export interface NamedKey {
  /** Absent if the server needs no key. */
  readonly name?: string;
  readonly fate: "carried" | "ignored" | "notCarried";
  /** Absent if there is nothing to say. */
  readonly said?: { readonly why: string; readonly next: string };
}

export interface KeyQuestion {
  readonly written: string | undefined;
  /** The variable that LiteLLM reads if no key is configured. */
  readonly standard: string;
  /** The variable that the provider's head names; undefined if the server needs no key. */
  readonly headKey: string | undefined;
  readonly address: { readonly baseUrl: string; readonly isProvidersOwn: boolean };
  readonly isLocal: boolean;
  /** True if the standard variable has the key of whichever server `api_base` names. */
  readonly needsAddress: boolean;
}

/** Deployments with the same key get the same variable. No result or message has a key. */
export class KeyNames {
  readonly #isOwnVariable: (name: string) => boolean;
  /** Maps a configured key, or a reference to an unusable variable, to the chosen variable. */
  readonly #made = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(isOwnVariable: (name: string) => boolean) {
    this.#isOwnVariable = isOwnVariable;
  }

  reserve(names: readonly string[]): void {
    for (const name of names) this.#taken.add(name);
  }

  nameFor({ written, standard, headKey, address, ...of }: KeyQuestion): NamedKey {
    const isAtHome = address.isProvidersOwn && !of.isLocal;
    const usual = isAtHome ? standard : nameOfHost(address.baseUrl);
    if (written === undefined) {
      const isKeyless = of.isLocal || !(address.isProvidersOwn || of.needsAddress);
      if (isKeyless) return { fate: "ignored" };
      const name = this.#usable(standard, headKey ?? usual);
      if (!of.needsAddress) return { name, fate: "ignored" };
      const why = "no key is written, so the manifest names the variable that LiteLLM reads";
      const next = `${setIt(name)}, or delete api_key_env from the manifest if the server needs no key`;
      return { name, fate: "carried", said: { why, next } };
    }
    const variable = parseVariable(written);
    if (variable === undefined) return this.#literal(written, usual, isAtHome);
    if (NAME.test(variable) && !this.#isOwnVariable(variable)) {
      this.#taken.add(variable);
      const why = `the manifest names ${variable}`;
      return { name: variable, fate: "carried", said: { why, next: setIt(variable) } };
    }
    const name = this.#fresh(written, usual);
    const why = NAME.test(variable)
      ? "its variable belongs to this program, so a manifest may not name it"
      : "its variable has a name that a manifest cannot hold";
    return { name, fate: "notCarried", said: { why, next: setIt(name) } };
  }

  #literal(written: string, usual: string, isAtHome: boolean): NamedKey {
    if (!isAtHome && isPlaceholderKey(written)) {
      return { fate: "ignored", said: { why: "it means that there is no key", next: "" } };
    }
    const name = this.#fresh(written, usual);
    const why = "the key is written in the file, and secrets are never copied";
    return { name, fate: "notCarried", said: { why, next: setIt(name) } };
  }

  #usable(standard: string, otherwise: string): string {
    const name = this.#isOwnVariable(standard) ? otherwise : standard;
    this.#taken.add(name);
    return name;
  }

  #fresh(written: string, usual: string): string {
    const known = this.#made.get(written);
    if (known !== undefined) return known;
    let name = usual;
    for (let at = 2; this.#taken.has(name); at += 1) name = `${usual}_${at}`;
    this.#made.set(written, name);
    this.#taken.add(name);
    return name;
  }
}

const NAME = /^[A-Z][A-Z0-9_]{0,127}$/;

function setIt(name: string): string {
  return `set ${name} in the environment of tokenmarket serve`;
}

/** Named after the host, so that the keys of two servers do not get one variable. */
function nameOfHost(baseUrl: string): string {
  const host = new URL(baseUrl).host.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return `MOVED_${host.replaceAll(/^_+|_+$/g, "").slice(0, 80)}_API_KEY`;
}

/** A setting whose name matches has a secret as its value. */
const SECRET_NAME =
  /(api_?key|_key|secret|token|password|passwd|pwd|credentials?|database_url|redis_url|dsn|webhook_url|authorization|cookie)$/i;

/** The form of providers' keys. A text of this form is a secret in every setting. */
const SECRET_FORM =
  /(?:\b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat|nvapi|r8|pplx|fw|csk)[-_][\w-]{12,}|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{20,}|:\/\/[^/\s:@]*:[^/\s@]+@)/;

const SECRET_CHARS_MIN = 8;

export function findSecrets(trees: readonly RawJson[]): string[] {
  const found = new Set<string>();
  const waiting = trees.map((setting) => ({ setting, isSecret: false }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { setting, isSecret } = next;
    for (const [key, member] of asMap(setting) ?? []) {
      if (looksSecret(key)) found.add(key);
      waiting.push({ setting: member, isSecret: isSecret || SECRET_NAME.test(key) });
    }
    for (const member of asList(setting) ?? []) waiting.push({ setting: member, isSecret });
    const text = asText(setting);
    if (text !== undefined && isHeld(text, isSecret)) found.add(text);
  }
  // The longest first: one secret may be a part of another, and then the whole must be redacted.
  return [...found].toSorted((a, b) => b.length - a.length);
}

function isHeld(text: string, isSecret: boolean): boolean {
  if (text.length < SECRET_CHARS_MIN || parseVariable(text) !== undefined) return false;
  return isSecret || looksSecret(text);
}

export function looksSecret(text: string): boolean {
  return SECRET_FORM.test(text);
}

/** Removes the secrets of the files from notes: names of settings may contain some. */
export function withoutSecrets(notes: readonly MoveNote[], secrets: readonly string[]): MoveNote[] {
  const redacted = redactor(secrets);
  const safe = (text: string): string => redacted(text).replaceAll(SECRET_FORMS, "[redacted]");
  return notes.map((note) => ({
    ...note,
    path: safe(note.path),
    what: safe(note.what),
    why: safe(note.why),
    next: safe(note.next),
  }));
}

const SECRET_FORMS = new RegExp(SECRET_FORM.source, "g");

/** Returns NAME from `os.environ/NAME`, LiteLLM's notation for a variable; else undefined. */
export function parseVariable(text: string): string | undefined {
  return /^os\.environ\/(.*)$/s.exec(text)?.[1];
}
