import { createRequire } from "node:module";

import { printForeignLetters } from "./reader-fonts.ts";

export interface Paper {
  readonly title: string;
  readonly warning?: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly facts: readonly (readonly [string, string])[];
  readonly tables: readonly PaperTable[];
  readonly notes: readonly string[];
  /** When the document became final: as the PDF's creation date, it makes each print the same. */
  readonly at: Date;
}

export interface PaperTable {
  readonly title: string;
  /** The `share` values of all columns add up to 1. `isFigure` aligns a column to the right. */
  readonly columns: readonly {
    readonly label: string;
    readonly share: number;
    readonly isFigure?: boolean;
  }[];
  readonly rows: readonly (readonly string[])[];
  /** The number of last rows that are sums, which are printed bold. */
  readonly sums?: number;
}

const MARGIN = 50;
/** A4, in points. */
const [PAGE_WIDTH, PAGE_HEIGHT] = [595.28, 841.89] as const;
const WIDTH = PAGE_WIDTH - 2 * MARGIN;
const BOTTOM = PAGE_HEIGHT - MARGIN - 20;
const GAP = 6;

type Pdf = InstanceType<typeof import("pdfkit")>;

/** Draws the document as a PDF file. It blocks the thread, so `printPaper` runs it in a worker. */
export async function drawPaper(paper: Paper): Promise<Buffer> {
  const { default: PdfDocument } = await import("pdfkit");
  const { resolve } = createRequire(import.meta.url);
  const pdf = new PdfDocument({
    // Version 1.5 is the first that allows the fonts of `printForeignLetters`.
    pdfVersion: "1.5",
    size: "A4",
    margin: MARGIN,
    bufferPages: true,
    font: resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf"),
    lang: "en",
    info: { Title: paper.title, Author: paper.from[0] ?? "", CreationDate: paper.at },
  });
  pdf.registerFont("plain", resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf"));
  pdf.registerFont("bold", resolve("dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf"));
  printForeignLetters(pdf);
  const pieces: Buffer[] = [];
  pdf.on("data", (piece: Buffer) => pieces.push(piece));
  const ended = new Promise((resolveEnd) => pdf.once("end", resolveEnd));
  drawHead(pdf, paper);
  for (const table of paper.tables) drawTable(pdf, table);
  for (const note of paper.notes) drawNote(pdf, note);
  numberPages(pdf, paper.title);
  pdf.end();
  await ended;
  return Buffer.concat(pieces);
}

function drawHead(pdf: Pdf, paper: Paper): void {
  pdf.font("bold").fontSize(18).text(paper.title, MARGIN, MARGIN, { width: WIDTH });
  if (paper.warning !== undefined) {
    pdf.font("bold").fontSize(9).fillColor("#b00020").text(paper.warning).fillColor("black");
  }
  pdf.moveDown();
  const top = pdf.y;
  const half = (WIDTH - MARGIN) / 2;
  const parties = [
    ["From", paper.from, MARGIN],
    ["To", paper.to, MARGIN + half + MARGIN],
  ] as const;
  const ends = parties.map(([title, lines, x]) => {
    pdf.font("bold").fontSize(9).text(title, x, top, { width: half });
    pdf.font("plain").text(lines.join("\n"), { width: half });
    return pdf.y;
  });
  pdf.y = Math.max(...ends) + 2 * GAP;
  for (const [label, text] of paper.facts) {
    const y = pdf.y;
    pdf.font("bold").fontSize(9).text(label, MARGIN, y, { width: 130 });
    pdf.font("plain").text(text, MARGIN + 140, y, { width: WIDTH - 140 });
  }
  pdf.moveDown();
}

function drawTable(pdf: Pdf, table: PaperTable): void {
  const { title, columns, rows, sums = 0 } = table;
  if (pdf.y + 60 > BOTTOM) pdf.addPage();
  pdf.font("bold").fontSize(11).text(title, MARGIN, pdf.y, { width: WIDTH });
  pdf.y += GAP / 2;
  const head = columns.map(({ label }) => label);
  drawRow(pdf, table, { row: head, font: "bold" });
  for (const [at, row] of rows.entries()) {
    drawRow(pdf, table, { row, font: at >= rows.length - sums ? "bold" : "plain", head });
  }
  pdf.y += 2 * GAP;
}

/** Draws one row. A row with a `head` that does not fit begins a page, below a repeated head. */
function drawRow(
  pdf: Pdf,
  table: PaperTable,
  of: {
    readonly row: readonly string[];
    readonly font: "plain" | "bold";
    readonly head?: readonly string[];
  },
): void {
  const { row, font, head } = of;
  pdf.font(font).fontSize(8.5);
  const cells = table.columns.map(({ share, isFigure = false }, at) => {
    const [text = "", width] = [row[at], share * WIDTH - GAP];
    // Breaking a text into lines is the slowest step, so a cell that fits on one line skips it.
    const isLine = pdf.widthOfString(text) <= width;
    const height = isLine ? pdf.currentLineHeight() : pdf.heightOfString(text, { width });
    return { text, height, align: isFigure ? "right" : "left", width, lineBreak: !isLine } as const;
  });
  const height = Math.max(...cells.map((cell) => cell.height)) + GAP;
  if (head !== undefined && pdf.y + height > BOTTOM) {
    pdf.addPage();
    drawRow(pdf, table, { row: head, font: "bold" });
    pdf.font(font);
  }
  const top = pdf.y;
  let x = MARGIN;
  for (const { text, height: _, ...options } of cells) {
    pdf.text(text, x, top + GAP / 2, options);
    x += options.width + GAP;
  }
  pdf.y = top + height;
  pdf.lineWidth(0.4).strokeColor("#999999");
  pdf
    .moveTo(MARGIN, pdf.y)
    .lineTo(MARGIN + WIDTH, pdf.y)
    .stroke();
}

function drawNote(pdf: Pdf, note: string): void {
  pdf.font("plain").fontSize(8.5);
  if (pdf.y + pdf.heightOfString(note, { width: WIDTH }) > BOTTOM) pdf.addPage();
  pdf.text(note, MARGIN, pdf.y, { width: WIDTH });
  pdf.y += GAP;
}

function numberPages(pdf: Pdf, title: string): void {
  const { count } = pdf.bufferedPageRange();
  for (let page = 0; page < count; page += 1) {
    pdf.switchToPage(page);
    // The PDF library would begin a new page for a text below the bottom margin.
    pdf.page.margins.bottom = 0;
    pdf.font("plain").fontSize(8);
    const text = `${title} · page ${page + 1} of ${count}`;
    pdf.text(text, MARGIN, PAGE_HEIGHT - MARGIN, { width: WIDTH, lineBreak: false });
  }
}
