interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
}

export interface Landing {
  readonly url: URL;
  readonly path: string;
  readonly status: number;
  readonly way: readonly string[];
}

export class CookieBrowser {
  readonly userAgent: string;
  readonly seen: { readonly place: string; readonly text: string }[] = [];
  #cookies: readonly Cookie[] = [];

  constructor(userAgent = "Test Browser 1.0") {
    this.userAgent = userAgent;
  }

  /** Opens an address and follows redirects, until `stopAt` returns true for the next address. */
  async open(
    address: string,
    options: {
      readonly form?: Readonly<Record<string, string>>;
      readonly stopAt?: (url: URL) => boolean;
    } = {},
  ): Promise<Landing> {
    const way: string[] = [];
    let url = new URL(address);
    let { form } = options;
    for (let hops = 0; hops < 20; hops += 1) {
      way.push(url.href);
      if (options.stopAt?.(url) === true) {
        return { url, path: url.pathname + url.search, status: 0, way };
      }
      const answer = await fetch(url, {
        method: form === undefined ? "GET" : "POST",
        redirect: "manual",
        headers: {
          cookie: this.header(url),
          "user-agent": this.userAgent,
          accept: "text/html",
          ...(form === undefined ? {} : { origin: url.origin }),
        },
        ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      });
      form = undefined;
      this.#store(url, answer.headers.getSetCookie());
      const location = answer.headers.get("location");
      const html = await answer.text();
      const heads = [...answer.headers].map(([name, value]) => `${name}: ${value}`);
      this.seen.push({ place: url.origin + url.pathname, text: [...heads, html].join("\n") });
      if (location === null) {
        return { url, path: url.pathname + url.search, status: answer.status, way };
      }
      url = new URL(location, url);
    }
    throw new Error(`redirected in a circle: ${way.join(" ")}`);
  }

  header(url: URL): string {
    return this.#cookies
      .filter(({ host, path }) => host === url.hostname && isUnder(url.pathname, path))
      .map(({ name, value }) => `${name}=${value}`)
      .join("; ");
  }

  cookie(name: string): string | undefined {
    return this.#cookies.find((each) => each.name === name)?.value;
  }

  /** Copies one cookie of another browser, as if the other browser's owner had used this one. */
  adopt(other: CookieBrowser, of: URL, name: string): void {
    const isMeant = (each: Cookie): boolean => each.name === name && each.host === of.hostname;
    const kept = this.#cookies.filter((each) => !isMeant(each));
    this.#cookies = [...kept, ...other.#cookies.filter(isMeant)];
  }

  #store(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const at = pair.indexOf("=");
      const read = (name: string): string | undefined =>
        attributes
          .find((each) => each.toLowerCase().startsWith(`${name}=`))
          ?.slice(name.length + 1);
      const cookie = {
        name: pair.slice(0, at),
        value: pair.slice(at + 1),
        host: url.hostname,
        path: read("path") ?? "/",
      };
      const isGone = read("max-age") === "0" || read("expires")?.includes("1970") === true;
      const others = this.#cookies.filter(
        (each) =>
          each.name !== cookie.name || each.host !== cookie.host || each.path !== cookie.path,
      );
      this.#cookies = isGone ? others : [...others, cookie];
    }
  }
}

function isUnder(path: string, of: string): boolean {
  return path === of || path.startsWith(of.endsWith("/") ? of : `${of}/`);
}
