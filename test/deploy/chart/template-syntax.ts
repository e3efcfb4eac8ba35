/**
 * The part of Go's template language that the chart may use: fields, variables of a range, calls with
 * pipes and brackets, `if`, `else if`, `range`, `define`. Anything else is an error with file and line.
 */
export type TemplateNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly value: Expression }
  | { readonly kind: "if"; readonly branches: readonly Branch[] }
  | { readonly kind: "range"; readonly range: Range; readonly body: readonly TemplateNode[] }
  | { readonly kind: "define"; readonly name: string; readonly body: readonly TemplateNode[] };

interface Branch {
  /** Undefined: the `else` of all others. */
  readonly condition: Expression | undefined;
  readonly body: readonly TemplateNode[];
}

interface Range {
  readonly key: string;
  readonly value: string;
  readonly over: Expression;
}

export type Expression =
  | { readonly kind: "literal"; readonly value: string | bigint; readonly at: Place }
  /** `$` is what the template was given, `$x` a variable, `.` what a range is at. */
  | {
      readonly kind: "field";
      readonly from: string;
      readonly path: readonly string[];
      readonly at: Place;
    }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly args: readonly Expression[];
      readonly at: Place;
    }
  | {
      readonly kind: "method";
      readonly field: Expression;
      readonly args: readonly Expression[];
      readonly at: Place;
    };

export interface Place {
  readonly file: string;
  readonly line: number;
}

export class TemplateFault extends Error {
  constructor(at: Place, what: string) {
    super(`${at.file}:${at.line}: ${what}`);
  }
}

interface Piece {
  readonly isAction: boolean;
  readonly text: string;
  readonly at: Place;
}

export function parseTemplate(file: string, text: string): readonly TemplateNode[] {
  const reader = new BlockReader(piecesOf(file, text), { file, line: text.split("\n").length });
  return reader.whole();
}

/** Texts and actions in turn, with the white space gone that `{{-` and `-}}` take away. */
function piecesOf(file: string, text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  let isTrimmed = false;
  const push = (part: string, at: Place, nextTrims: boolean): void => {
    const left = isTrimmed ? part.replace(/^[ \t\r\n]+/, "") : part;
    pieces.push({
      isAction: false,
      text: nextTrims ? left.replace(/[ \t\r\n]+$/, "") : left,
      at,
    });
  };
  for (const match of text.matchAll(/\{\{(-(?=\s))?([\s\S]*?)((?<=\s)-)?\}\}/g)) {
    const [whole, trimsBefore, body = "", trimsAfter] = match;
    const at = { file, line: text.slice(0, match.index).split("\n").length };
    push(text.slice(from, match.index), at, trimsBefore !== undefined);
    isTrimmed = trimsAfter !== undefined;
    from = match.index + whole.length;
    const action = body.trim();
    if (/^\/\*[\s\S]*\*\/$/.test(action)) continue;
    if (/[\n`]/.test(action)) throw new TemplateFault(at, "an action is written on one line");
    pieces.push({ isAction: true, text: action, at });
  }
  push(text.slice(from), { file, line: text.split("\n").length }, false);
  if (pieces.some((piece) => !piece.isAction && piece.text.includes("{{"))) {
    throw new TemplateFault({ file, line: 1 }, "{{ is never closed");
  }
  return pieces;
}

class BlockReader {
  readonly #pieces: readonly Piece[];
  readonly #end: Place;
  #next = 0;

  constructor(pieces: readonly Piece[], end: Place) {
    this.#pieces = pieces;
    this.#end = end;
  }

  whole(): readonly TemplateNode[] {
    const { body, stop } = this.#block();
    if (stop !== undefined) throw new TemplateFault(stop.at, `${stop.text} without a beginning`);
    return body;
  }

  /** What comes until `else` or `end`. */
  #block(): { readonly body: TemplateNode[]; readonly stop: Piece | undefined } {
    const body: TemplateNode[] = [];
    for (;;) {
      const piece = this.#pieces[this.#next];
      if (piece === undefined) return { body, stop: undefined };
      this.#next += 1;
      if (piece.isAction && /^(?:else|end)\b/.test(piece.text)) return { body, stop: piece };
      body.push(this.#node(piece));
    }
  }

  #node(piece: Piece): TemplateNode {
    const { text, at, isAction } = piece;
    if (!isAction) return { kind: "text", text };
    const [, word = "", rest = ""] = /^([a-z]+)\s+(.*)$/.exec(text) ?? [];
    switch (word) {
      case "if":
        return { kind: "if", branches: this.#branches(parseExpression(rest, at), at) };
      case "range": {
        const names = /^(\$\w+), (\$\w+) := (.+)$/.exec(rest);
        if (names === null) throw new TemplateFault(at, "write: range $key, $value := …");
        const [, key = "", value = "", over = ""] = names;
        const range = { key, value, over: parseExpression(over, at) };
        return { kind: "range", range, body: this.#untilEnd(at) };
      }
      case "define": {
        const [, name] = /^"([\w.]+)"$/.exec(rest) ?? [];
        if (name === undefined) throw new TemplateFault(at, 'write: define "name"');
        return { kind: "define", name, body: this.#untilEnd(at) };
      }
      case "with":
      case "block":
        throw new TemplateFault(at, `${word} is not in the subset`);
      default:
        return { kind: "print", value: parseExpression(text, at) };
    }
  }

  #untilEnd(at: Place): readonly TemplateNode[] {
    const { body, stop } = this.#block();
    if (stop?.text !== "end") throw new TemplateFault(stop?.at ?? this.#end, unended(at));
    return body;
  }

  #branches(first: Expression, at: Place): readonly Branch[] {
    const branches: Branch[] = [];
    let condition: Expression | undefined = first;
    for (;;) {
      const { body, stop } = this.#block();
      if (stop === undefined) throw new TemplateFault(this.#end, unended(at));
      branches.push({ condition, body });
      if (stop.text === "end") return branches;
      if (condition === undefined) throw new TemplateFault(stop.at, "else comes last, and once");
      const [, rest] = /^else if (.+)$/.exec(stop.text) ?? [];
      if (rest === undefined && stop.text !== "else") {
        throw new TemplateFault(stop.at, `${stop.text} is not in the subset`);
      }
      condition = rest === undefined ? undefined : parseExpression(rest, stop.at);
    }
  }
}

function unended(at: Place): string {
  return `what begins on line ${at.line} has no end`;
}

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|\$\w*(?:\.\w+)*|\.(?:\w+(?:\.\w+)*)?|\d+|[a-zA-Z]\w*|[()|])/y;

function parseExpression(text: string, at: Place): Expression {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let end = 0; end < text.length; end = TOKEN.lastIndex) {
    const [, token] = TOKEN.exec(text) ?? [];
    if (token === undefined)
      throw new TemplateFault(at, `not in the subset: ${text.slice(end).trim()}`);
    tokens.push(token);
  }
  const reader = new ExpressionReader(tokens, at);
  return reader.whole();
}

class ExpressionReader {
  readonly #tokens: string[];
  readonly #at: Place;

  constructor(tokens: string[], at: Place) {
    this.#tokens = tokens;
    this.#at = at;
  }

  whole(): Expression {
    const value = this.#pipeline();
    if (this.#tokens.length > 0) throw this.#fault(`unexpected ${this.#tokens[0]}`);
    return value;
  }

  #pipeline(): Expression {
    let value = this.#command(undefined);
    while (this.#tokens[0] === "|") {
      this.#tokens.shift();
      value = this.#command(value);
    }
    return value;
  }

  /** One call; `piped` is its last argument. */
  #command(piped: Expression | undefined): Expression {
    const first = this.#tokens[0];
    if (first === undefined) throw this.#fault("an action without a value");
    const at = this.#at;
    if (/^[a-zA-Z]/.test(first)) {
      this.#tokens.shift();
      const args = [...this.#operands(), ...(piped === undefined ? [] : [piped])];
      return { kind: "call", name: first, args, at };
    }
    const value = this.#operand();
    const args = this.#operands();
    if (piped !== undefined) throw this.#fault("a pipe leads into a function");
    return args.length === 0 ? value : { kind: "method", field: value, args, at };
  }

  #operands(): Expression[] {
    const operands: Expression[] = [];
    for (;;) {
      const next = this.#tokens[0];
      if (next === undefined || next === "|" || next === ")") return operands;
      operands.push(this.#operand());
    }
  }

  #operand(): Expression {
    const token = this.#tokens.shift() ?? "";
    const at = this.#at;
    if (token === "(") {
      const value = this.#pipeline();
      if (this.#tokens.shift() !== ")") throw this.#fault("a bracket is never closed");
      return value;
    }
    if (token.startsWith('"')) {
      return { kind: "literal", value: JSON.parse(token) as string, at };
    }
    if (/^\d/.test(token)) return { kind: "literal", value: BigInt(token), at };
    if (!/^[.$]/.test(token)) throw this.#fault(`${token} as an argument: put it into brackets`);
    const [from = "", ...path] = token.split(".");
    return { kind: "field", from, path: path.filter((name) => name !== ""), at };
  }

  #fault(what: string): TemplateFault {
    return new TemplateFault(this.#at, what);
  }
}
