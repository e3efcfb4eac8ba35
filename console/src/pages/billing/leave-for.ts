/** To the payment page. Nothing but a web address is gone to, whatever the answer holds. */
export function leaveFor(url: string): void {
  const address = new URL(url, window.location.origin);
  if (!["https:", "http:"].includes(address.protocol)) {
    throw new Error("the payment page has no web address");
  }
  window.location.assign(address.href);
}

/** The browser is on its way: a button stays busy until the user returns to this page. */
export async function untilBack(): Promise<void> {
  await new Promise((resolve) => {
    window.addEventListener("pageshow", resolve, { once: true });
  });
}
