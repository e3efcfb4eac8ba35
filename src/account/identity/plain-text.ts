import { asText, hiddenCharacters, takeStart } from "../../kernel/index.ts";

/** Makes a text from outside safe to store and show; null if nothing is left. */
export function plainText(text: string | undefined, charsMax: number): string | null {
  const plain = (text ?? "").replaceAll(hiddenCharacters, "").trim();
  const cut = takeStart(plain, charsMax);
  return cut === "" ? null : cut;
}

/** Names a new organization after the person, else after the mailbox; members can rename it. */
export function chooseOrgName(name: string | null, email: string): string {
  const local = email.slice(0, email.lastIndexOf("@"));
  const named = plainText(name ?? undefined, ORG_NAME_CHARS_MAX);
  return named ?? plainText(local, ORG_NAME_CHARS_MAX) ?? email;
}

const ORG_NAME_CHARS_MAX = 64;

/** Shows only the code or name of a fault's cause, since the cause's message may have secrets. */
export function faultMessage(fault: unknown): Readonly<Record<string, string>> {
  if (!(fault instanceof Error)) return { fault: "unknown" };
  const words: Record<string, string> = { fault: fault.name, message: fault.message };
  for (const name of ["code", "error"] as const) {
    const value = asText((fault as unknown as Record<string, unknown>)[name]);
    if (value !== undefined) words[name] = value.slice(0, WORD_CHARS_MAX);
  }
  const codes = listCauses(fault).map(({ code, name }) => {
    return asText(code)?.slice(0, WORD_CHARS_MAX) ?? name;
  });
  if (codes.length > 0) words["causes"] = codes.join(", ");
  return words;
}

const WORD_CHARS_MAX = 100;

function listCauses(fault: Error): readonly (Error & { readonly code?: unknown })[] {
  const causes: Error[] = [];
  for (let at = fault.cause; at instanceof Error && causes.length < 3; at = at.cause) {
    causes.push(at);
  }
  return causes;
}
