import type { MailMessage } from "./mailer.ts";

interface MailParts {
  readonly subject: string;
  /** Sentences, each a paragraph. */
  readonly sentences: readonly string[];
  /** The one step that follows from them. */
  readonly action: { readonly label: string; readonly url: string };
  /** In small letters at the end: what it is about, why it came, and how to end it. */
  readonly foot: readonly string[];
}

/** A message as plain text and as HTML that needs no picture and no script. */
export function mailText(parts: MailParts): Pick<MailMessage, "subject" | "text" | "html"> {
  const { subject, sentences, action, foot } = parts;
  const lines = [...sentences, `${action.label}: ${action.url}`, foot.join("\n")];
  const paragraphs = sentences.map((each) => `<p style="margin:0 0 16px">${escaped(each)}</p>`);
  const button = `<a href="${escaped(action.url)}" style="${BUTTON}">${escaped(action.label)}</a>`;
  const small = foot.map(linked).join("<br>");
  return {
    subject,
    text: `${lines.join("\n\n")}\n`,
    html:
      `<!doctype html><html lang="en"><body style="${BODY}"><div style="${SHEET}">` +
      `<p style="${BRAND}">Token Market</p>${paragraphs.join("")}` +
      `<p style="margin:24px 0">${button}</p><p style="${SMALL}">${small}</p></div></body></html>`,
  };
}

// Mail programs read no style sheet, and a colour of their own for the dark goes with these.
const BODY = "margin:0;padding:24px;background:#f4f5f7;font:16px/1.5 system-ui,sans-serif";
const SHEET = "max-width:560px;margin:0 auto;padding:32px;background:#ffffff;color:#1c1f24";
const BRAND = "margin:0 0 24px;font-weight:600;color:#0b5fa5";
const BUTTON =
  "display:inline-block;padding:10px 18px;border-radius:6px;background:#0b5fa5;color:#ffffff;" +
  "text-decoration:none";
const SMALL = "margin:0;font-size:13px;color:#5a6270";

/** `Alert settings: https://…` with the address as a link. */
function linked(line: string): string {
  const [, label, url] = /^(.*): (https?:\S+)$/.exec(line) ?? [];
  if (label === undefined || url === undefined) return escaped(line);
  return `<a href="${escaped(url)}" style="color:#0b5fa5">${escaped(label)}</a>`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
}

const CHARS_MAX = 64;

/**
 * Sanitizes a name that people chose for use in e-mails: letters of any script, digits, blanks and
 * a few signs remain. Mail programs then find no address to link, and no character can reorder or
 * hide others.
 */
export function nameInMail(name: string): string {
  const plain = name
    .slice(0, 4 * CHARS_MAX)
    .replaceAll(/[^\p{L}\p{M}\p{N} .,&'()+_-]/gu, " ")
    // A dot at the end of a word or before a digit is in no address.
    .replaceAll(/\.(?![\s\d]|$)/g, " ")
    .replaceAll(/ +/g, " ")
    .trim();
  return plain.slice(0, CHARS_MAX).replace(/[\uD800-\uDBFF]$/, "") || "unnamed";
}
