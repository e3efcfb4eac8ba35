import type { HttpAnswer } from "../../support/http-call.ts";

/** A place where a secret could have been left, with everything that is written there. */
export interface Place {
  readonly place: string;
  readonly text: string;
}

/** The secrets of a run by name, and everything that was written during it, by place. */
export class SecretBook {
  readonly #secrets = new Map<string, string>();
  readonly #places: Place[] = [];

  /** Refuses short texts, which would be found by chance. */
  keep(name: string, secret: string): void {
    if (secret.length < 20)
      throw new Error(`${name} is no secret: it has ${secret.length} letters`);
    this.#secrets.set(name, secret);
  }

  note(place: string, text: string): void {
    this.#places.push({ place, text });
  }

  /** Notes an answer with its status and headers. */
  noteAnswer(place: string, { status, headers, text }: HttpAnswer): void {
    this.note(place, [status, JSON.stringify(headers), text].join("\n"));
  }

  /** Returns, for each secret, the places where it was found in any of its forms. */
  found(): Readonly<Record<string, readonly string[]>> {
    const entries = [...this.#secrets].map(([name, secret]) => {
      const forms = formsOf(secret);
      const places = this.#places.filter(({ text }) => forms.some((form) => text.includes(form)));
      return [name, places.map(({ place }) => place)] as const;
    });
    return Object.fromEntries(entries);
  }
}

/** The secret as it is, URI-encoded, without its prefix, in hexadecimal, in base64 and decoded. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const plain = bytes.toString("base64").replace(/=+$/, "");
  return [
    secret,
    encodeURIComponent(secret),
    secret.replace(/^(tm_vk_|whsec_)/, ""),
    bytes.toString("hex"),
    // The last three characters differ if more data follows, so they are left out.
    plain.slice(0, -3),
    Buffer.from(secret, "base64url").toString("hex"),
  ];
}
