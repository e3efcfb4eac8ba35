import { answerOf, openAsk, type Ask, type HttpAnswer } from "../../support/ask.ts";

/** The client's view of an answer, however it ended. */
export interface ClientView extends HttpAnswer {
  /** True if the answer ended as HTTP requires, false if the connection broke. */
  readonly isWhole: boolean;
}

/** A request during which its gateway may die: nothing is thrown, and all that arrives is kept. */
export interface OpenRequest {
  /** The text received so far. */
  text(): string;
  readonly view: Promise<ClientView>;
  leave(): void;
}

const NOTHING: ClientView = {
  status: 0,
  headers: {},
  text: "",
  json: undefined,
  requestId: "",
  isWhole: false,
};

export function openRequest(gatewayUrl: string, asked: Ask): OpenRequest {
  const sent = openAsk(gatewayUrl, asked);
  let text = "";
  const view = new Promise<ClientView>((resolve) => {
    sent.on("error", () => resolve(NOTHING));
    sent.on("response", (response) => {
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      // `close` also follows an error, and nothing more can arrive after it.
      response.on("error", () => undefined);
      response.on("close", () =>
        resolve({ ...answerOf(response, text), isWhole: response.complete }),
      );
    });
  });
  return { text: () => text, view, leave: () => sent.destroy() };
}
