import { codeLinesWith, isNode, nodesWith, type Rule } from "./source-files.ts";

/** Files that distinguish results by a member's name, each with the reason. */
export const SHAPE_TESTS: Readonly<Record<string, string>> = {
  "src/call/call-kind.ts": "a kind's read and encode give a refusal or a value",
  "src/call/serve-count-tokens.ts": "reads a provider's count",
  "src/console-api/keys-routes.ts": "a limit's change gives a refusal or a value",
  "src/console-api/limits-routes.ts": "the same",
  "src/dev/simulator/decisions/answer-decisions.ts": "an answer or a decision",
  "src/dev/simulator/decisions/decision-host.ts": "the same",
  "src/dev/test-checkout/checkout-book.ts": "reads an object of the payment provider's",
  "src/modality/chat/read-request.ts": "an output bound or a refusal",
  "src/modality/decisions/members.ts": "a member or a problem",
  "src/modality/decisions/question-entries.ts": "the same",
  "src/modality/decisions/read-answers-gliner.ts": "reads a provider's answer",
  "src/modality/images/read-image-request.ts": "the fields or a problem",
  "src/modality/videos/read-request.ts": "the same",
  "src/records/change-limit.ts": "a key or a person asks",
  "src/records/serve-records.ts": "a range or a refusal",
  "src/wire/anthropic-messages/encode-request.ts": "a choice of tools may have a name",
  "src/wire/neutral/chat-answer.ts": "an answer or a failure",
};

/** A result says by `ok` or by `kind` what it is. `code` is what faults of the platform have. */
export const resultsAreDistinguishedByTheirTag: Rule = (files) =>
  files
    .filter(({ file }) => !(file in SHAPE_TESTS))
    .flatMap((source) =>
      nodesWith(source, /["'] in /, ({ type, operator, left }) => {
        const isNamed = type === "BinaryExpression" && operator === "in" && isNode(left);
        return isNamed && typeof left["value"] === "string" && left["value"] !== "code";
      }),
    );

/** Files that switch the proof of an exhaustive switch off, each with the reason. */
export const NEVER_CASTS: Readonly<Record<string, string>> = {
  "src/ledger/ledger-batches.ts": "codes of the database's functions",
};

export const nothingIsCastToNever: Rule = (files) =>
  files
    .filter(({ file }) => !(file in NEVER_CASTS))
    .flatMap((source) => codeLinesWith(source, /\bas never\b/));

/** Files in which an id or an amount gets its brand, each with the reason. */
export const BRANDING_FILES: Readonly<Record<string, string>> = {
  "src/accounts/account-notices.ts": "notices that triggers of this program's tables send",
  "src/catalog/compile-deployment.ts": "ids of a validated manifest",
  "src/console-api/connections-routes.ts": "an id that the request's schema has checked",
  "src/console-api/keys-routes.ts": "a key that is not made yet has no id",
  "src/console-api/limit-rows.ts": "the same",
  "src/console-api/limits-routes.ts": "the same",
  "src/core/ids.ts": "makes and parses ids",
  "src/core/money.ts": "makes and parses amounts",
  "src/optimize/open-optimize.ts": "makes the id of a search's key",
  "src/records/change-limit.ts": "a key id that is compared with the caller's own",
};

const BRANDED = "(Org|Key|Model|Provider|Job|Request|Attempt)Id|(Micro|Pico)Usd";
/** What a query has read carries the brand of its column. */
const BRANDING = new RegExp(`(?<!\\brow\\.\\w+ |\\brows\\[0\\]\\?\\.\\w+ )\\bas (${BRANDED})\\b`);

export const idsAreParsedAtTheDoor: Rule = (files) =>
  files
    .filter(({ file }) => !(file in BRANDING_FILES))
    .flatMap((source) => codeLinesWith(source, BRANDING));
