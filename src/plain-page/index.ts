export { escapeHtml, plainPage, type PlainPage } from "./plain-page.ts";
