/** The page's head: its views, and what is shared of it. */

import { facts } from "../facts";
import { counted } from "../numbers";
import { isDark } from "../save";
import type { State, View } from "../state";
import { Action, copied } from "./Card";

interface Props {
  state: State;
  change: (part: Partial<State>) => void;
}

const VIEWS: Record<View, string> = { scaling: "Explore", atlas: "Atlas", figures: "Figures" };

export function Top({ state, change }: Props) {
  const [first, ...others] = facts.releases;
  return (
    <header class="top">
      <h1>Steps to result</h1>
      <p class="about">
        How far do larger batches help? <span class="releases">{others.length ? counted(facts.releases.length, "release") : first?.release}</span>
      </p>
      <nav aria-label="Views">
        {Object.entries(VIEWS).map(([view, label]) => (
          <button key={view} type="button" aria-pressed={state.view === view} onClick={() => change({ view: view as View })}>
            {label}
          </button>
        ))}
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
  document.documentElement.dataset["theme"] = isDark() ? "light" : "dark";
}
