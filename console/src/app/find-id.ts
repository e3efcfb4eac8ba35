export interface IdPlace {
  readonly label: string;
  readonly to: string;
  readonly params: Readonly<Record<string, string>>;
}

const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Finds the page for a pasted ID of a request, key, purchase or Optimize search. */
export function findId(text: string): IdPlace | undefined {
  const id = text.trim();
  const lower = id.toLowerCase();
  if (REQUEST_ID.test(lower)) {
    return { label: "Request", to: "/requests/$requestId", params: { requestId: lower } };
  }
  if (/^key_\w{1,60}$/.test(id)) return { label: "Key", to: "/keys/$keyId", params: { keyId: id } };
  if (/^pur_\w{1,60}$/.test(id)) {
    return { label: "Purchase", to: "/billing/return/$purchaseId", params: { purchaseId: id } };
  }
  if (/^search_\w{1,60}$/.test(id)) {
    return { label: "Optimize search", to: "/optimize/$searchId", params: { searchId: id } };
  }
  return undefined;
}
