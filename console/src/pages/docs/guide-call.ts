export interface GuideCall {
  readonly method: "GET" | "POST";
  /** The path below `/v1`, with its query. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The model that the call's body or query names; undefined if it names none. */
  readonly modelId: string | undefined;
  /** The `for` of `POST /v1/route?for=`, which quotes the call; undefined if the call is free. */
  readonly quotedAs: string | undefined;
}

const QUOTED: Readonly<Record<string, string>> = {
  "/chat/completions": "chat",
  "/messages": "messages",
  "/images/generations": "images",
  "/videos": "videos",
  "/decisions": "decisions",
};

/**
 * Parses a guide's curl command. Undefined if it is not exactly one request to the gateway, or if
 * its path has a shell variable.
 */
export function readGuideCall(code: string): GuideCall | undefined {
  if (code.split(/\bcurl\b/).length !== 2) return undefined;
  const path = /"?https?:\/\/[^/\s"]+\/v1(\/[^\s"\\]*)"?/.exec(code)?.[1];
  if (path === undefined || path.includes("$")) return undefined;
  const sent = /-d '([\s\S]*?)'/.exec(code)?.[1];
  if (sent === undefined) {
    const modelId = new URLSearchParams(path.split("?")[1] ?? "").get("model") ?? undefined;
    return { method: "GET", path, modelId, quotedAs: undefined };
  }
  const body = parseObject(sent);
  if (body === undefined) return undefined;
  const model = body["model"];
  const modelId = typeof model === "string" ? model : undefined;
  return { method: "POST", path, body, modelId, quotedAs: QUOTED[path] };
}

export function rewritten(
  code: string,
  change: {
    readonly model?: { readonly from: string; readonly to: string } | undefined;
    readonly root?: { readonly from: string; readonly to: string } | undefined;
  },
): string {
  const { model, root } = change;
  const moved = root === undefined ? code : code.replaceAll(root.from, root.to);
  return model === undefined ? moved : moved.replaceAll(model.from, model.to);
}

export function withModel(call: GuideCall, modelId: string): GuideCall {
  if (call.modelId === undefined) return call;
  if (call.body !== undefined) return { ...call, modelId, body: { ...call.body, model: modelId } };
  const [path = "", query = ""] = call.path.split("?");
  const search = new URLSearchParams(query);
  search.set("model", modelId);
  return { ...call, modelId, path: `${path}?${search.toString()}` };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
