import type { Provider } from "oidc-provider";

/**
 * The provider library, loaded when it is needed. On Node 20 it says while loading that it
 * wants a later one, although everything that is used of it works: that one line is left out.
 */
export async function loadOidcProvider(): Promise<typeof Provider> {
  const warn = console.warn;
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes("Unsupported runtime")) warn(...words);
  };
  try {
    return (await import("oidc-provider")).Provider;
  } finally {
    console.warn = warn;
  }
}
