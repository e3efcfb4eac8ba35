const LINE_CHARS_MAX = 8_000_000;

export class SseParser {
  #line = "";
  #data: string[] = [];
  #wasReturn = false;

  /** Returns the data of each event that `fragment` completes. Throws if a long line has no end. */
  push(fragment: string): readonly string[] {
    const events: string[] = [];
    let from = 0;
    for (let at = 0; at < fragment.length; at += 1) {
      const char = fragment[at];
      if (char !== "\n" && char !== "\r") {
        this.#wasReturn = false;
        continue;
      }
      // CR LF is a single line end, even if one fragment ends with CR and the next begins with LF.
      const isSecondHalf = char === "\n" && this.#wasReturn;
      this.#wasReturn = char === "\r";
      if (isSecondHalf) {
        from = at + 1;
        continue;
      }
      this.#line += fragment.slice(from, at);
      from = at + 1;
      events.push(...this.#endLine());
    }
    this.#line += fragment.slice(from);
    if (this.#line.length > LINE_CHARS_MAX) throw new Error("a line of the answer has no end");
    return events;
  }

  /** Returns the data of the event that the line completes, or nothing. */
  #endLine(): readonly string[] {
    const line = this.#line;
    this.#line = "";
    if (line === "" && this.#data.length > 0) return [this.#data.splice(0).join("\n")];
    if (line === "data" || line.startsWith("data:")) {
      this.#data.push(line.slice("data:".length).replace(/^ /, ""));
    }
    return [];
  }
}
