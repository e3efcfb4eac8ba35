import { createRequire } from "node:module";

export interface Paper {
  readonly title: string;
  readonly warning?: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly facts: readonly (readonly [string, string])[];
  readonly tables: readonly PaperTable[];
  readonly notes: readonly string[];
  /** The PDF's date: when the document became final, else 1970, so that every print is the same. */
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
  /** How many rows at the end are sums; these are printed bold. Default: none. */
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

/** Draws one row. If it has a `head` and does not fit on the page, draws both on a new page. */
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

interface Font {
  readonly id: string;
  readonly ascender: number;
  ref(): unknown;
  encode(text: string): readonly [hex: readonly string[], positions: readonly object[]];
  widthOfString(text: string, size: number): number;
  readonly font?: { hasGlyphForCodePoint(point: number): boolean };
}

interface Inner {
  _font: Font;
  readonly _fontSize: number;
  _fragment(text: string, x: number, y: number, options: Options): void;
}

type Options = Readonly<Record<string, unknown>> & { readonly lineWidth?: number };

/** Fonts that PDF viewers supply by name. Each contains the Han characters. */
const READER_FONTS = {
  GB1: { name: "STSong-Light", encoding: "UniGB-UTF16-H" },
  Japan1: { name: "HeiseiKakuGo-W5", encoding: "UniJIS-UTF16-H" },
  Korea1: { name: "HYGoThic-Medium", encoding: "UniKS-UTF16-H" },
} as const;

type Letters = keyof typeof READER_FONTS;

const KANA = /[\u3040-\u30ff\u31f0-\u31ff]/;
const HANGUL = /[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]/;
const WIDE =
  /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3134f}]/u;
/** PDF measures the widths of glyphs in thousandths of the font size. */
const EM = 1_000;

interface Run {
  readonly letters: Letters | undefined;
  readonly text: string;
}

/**
 * Makes a document print characters that its embedded font lacks. Chinese, Japanese and Korean ones
 * use a font of the PDF viewer, since a font with all of them takes 5 to 20 MB. Any other
 * character is printed as its code point, so that nothing is lost silently.
 */
function printForeignLetters(pdf: Pdf): void {
  const inner = pdf as unknown as Inner;
  const fonts = new Map<Letters | undefined, Font>();
  const fontOf = ({ letters }: Run, main: Font): Font => {
    if (letters === undefined) return main;
    const font = fonts.get(letters) ?? readerFont(pdf, letters, main.ascender);
    fonts.set(letters, font);
    return font;
  };
  const widthOf = (text: string): number =>
    splitRuns(text, inner._font)
      .map((run) => fontOf(run, inner._font).widthOfString(run.text, inner._fontSize))
      .reduce((sum, width) => sum + width, 0);
  const draw = inner._fragment.bind(inner);
  pdf.widthOfString = widthOf;
  inner._fragment = (text, x, y, options) => {
    const { _font: main } = inner;
    const { lineWidth = 0, align } = options;
    let at = align === "right" ? x + lineWidth - widthOf(text.trimEnd()) : x;
    for (const run of splitRuns(text, main)) {
      inner._font = fontOf(run, main);
      draw(run.text, at, y, { ...options, align: "left", textWidth: undefined });
      at += inner._font.widthOfString(run.text, inner._fontSize);
    }
    inner._font = main;
  };
}

function splitRuns(text: string, { font }: Font): readonly Run[] {
  if (/^[\n\x20-\x7e]*$/.test(text)) return [{ letters: undefined, text }];
  const runs: Run[] = [];
  for (const letter of text) {
    const point = letter.codePointAt(0) ?? 0;
    const isPlain = /\s/.test(letter) || font?.hasGlyphForCodePoint(point) !== false;
    const letters = isPlain || !WIDE.test(letter) ? undefined : lettersOf(letter, text);
    const code = `[U+${point.toString(16).toUpperCase().padStart(4, "0")}]`;
    const shown = isPlain || letters !== undefined ? letter : code;
    const last = runs.at(-1);
    if (last === undefined || last.letters !== letters) runs.push({ letters, text: shown });
    else runs[runs.length - 1] = { letters, text: last.text + shown };
  }
  return runs;
}

function lettersOf(letter: string, text: string): Letters {
  if (HANGUL.test(letter)) return "Korea1";
  return KANA.test(text) ? "Japan1" : "GB1";
}

/** Builds a font that the PDF viewer supplies and the file lacks; every glyph is one em wide. */
function readerFont(pdf: Pdf, letters: Letters, ascender: number): Font {
  let dictionary: object | undefined;
  const place = { xAdvance: EM, yAdvance: 0, xOffset: 0, yOffset: 0, advanceWidth: EM };
  return {
    id: `R${letters}`,
    // The ascender of the embedded font, so that both fonts share one baseline.
    ascender,
    ref: () => (dictionary ??= addFont(pdf, letters)),
    widthOfString: (text, size) => Array.from(text).length * size,
    encode: (text) => {
      const each = Array.from(text);
      const hex = each.map((letter) => Buffer.from(letter, "utf16le").swap16().toString("hex"));
      return [hex, each.map(() => place)];
    },
  };
}

function addFont(pdf: Pdf, letters: Letters): object {
  const { name, encoding } = READER_FONTS[letters];
  const add = (data: Record<string, unknown>): object => {
    const made = pdf.ref(data);
    made.end("");
    return made;
  };
  const heights = { Ascent: 880, Descent: -120, CapHeight: 880, FontBBox: [-25, -254, EM, 880] };
  const looks = { Flags: 4, ItalicAngle: 0, StemV: 93, ...heights };
  const descriptor = add({ Type: "FontDescriptor", FontName: name, ...looks });
  const system = { Registry: Buffer.from("Adobe"), Ordering: Buffer.from(letters), Supplement: 2 };
  const glyphs = { Subtype: "CIDFontType0", CIDSystemInfo: system, FontDescriptor: descriptor };
  const descendant = add({ Type: "Font", BaseFont: name, DW: EM, ...glyphs });
  const face = { BaseFont: `${name}-${encoding}`, Encoding: encoding };
  return add({ Type: "Font", Subtype: "Type0", ...face, DescendantFonts: [descendant] });
}
