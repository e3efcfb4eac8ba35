type Pdf = InstanceType<typeof import("pdfkit")>;

/** What the library keeps of a font, and asks of one. */
interface Font {
  readonly id: string;
  readonly ascender: number;
  ref(): unknown;
  encode(text: string): readonly [hex: readonly string[], positions: readonly object[]];
  widthOfString(text: string, size: number): number;
  readonly font?: { hasGlyphForCodePoint(point: number): boolean };
}

type Options = Readonly<Record<string, unknown>> & { readonly lineWidth?: number };

interface Inner {
  _font: Font;
  readonly _fontSize: number;
  _fragment(text: string, x: number, y: number, options: Options): void;
}

/** Collections of letters that every reader of PDF files has a name for. Han is in all of them. */
const COLLECTIONS = {
  GB1: { name: "STSong-Light", encoding: "UniGB-UTF16-H", supplement: 5 },
  Japan1: { name: "HeiseiKakuGo-W5", encoding: "UniJIS-UTF16-H", supplement: 6 },
  Korea1: { name: "HYGoThic-Medium", encoding: "UniKS-UTF16-H", supplement: 2 },
} as const;

type Collection = keyof typeof COLLECTIONS;

const KANA = /[\u3040-\u30ff\u31f0-\u31ff]/u;
const HANGUL = /[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]/u;
const WIDE =
  /[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3134f}]|[\u1100-\u11ff\uac00-\ud7af]/u;

/** A part of a text in one font. */
interface Run {
  /** Undefined: the font in force. */
  readonly collection: Collection | undefined;
  readonly text: string;
}

/**
 * Makes a document print the letters that its embedded font has not. Chinese, Japanese and Korean
 * ones name a font of the reader's system, since one that has them all is 5 to 20 MB. Of any other
 * letter its code is printed, so that nothing is lost in silence.
 */
export function printForeignLetters(pdf: Pdf): void {
  const inner = pdf as unknown as Inner;
  const fonts = new Map<Collection, Font>();
  const fontOf = (collection: Collection | undefined, main: Font): Font => {
    if (collection === undefined) return main;
    const known = fonts.get(collection) ?? readerFont(pdf, collection, main.ascender);
    fonts.set(collection, known);
    return known;
  };
  const widthOf = (runs: readonly Run[], main: Font): number =>
    runs
      .map(({ collection, text }) => fontOf(collection, main).widthOfString(text, inner._fontSize))
      .reduce((sum, width) => sum + width, 0);
  const { _fragment: draw } = inner;
  pdf.widthOfString = (text) => widthOf(splitRuns(text, inner._font), inner._font);
  inner._fragment = (text, x, y, options) => {
    const main = inner._font;
    const runs = splitRuns(text, main);
    const { lineWidth = 0, align } = options;
    const left = align === "right" ? lineWidth - widthOf(splitRuns(text.trimEnd(), main), main) : 0;
    let at = x + left;
    for (const run of runs) {
      inner._font = fontOf(run.collection, main);
      draw.call(inner, run.text, at, y, { ...options, align: "left", textWidth: undefined });
      at += inner._font.widthOfString(run.text, inner._fontSize);
    }
    inner._font = main;
  };
}

function splitRuns(text: string, { font }: Font): readonly Run[] {
  if (/^[\n\x20-\x7e]*$/.test(text)) return [{ collection: undefined, text }];
  const runs: Run[] = [];
  for (const letter of text) {
    const point = letter.codePointAt(0) ?? 0;
    const isPlain = /[\n\r\t]/.test(letter) || font?.hasGlyphForCodePoint(point) !== false;
    const collection = isPlain || !WIDE.test(letter) ? undefined : collectionOf(letter, text);
    const code = `[U+${point.toString(16).toUpperCase().padStart(4, "0")}]`;
    const shown = isPlain || collection !== undefined ? letter : code;
    const last = runs.at(-1);
    if (last?.collection !== collection || last === undefined)
      runs.push({ collection, text: shown });
    else runs[runs.length - 1] = { collection, text: last.text + shown };
  }
  return runs;
}

function collectionOf(letter: string, text: string): Collection {
  if (HANGUL.test(letter)) return "Korea1";
  return KANA.test(text) ? "Japan1" : "GB1";
}

/** A font of the reader's, in which each letter is as wide as it is high. */
function readerFont(pdf: Pdf, collection: Collection, ascender: number): Font {
  const { name, encoding, supplement } = COLLECTIONS[collection];
  let made: object | undefined;
  return {
    id: `R${collection}`,
    // That of the embedded font, so that both stand on one line.
    ascender,
    ref: () => (made ??= fontObject(pdf, { name, encoding, supplement, collection })),
    widthOfString: (text, size) => [...text].length * size,
    encode: (text) => {
      const letters = [...text];
      const place = { xAdvance: EM, yAdvance: 0, xOffset: 0, yOffset: 0, advanceWidth: EM };
      return [letters.map(toUtf16), letters.map(() => place)];
    },
  };
}

/** Widths are in thousandths of the size of the letters. */
const EM = 1_000;

function toUtf16(letter: string): string {
  return Buffer.from(letter, "utf16le").swap16().toString("hex");
}

function fontObject(
  pdf: Pdf,
  of: {
    readonly name: string;
    readonly encoding: string;
    readonly supplement: number;
    readonly collection: Collection;
  },
): object {
  const { name, encoding, supplement, collection } = of;
  const add = (data: object): object => {
    const made = pdf.ref(data as Record<string, unknown>);
    made.end("");
    return made;
  };
  const descriptor = add({
    Type: "FontDescriptor",
    FontName: name,
    Flags: 4,
    FontBBox: [-25, -254, EM, 880],
    ItalicAngle: 0,
    Ascent: 880,
    Descent: -120,
    CapHeight: 880,
    StemV: 93,
  });
  const letters = add({
    Type: "Font",
    Subtype: "CIDFontType0",
    BaseFont: name,
    CIDSystemInfo: {
      Registry: Buffer.from("Adobe"),
      Ordering: Buffer.from(collection),
      Supplement: supplement,
    },
    FontDescriptor: descriptor,
    DW: EM,
  });
  return add({
    Type: "Font",
    Subtype: "Type0",
    BaseFont: `${name}-${encoding}`,
    Encoding: encoding,
    DescendantFonts: [letters],
  });
}
