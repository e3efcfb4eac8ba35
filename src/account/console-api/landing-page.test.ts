import { expect, test } from "vitest";

import type { ListedModel } from "../../catalog/catalog.ts";
import { landingPage, type Landing } from "./landing-page.ts";

const PLAIN: Landing = {
  signInName: "Example",
  isLocal: false,
  back: undefined,
  reason: undefined,
  requestId: undefined,
  support: "",
  privacyUrl: "",
  termsUrl: "",
  gatewayUrl: "http://gateway.test",
  models: [],
};
const ID = "01a2011d-1904-7626-a440-0a7ac86ef336";

test("the landing page says what the product is and links to models, providers, docs and sign-in", () => {
  const { html } = landingPage({ ...PLAIN, back: "/keys?status=all" });
  expect(html).toContain("<h1>One key and one balance for the AI models of many providers</h1>");
  expect(html).toContain('href="/auth/start?return=%2Fkeys%3Fstatus%3Dall">Continue with Example<');
  for (const path of ["/models", "/providers", "/docs"]) expect(html).toContain(`href="${path}"`);
  expect(html).not.toContain("<footer>");
  // Without a model for sale, the page has no figures, no list of models and no sample request.
  expect(html).not.toMatch(/class="(figures|models|sample)"/);
});

test("the footer has the terms, privacy and support links that the operator has set", () => {
  const own = { termsUrl: "https://a.test/t", privacyUrl: "https://a.test/p" };
  const { html } = landingPage({ ...PLAIN, ...own, support: "help@a.test" });
  const footer = /<footer>(.*)<\/footer>/s.exec(html)?.[1] ?? "";
  expect([...footer.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
    "https://a.test/t",
    "https://a.test/p",
    "mailto:help@a.test",
  ]);
  const text = landingPage({ ...PLAIN, support: "<b>Room 4</b>" }).html;
  expect(text).toContain("Support: &#60;b&#62;Room 4&#60;/b&#62;");
});

test("a session that ended says nothing of other browsers, which a reopening or a verification ends too", () => {
  const { html } = landingPage({ ...PLAIN, reason: "signed-out" });
  const [note] = /<p class="note"[^]*?<\/p>/.exec(html) ?? [];
  expect(note).toBe('<p class="note" role="status">You are signed out.</p>');
});

test("a session that the provider did not confirm does not count as ended by the provider", () => {
  // A provider that is down, and a tab that stays open, end a session like a provider's refusal.
  const { html } = landingPage({ ...PLAIN, reason: "idp-ended" });
  expect(html).toContain("ended your session, or did not confirm it in time.");
});

test("a reason or request id in the address cannot put its own text on the landing page", () => {
  const lured = { reason: "<b>call us</b>", requestId: "call us" };
  expect(landingPage({ ...PLAIN, ...lured }).html).not.toContain("call us");
  const denied = landingPage({ ...PLAIN, reason: "denied", requestId: "call us" }).html;
  expect(denied).toContain("denied the sign-in");
  expect(denied).not.toContain("call us");
  expect(landingPage({ ...PLAIN, reason: "denied", requestId: ID }).html).toContain(ID);
});

test.each([
  ["how to print a sign-in link if local sign-in is on", true, "tokenmarket console-link"],
  ["which setting is missing if there is no identity provider", false, "oidc.issuer"],
])("the page says %s, and has no sign-in button", (_what, isLocal, words) => {
  const { html } = landingPage({ ...PLAIN, signInName: null, isLocal });
  expect(html).toContain(words);
  expect(html).not.toContain("/auth/start");
});

test("the landing page's figures, model list and sample request come from the catalog", () => {
  const models = [model("lab/dear", 3_000_000n), model("lab/<b>", 150_000n)];
  const { html, policy } = landingPage({ ...PLAIN, models });
  expect(html).toContain("<strong>2</strong> models");
  expect(html).toContain("<strong>1</strong> provider<");
  expect(html).toContain("<strong>$0.15</strong> lowest price of a million input tokens");
  expect(html).toContain('<a href="/models/lab/&#60;b&#62;">');
  expect(html).toContain("<td>$3.00</td><td>$6.00</td>");
  expect(html).toContain("curl http://gateway.test/v1/chat/completions");
  expect(html).toContain("&#34;model&#34;:&#34;lab/dear&#34;");
  expect(policy).toMatch(/script-src 'sha256-[^']+';/);
});

test("the lowest price on the landing page is that of any provider, not only of those tried first", () => {
  const [dear, cheap] = [model("lab/m", 3_000_000n), model("lab/m", 150_000n)];
  const both = { ...dear, deployments: [...dear.deployments, ...cheap.deployments] };
  const { html } = landingPage({ ...PLAIN, models: [both] });
  expect(html).toContain("<strong>$0.15</strong> lowest price of a million input tokens");
  expect(html).toContain("<td>$3.00</td><td>$6.00</td>");
});

/** Builds a model with only the fields that the page shows. */
function model(id: string, prompt: bigint): ListedModel {
  const prices = { prompt, completion: prompt * 2n };
  const names = { id, displayName: id, modality: "text", inputModalities: ["text"] };
  const deployments = [{ providerId: "lab", billing: "token", prices }];
  return { ...names, supportedParameters: new Map(), deployments } as unknown as ListedModel;
}
