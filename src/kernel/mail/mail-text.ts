import { takeStart } from "../core/visible-text.ts";
import { escapeHtml } from "../plain-page/plain-page.ts";
import type { MailMessage } from "./mailer.ts";

interface MailParts {
  readonly subject: string;
  /** Each sentence becomes a paragraph. */
  readonly sentences: readonly string[];
  readonly action: { readonly label: string; readonly url: string };
  /** Lines of small print, such as how to stop such messages. */
  readonly foot: readonly string[];
}

export function mailText(parts: MailParts): Pick<MailMessage, "subject" | "text" | "html"> {
  const { subject, sentences, action, foot } = parts;
  const lines = [...sentences, `${action.label}: ${action.url}`, foot.join("\n")];
  const paragraphs = sentences.map((each) => `<p style="margin:0 0 16px">${escapeHtml(each)}</p>`);
  const button = `<a href="${escapeHtml(action.url)}" style="${BUTTON}">${escapeHtml(action.label)}</a>`;
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

// Inline styles, because some mail programs ignore style sheets. Dark modes adapt these colors.
const BODY = "margin:0;padding:24px;background:#f4f5f7;font:16px/1.5 system-ui,sans-serif";
const SHEET = "max-width:560px;margin:0 auto;padding:32px;background:#ffffff;color:#1c1f24";
const BRAND = "margin:0 0 24px;font-weight:600;color:#0b5fa5";
const BUTTON =
  "display:inline-block;padding:10px 18px;border-radius:6px;background:#0b5fa5;color:#ffffff;" +
  "text-decoration:none";
const SMALL = "margin:0;font-size:13px;color:#5a6270";

/** Turns the line `Alert settings: https://…` into a link with the label `Alert settings`. */
function linked(line: string): string {
  const [, label, url] = /^(.*): (https?:\S+)$/.exec(line) ?? [];
  if (label === undefined || url === undefined) return escapeHtml(line);
  return `<a href="${escapeHtml(url)}" style="color:#0b5fa5">${escapeHtml(label)}</a>`;
}

const CHARS_MAX = 64;

/**
 * Sanitizes a name that a person chose: only letters of any script, digits, blanks and a few signs
 * stay, so that mail programs find no address to link and no character hides or reorders others.
 */
export function nameInMail(name: string): string {
  const plain = name
    .slice(0, 4 * CHARS_MAX)
    .replaceAll(/[^\p{L}\p{M}\p{N} .,&'()+_-]/gu, " ")
    // A dot stays only before a blank, a digit or the end, where no top-level domain follows.
    .replaceAll(/\.(?![\s\d]|$)/g, " ")
    .replaceAll(/ +/g, " ")
    .trim();
  return takeStart(plain, CHARS_MAX) || "unnamed";
}
