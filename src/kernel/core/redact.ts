/** Returns a function that replaces virtual keys (by their form) and `secrets` (by their value). */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const values = secrets.filter((secret) => secret.length >= SECRET_CHARS_MIN);
  return (text) => {
    let safe = text.replaceAll(VIRTUAL_KEY, "tm_vk_[redacted]");
    for (const value of values) safe = safe.replaceAll(value, "[redacted]");
    return safe;
  };
}

const VIRTUAL_KEY = /tm_vk_[0-9a-f]{8,}/g;
/** Shorter secrets are not replaced, because that would blank out ordinary text. */
const SECRET_CHARS_MIN = 8;
