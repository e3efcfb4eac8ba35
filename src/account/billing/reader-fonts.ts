type Pdf = InstanceType<typeof import("pdfkit")>;

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
 * use a font of the PDF viewer, since a font with all of them takes 5 to 20 MB. Any other character
 * is printed as its code point, so that nothing is lost silently.
 */
export function printForeignLetters(pdf: Pdf): void {
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

/** A font that the PDF viewer supplies, not embedded; every glyph is one em wide. */
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
