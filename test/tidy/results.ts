import { codeLinesWith, isNode, nodesWith, type Rule } from "./source-files.ts";

/** Files that tell results apart by whether a member exists, each with the reason. */
export const SHAPE_TESTS: Readonly<Record<string, string>> = {
  "src/dev/simulator/decisions/answer-decisions.ts": "an answer or a decision",
  "src/dev/simulator/decisions/decision-host.ts": "the same",
  "src/dev/test-checkout/checkout-book.ts": "reads an object of the payment provider's",
  "src/formats/modality/decisions/read-answers.ts": "reads a provider's answer",
};

/** Results must be told apart by `ok` or `kind`. `code` may be tested: Node's errors have it. */
export const resultsAreDistinguishedByTheirTag: Rule = (files) =>
  files
    .filter(({ file }) => !(file in SHAPE_TESTS))
    .flatMap((source) =>
      nodesWith(source, /["'] in /, ({ type, operator, left }) => {
        const isNamed = type === "BinaryExpression" && operator === "in" && isNode(left);
        return isNamed && typeof left["value"] === "string" && left["value"] !== "code";
      }),
    );

export const BRANDING_FILES: Readonly<Record<string, string>> = {
  "src/gateway/accounts/account-notices.ts": "notices that triggers of this program's tables send",
  "src/catalog/compile-deployment.ts": "ids of a validated manifest",
  "src/kernel/core/ids.ts": "makes and parses ids",
  "src/kernel/core/money.ts": "makes and parses amounts",
};

const BRANDED = "(Org|Key|Model|Provider|Job|Request|Attempt)Id|(Micro|Pico)Usd";
const BRANDING = new RegExp(`(?<!\\brow\\.\\w+ |\\brows\\[0\\]\\?\\.\\w+ )\\bas (${BRANDED})\\b`);

export const idsAreParsedAtTheDoor: Rule = (files) =>
  files
    .filter(({ file }) => !(file in BRANDING_FILES))
    .flatMap((source) => codeLinesWith(source, BRANDING));
