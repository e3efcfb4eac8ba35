const LENGTH_BYTES = 4;
const TYPE_BYTES = 1;

/** Reads the SQL text of each execution from the bytes of clients, also of prepared statements. */
export class SentStatements {
  #texts: string[] = [];

  /** Returns a reader for one connection, which must be given all bytes that the client sends. */
  reader(): (piece: Buffer) => void {
    const prepared = new Map<string, string>();
    let unread = Buffer.alloc(0);
    // The first message of a connection has no type byte.
    let typeBytes = 0;
    return (piece) => {
      unread = Buffer.concat([unread, piece]);
      while (unread.length >= typeBytes + LENGTH_BYTES) {
        const end = typeBytes + unread.readUInt32BE(typeBytes);
        if (unread.length < end) return;
        const type = typeBytes === 0 ? "" : String.fromCodePoint(unread[0] ?? 0);
        this.#read(type, unread.subarray(typeBytes + LENGTH_BYTES, end), prepared);
        unread = unread.subarray(end);
        typeBytes = TYPE_BYTES;
      }
    };
  }

  take(): readonly string[] {
    const taken = this.#texts;
    this.#texts = [];
    return taken;
  }

  #read(type: string, content: Buffer, prepared: Map<string, string>): void {
    const [first = "", second = ""] = content.toString("latin1").split("\0", 2);
    if (type === "Q") this.#texts.push(first);
    // Parse has the statement's name and text; Bind has the portal and the statement's name.
    else if (type === "P") prepared.set(first, second);
    else if (type === "B") this.#texts.push(prepared.get(second) ?? `unknown: ${second}`);
  }
}
