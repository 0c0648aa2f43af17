/** The page's head: its two views, and what is shared of it. */

import type { Facts } from "../facts";
import type { State } from "../state";
import { Action, copied } from "./Card";

interface Props {
  facts: Facts;
  state: State;
  change: (part: Partial<State>) => void;
}

export function Top({ facts, state, change }: Props) {
  const names = facts.releases.map((each) => each.release).join(", ");
  return (
    <header class="top">
      <h1>Steps to result</h1>
      <p class="about">
        How far do larger batches help? <span class="releases">{names}</span>
      </p>
      <nav aria-label="Views">
        <button type="button" aria-pressed={state.view === "scaling"} onClick={() => change({ view: "scaling" })}>
          Explore
        </button>
        <button type="button" aria-pressed={state.view === "figures"} onClick={() => change({ view: "figures" })}>
          Figures
        </button>
      </nav>
      <div class="share">
        <Action label="Copy link" hint="Copy link to what is seen" act={() => copied(location.href, "link")} />
        <Action label="Cite" hint="Cite these releases in BibTeX" act={() => copied(facts.bibtex, "BibTeX")} />
        <button type="button" aria-label="Light or dark" title="Light or dark" onClick={switchTheme}>
          ◐
        </button>
      </div>
    </header>
  );
}

function switchTheme(): void {
  const root = document.documentElement;
  const isDark = root.dataset["theme"] ? root.dataset["theme"] === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset["theme"] = isDark ? "light" : "dark";
}
