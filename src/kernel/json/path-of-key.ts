interface Level {
  readonly isArray: boolean;
  index: number;
  key: string;
}

/**
 * The dotted path of the key that starts at `offset`, for a message. The bytes before it must be
 * well-formed so far. Walks from the start: only for refusals.
 */
export function pathOfKey(body: Buffer, offset: number): string {
  const levels: Level[] = [];
  let lastString = "";
  for (let at = 0; at < offset; at++) {
    const level = levels.at(-1);
    switch (body[at] ?? 0) {
      case 0x22: {
        const end = stringEnd(body, at);
        lastString = JSON.parse(body.toString("utf8", at, end)) as string;
        at = end - 1;
        break;
      }
      case 0x3a:
        if (level) level.key = lastString;
        break;
      case 0x2c:
        if (level) level.index += 1;
        break;
      case 0x7b:
      case 0x5b:
        levels.push({ isArray: body[at] === 0x5b, index: 0, key: "" });
        break;
      case 0x7d:
      case 0x5d:
        levels.pop();
        break;
      default:
    }
  }
  const key = JSON.parse(body.toString("utf8", offset, stringEnd(body, offset))) as string;
  return [...levels.slice(0, -1).map(stepOf), key].join(".");
}

const STEP_CHARS_MAX = 64;

function stepOf(level: Level): string {
  return level.isArray ? String(level.index) : level.key.slice(0, STEP_CHARS_MAX);
}

function stringEnd(body: Buffer, start: number): number {
  let at = start + 1;
  while (at < body.length && body[at] !== 0x22) at += body[at] === 0x5c ? 2 : 1;
  return at + 1;
}
