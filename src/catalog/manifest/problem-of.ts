import type { ErrorObject } from "ajv/dist/2020.js";
import { placeName, pointerTo } from "../../kernel/index.ts";
import type { ManifestProblem } from "./manifest-problem.ts";

interface SchemaNode {
  readonly "x-rule"?: string;
  readonly "x-help"?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
}

/** Says one schema error with the message of the broken rule. */
export function problemOf(error: ErrorObject): ManifestProblem {
  const node = (error.parentSchema ?? {}) as SchemaNode;
  const pointer = error.instancePath;
  const name = placeName(pointer);
  if (error.keyword === "additionalProperties") return unknownField(error);
  const rule = node["x-rule"];
  const help = node["x-help"];
  if (rule === undefined || help === undefined) return generalProblem(error, node);
  const special = SPECIAL_CASES[rule]?.(error.data);
  if (special !== undefined) {
    return { pointer, rule: special.rule ?? rule, message: `${name} ${special.message}` };
  }
  return { pointer, rule, message: `${name} ${help}` };
}

function unknownField(error: ErrorObject): ManifestProblem {
  const field = String(error.params["additionalProperty"]);
  return {
    pointer: error.instancePath + pointerTo([field]),
    rule: "unknown-field",
    message: "this field must not be here; remove it, or check its spelling",
  };
}

function generalProblem(error: ErrorObject, node: SchemaNode): ManifestProblem {
  const pointer = error.instancePath;
  const name = placeName(pointer);
  if (error.keyword === "required") {
    const field = String(error.params["missingProperty"]);
    const about = node.properties?.[field]?.description;
    const hint = about === undefined ? "" : ` (${about.replace(/\.$/, "")})`;
    return { pointer, rule: "required", message: `${name} must have the field ${field}${hint}` };
  }
  return { pointer, rule: error.keyword, message: `${name} ${error.message ?? "is not valid"}` };
}

interface SpecialCase {
  readonly rule?: string;
  readonly message: string;
}

/** Mistakes with messages of their own: the value shows what was meant. */
const SPECIAL_CASES: Readonly<Record<string, (data: unknown) => SpecialCase | undefined>> = {
  "api-key-env": (data) =>
    looksLikeKey(data)
      ? {
          rule: "key-in-manifest",
          message:
            "holds what looks like a key; write the NAME of the environment variable instead, " +
            "and revoke that key: a manifest is public",
        }
      : undefined,
  url: userInformation,
  "base-url": userInformation,
  "model-id": (data) =>
    typeof data === "string" && data.includes(":")
      ? {
          rule: "model-id-variant",
          message:
            'must not contain ":", which is reserved for marketplace variants; ' +
            "put a provider variant into upstream_id",
        }
      : undefined,
  "price-decimals": (data) => tooManyDigits(data, { whole: 7, fraction: 6 }),
  "price-card-decimals": (data) => tooManyDigits(data, { whole: 6, fraction: 9 }),
};

function userInformation(data: unknown): SpecialCase | undefined {
  if (typeof data !== "string" || !/^https?:\/\/[^/?#]*@/.test(data)) return undefined;
  const message =
    "must not hold user information (user:password@); name the variable of the key in " +
    "api_key_env, and revoke that password: a manifest is public";
  return { rule: "key-in-manifest", message };
}

const KEY_PREFIX = /^(?:sk|pk|rk|tm_vk|key|gsk|xai|hf|Bearer)[-_ ]/;

function looksLikeKey(data: unknown): boolean {
  if (typeof data !== "string") return false;
  return KEY_PREFIX.test(data) || /^(?=\S*[0-9])(?=\S*[A-Za-z])\S{20,}$/.test(data);
}

function tooManyDigits(
  data: unknown,
  most: { readonly whole: number; readonly fraction: number },
): SpecialCase | undefined {
  const match = typeof data === "string" ? /^([0-9]+)(?:\.([0-9]+))?$/.exec(data) : null;
  if (match === null) return undefined;
  const [, whole = "", fraction = ""] = match;
  if (fraction.length > most.fraction) {
    const found = `has ${fraction.length} fraction digits; ${most.fraction} is the most`;
    return { message: `${found}: round it, or shorten trailing zeros` };
  }
  return { message: `has ${whole.length} digits before the point; ${most.whole} is the most` };
}
