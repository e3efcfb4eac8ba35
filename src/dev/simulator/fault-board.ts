import { asText } from "../../kernel/index.ts";
import type { Cheats } from "./cheat.ts";
import { readFaults, type FaultReading, type Faults } from "./faults.ts";
import { isObject } from "./json.ts";

interface Rule {
  readonly method: string | undefined;
  readonly path: RegExp | undefined;
  readonly model: string | undefined;
  readonly script: string;
  readonly faults: Faults;
  left: number;
}

export interface ChosenFault {
  readonly script: string | null;
  readonly faults: Faults;
}

export interface FaultedCall {
  readonly method: string;
  readonly path: string;
  readonly model: string;
}

const NONE: ChosenFault = { script: null, faults: {} };

/**
 * The faults that apply to later calls, by path, method or model. If several rules match a call,
 * the one that was added first applies.
 */
export class FaultBoard {
  readonly #cheats: Cheats;
  #rules: Rule[] = [];

  constructor(cheats: Cheats) {
    this.#cheats = cheats;
  }

  /** Adds a rule. Returns what is wrong with it; undefined if it was added. */
  add(value: unknown): string | undefined {
    if (!isObject(value) || typeof value["fault"] !== "string") {
      return "send {path?, method?, model?, fault, times?}, fault being a string";
    }
    const { path, method, model, fault, times } = value;
    const reading = readFaults(fault, this.#cheats);
    if (reading.kind === "unknown") return reading.message;
    this.#rules.push({
      method: asText(method),
      path: typeof path === "string" ? compilePattern(path) : undefined,
      model: asText(model),
      script: fault,
      faults: reading.faults,
      left: typeof times === "number" ? times : Number.POSITIVE_INFINITY,
    });
    return undefined;
  }

  clear(): void {
    this.#rules = [];
  }

  /** Returns the fault of a call. If its rule has `times`, one of them is used up. */
  take({ method, path, model }: FaultedCall): ChosenFault {
    const rule = this.#rules.find(
      (candidate) =>
        candidate.left > 0 &&
        (candidate.method === undefined || candidate.method === method) &&
        (candidate.path === undefined || candidate.path.test(path)) &&
        (candidate.model === undefined || candidate.model === model),
    );
    if (rule === undefined) return NONE;
    rule.left -= 1;
    return { script: rule.script, faults: rule.faults };
  }
}

/* Compiles a path pattern, in which `*` matches exactly one segment. */
function compilePattern(path: string): RegExp {
  const literal = path.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${literal.replaceAll("*", "[^/]+")}$`);
}

const MARKER = /\[\[fault:(.*?)\]\]/s;

export function requestedFault(
  header: string | readonly string[] | undefined,
  userText: string,
  cheats: Cheats,
): { readonly script: string; readonly reading: FaultReading } | undefined {
  const script = typeof header === "string" ? header : MARKER.exec(userText)?.[1];
  return script === undefined ? undefined : { script, reading: readFaults(script, cheats) };
}

export function markedText(value: unknown): string {
  if (typeof value === "string") return MARKER.test(value) ? value : "";
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return inner.map(markedText).find((text) => text !== "") ?? "";
}
