/** Adds a full stop, and a capital letter unless the first word is the name of a field. */
export function sentence(message: string): string {
  const [first = ""] = message.split(" ", 1);
  const isName = /[_.:/`]/.test(first);
  const begun = isName ? message : capitalized(message);
  return begun === "" || /[.!?…][)”"]?$/.test(begun) ? begun : `${begun}.`;
}

/**
 * Makes an API message a sentence, with labels instead of the names of fields. Text in double
 * quotes stays as it is: it is a value, such as the name of a key.
 */
export function presentMessage(message: string): string {
  const parts = message.replaceAll("`", "").split(/("[^"]*"|“[^”]*”)/);
  const shown = parts.map((part, at) => (at % 2 === 0 ? part.replace(FIELD, fieldLabel) : part));
  return capitalized(sentence(shown.join("")));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Matches `rpm`, `tpm`, `url`, `ref`, names with an underscore, and names such as `prompts[2]`. */
const FIELD =
  /(?<![\w./?&=-])(?:[a-z]+(?:_[a-z]+)+|rpm|tpm|url|ref)(?:\.[a-z_]+)?(?![\w-])|(?<![\w./])[a-z_]+\[\d+\]/g;

function fieldLabel(name: string): string {
  const [, list, at] = /^(\w+)\[(\d+)\]$/.exec(name) ?? [];
  if (list !== undefined) return `${label(list).replace(/s$/, "")} ${Number(at) + 1}`;
  return label(name);
}

function label(name: string): string {
  const words = name.replace(/_usd$/, "").replace(/_id$/, " ID").replaceAll(/[_.]/g, " ");
  return LABELS[name] ?? words;
}

/** Labels of fields whose names would be poor labels. Any other label is the name with spaces. */
const LABELS: Readonly<Record<string, string>> = {
  rpm: "requests per minute",
  tpm: "tokens per minute",
  url: "the address",
  ref: "the reference",
  cap_week_usd: "the weekly cap",
  cap_day_usd: "the daily cap",
  amount_usd: "the amount",
  below_usd: "the balance that triggers a top-up",
  balance_below_usd: "the balance to warn below",
  month_max_usd: "the monthly maximum",
  budget_usd: "the budget",
  confirm_name: "the name that you typed",
  confirm_count: "the number that you typed",
  expires_at: "the expiry date",
  key_ids: "keys",
  "tax_id.value": "the tax ID",
  "tax_id.type": "the type of the tax ID",
};
