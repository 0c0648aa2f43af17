/** Starts the page. */

import { render } from "preact";
import { App } from "./app";
import { Held } from "./data/held";
import { readFacts } from "./facts";

const holder = document.getElementById("page");
if (holder) {
  holder.replaceChildren();
  const facts = readFacts();
  render(<App facts={facts} held={new Held(facts)} />, holder);
}
