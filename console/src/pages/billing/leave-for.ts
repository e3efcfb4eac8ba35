/** Opens the payment page. Throws if the URL is not `http` or `https`. */
export function leaveFor(url: string): void {
  const address = new URL(url, window.location.origin);
  if (!["https:", "http:"].includes(address.protocol)) {
    throw new Error("the payment page has no web address");
  }
  window.location.assign(address.href);
}

/** Resolves when the user returns to this page, so that a button stays busy until then. */
export async function untilBack(): Promise<void> {
  await new Promise((resolve) => {
    window.addEventListener("pageshow", resolve, { once: true });
  });
}
