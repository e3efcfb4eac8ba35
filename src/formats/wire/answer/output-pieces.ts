/** Client text waiting to be sent, handed out in one piece. */
export class OutputPieces {
  #text = "";

  add(text: string): void {
    this.#text += text;
  }

  /** Everything added since the last call; undefined when that is nothing. */
  take(): string | undefined {
    if (this.#text === "") return undefined;
    const text = this.#text;
    this.#text = "";
    return text;
  }

  /** What waits, with `text` behind it. */
  takeWith(text: string): string {
    this.#text += text;
    return this.take() ?? "";
  }
}
