import type { HttpAnswer } from "../../support/http-call.ts";

/** A place where a secret could have been left, with everything that is written there. */
export interface Place {
  readonly place: string;
  readonly text: string;
}

/** Every secret of a run by what it is, and every place that was written during it. */
export class SecretBook {
  readonly #secrets = new Map<string, string>();
  readonly #places: Place[] = [];

  /** A secret too short to be one would be found by chance. */
  keep(name: string, secret: string): void {
    if (secret.length < 20)
      throw new Error(`${name} is no secret: it has ${secret.length} letters`);
    this.#secrets.set(name, secret);
  }

  note(place: string, text: string): void {
    this.#places.push({ place, text });
  }

  /** An answer with its headers, as it went over the wire. */
  noteAnswer(place: string, { status, headers, text }: HttpAnswer): void {
    this.note(place, [status, JSON.stringify(headers), text].join("\n"));
  }

  /** The places of each secret, in whatever form it is there. */
  found(): Readonly<Record<string, readonly string[]>> {
    const entries = [...this.#secrets].map(([name, secret]) => {
      const forms = formsOf(secret);
      const places = this.#places.filter(({ text }) => forms.some((form) => text.includes(form)));
      return [name, places.map(({ place }) => place)] as const;
    });
    return Object.fromEntries(entries);
  }
}

/**
 * A secret as it is, without its prefix, in hexadecimal, in base64, and as the bytes it represents.
 */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const plain = bytes.toString("base64").replace(/=+$/, "");
  return [
    secret,
    encodeURIComponent(secret),
    secret.replace(/^(tm_vk_|whsec_)/, ""),
    bytes.toString("hex"),
    // Three letters at the end may be written otherwise where more follows.
    plain.slice(0, -3),
    Buffer.from(secret, "base64url").toString("hex"),
  ];
}
