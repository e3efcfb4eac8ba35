/** The gateway's routes that a program calls with a key. */
export const ROUTE_ROWS: readonly { readonly route: string; readonly what: string }[] = [
  { route: "POST /v1/chat/completions", what: "Chat in the OpenAI format, streamed or not" },
  {
    route: "POST /v1/messages",
    what: "Chat in the Anthropic format; every chat model supports both",
  },
  { route: "POST /v1/messages/count_tokens", what: "Counts the tokens of a prompt" },
  { route: "POST /v1/images/generations", what: "Images: all that were requested, or none" },
  { route: "POST /v1/videos", what: "Starts a video; GET /v1/videos/{id} shows its progress" },
  { route: "POST /v1/decisions", what: "Typed answers to questions about a state" },
  { route: "GET /v1/models", what: "Models with their providers and prices" },
  { route: "GET /v1/generation?id=", what: "One request: every attempt with tokens and cost" },
  { route: "GET /v1/usage", what: "Usage, also as a CSV file" },
  { route: "GET /v1/limits", what: "The limits of the key, and how much of each is left" },
];
