import { answerOf, openAsk, type Ask, type HttpAnswer } from "../../support/ask.ts";

/** The client's view of an answer, however it ended. */
export interface ClientView extends HttpAnswer {
  /** The answer ended as HTTP wants it; false: the connection broke off. */
  readonly isWhole: boolean;
}

/** A request whose gateway may die under it: nothing is thrown, everything that came is kept. */
export interface OpenRequest {
  /** The text so far. */
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
      // After an error, too, and only once nothing more can come.
      response.on("error", () => undefined);
      response.on("close", () =>
        resolve({ ...answerOf(response, text), isWhole: response.complete }),
      );
    });
  });
  return { text: () => text, view, leave: () => sent.destroy() };
}
