let nonce = "";

/** Reads the CSP nonce that the server put into this page; generated style elements need it. */
export function readStyleNonce(): void {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]');
  nonce = meta?.content ?? "";
  // The library that locks scrolling under dialogs reads the nonce from this global.
  (globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = nonce;
}

export function styleNonce(): string {
  return nonce;
}
