/** The whole page from its state. */

import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { choicesOf } from "./choices";
import { looksOf } from "./charts/common";
import { type Curve, curveOfOwn, curveOfWorkload, labelsOf, relative } from "./curves";
import { type Drawn, passingOf, trialsOf } from "./data/held";
import { type OwnCurve, ownCurves, withOwn } from "./data/own";
import { facts, keyOf, metricOf, type Named, type Workload } from "./facts";
import { counted } from "./numbers";
import { Controls } from "./parts/Controls";
import { Atlas, Figures } from "./parts/Figures";
import { Own } from "./parts/Own";
import { Picker } from "./parts/Picker";
import { Scaling } from "./parts/Scaling";
import { Study } from "./parts/Study";
import { say, useRead } from "./parts/reading";
import { Top } from "./parts/Top";
import { addressOf, type State, stateOf } from "./state";
import { openStudy } from "./study";

function App() {
  const [state, setState] = useState(() => stateOf(location.hash));
  const [own, setOwn] = useState<OwnCurve[]>([]);
  const change = (part: Partial<State>) => setState((before) => ({ ...before, ...part }));
  useAddress(state, setState);
  const take = async (files: Iterable<File>) => {
    for (const file of files) {
      try {
        const more = ownCurves(file.name, await file.text());
        setOwn((before) => withOwn(before, more));
      } catch (error) {
        say((error as Error).message);
      }
    }
  };
  useDrop(take);
  const { drawn, isReading } = useDrawn(state);
  const choices = useMemo(() => choicesOf(state, drawn, own), [state.metric, drawn, own]);
  const curves = useMemo(() => curvesOf(state, drawn, own), [state, drawn, own]);
  const looks = new Map(curves.map((each): [string, Named] => [each.key, each]));
  const open = openOf(state, curves, drawn);
  return (
    <>
      <Top state={state} change={change} />
      {state.view !== "scaling" ? (
        <main id="app" tabIndex={-1} class="layout alone">
          {state.view === "atlas" ? <Atlas /> : <Figures name={state.figure} choose={(figure) => change({ figure })} />}
        </main>
      ) : (
        <div class="layout">
          <div class="side">
            <Picker picked={state.workloads} looks={looks} onPick={(workloads) => change({ workloads, goal: null })} />
            <Own own={own} take={take} remove={(gone) => setOwn(own.filter((each) => each !== gone))} />
          </div>
          <main id="app" tabIndex={-1} class="scaling" aria-busy={isReading}>
            <Controls state={state} choices={choices} change={change} />
            <Scaling state={state} curves={curves} change={change}>
              {open && <Study study={open} pinned={state.trial} change={change} />}
            </Scaling>
            <About />
          </main>
        </div>
      )}
    </>
  );
}

function About() {
  const where = facts.files ? "It reads only from its own server." : "It contains all its data and sends nothing anywhere.";
  return (
    <footer class="about">
      <details>
        <summary>
          {counted(facts.workloads.length, "workload")} of {counted(facts.releases.length, "release")}
        </summary>
        <ul>
          {facts.releases.map(({ release, title, licence }) => (
            <li key={release}>{[title ?? release, licence && `(${licence})`].filter(Boolean).join(" ")}</li>
          ))}
        </ul>
      </details>
      <p>
        Made by dbtool {facts.version}. {where}
      </p>
    </footer>
  );
}

/** Keeps the page's address and its state the same. */
function useAddress(state: State, setState: (state: State) => void): void {
  const known = useRef(location.hash);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => {
    const changed = () => {
      // What still waits to be put into the address is older than what now stands there.
      clearTimeout(timer.current);
      known.current = location.hash;
      setState(stateOf(location.hash));
    };
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  useEffect(() => {
    const address = addressOf(state);
    // A slider would fill the history, and browsers refuse more than so many changes a second.
    timer.current = window.setTimeout(() => {
      // One that was put there since is newer than the state.
      if (location.hash !== known.current || location.hash.replace(/^#/, "") === address) return;
      history.replaceState(null, "", `#${address}`);
      known.current = location.hash;
    }, 150);
    return () => clearTimeout(timer.current);
  }, [state]);
}

/** Takes CSV files that are dropped anywhere on the page. */
function useDrop(take: (files: Iterable<File>) => void): void {
  useEffect(() => {
    for (const type of ["dragover", "dragleave", "drop"] as const) {
      document.addEventListener(type, (event) => {
        event.preventDefault();
        document.body.classList.toggle("dropping", type === "dragover");
        if (type === "drop") take([...(event.dataTransfer?.files ?? [])]);
      });
    }
  }, []);
}

/** What was read of the workloads that are picked, in the order in which they were; what was drawn before stays until it is. */
function useDrawn(state: State): { drawn: Drawn[]; isReading: boolean } {
  const picked = state.workloads.flatMap((key) => facts.workloads.filter((each) => keyOf(each) === key));
  const one = async (workload: Workload): Promise<Drawn> => ({
    workload,
    trials: await trialsOf(workload),
    passing: await passingOf(workload, metricOf(workload, state.metric)),
  });
  const key = [state.metric, ...picked.map(keyOf)].join("\n");
  const { value, isReading } = useRead(key, "The measurements", () => Promise.all(picked.map(one)));
  return { drawn: value ?? NONE, isReading };
}

// The same each time, so that nothing is worked out anew.
const NONE: Drawn[] = [];

function curvesOf(state: State, drawn: readonly Drawn[], own: readonly OwnCurve[]): Curve[] {
  const workloads = drawn.map((each) => each.workload);
  const labels = labelsOf(workloads, new Set(workloads.map((each) => each.release)).size > 1);
  const looks = looksOf([...labels, ...own.map((each) => each.label)]);
  const curves = drawn.map((each, index) => curveOfWorkload(each, state, looks[index] as Named));
  const [first] = curves;
  for (const each of own) {
    const metric = each.metric ?? first?.metric ?? "value";
    curves.push(curveOfOwn(each, metric, state.goal ?? first?.goal ?? null, state, looks[curves.length] as Named));
  }
  return state.relative ? relative(curves) : curves;
}

function openOf(state: State, curves: readonly Curve[], drawn: readonly Drawn[]) {
  const at = state.study;
  const curve = curves.find((each) => each.key === at?.key);
  const found = drawn.find((each) => keyOf(each.workload) === at?.key);
  const study = found?.workload.studies.find((each) => each.batch_size === at?.batchSize);
  return curve && found && study ? openStudy(curve, found.workload, study, found.trials) : null;
}

const holder = document.getElementById("page");
if (holder) {
  holder.replaceChildren();
  render(<App />, holder);
}
