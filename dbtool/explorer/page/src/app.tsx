/** The whole page from its state. */

import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { choicesOf } from "./choices";
import { type Curve, curveOfOwn, curveOfWorkload, labelsOf, relative } from "./curves";
import { type Drawn, Held } from "./data/held";
import { type OwnCurve, ownCurves, withOwn } from "./data/own";
import { type Facts, keyOf, metricOf, readFacts, type Workload } from "./facts";
import { counted } from "./numbers";
import { Controls } from "./parts/Controls";
import { Figures } from "./parts/Figures";
import { Own } from "./parts/Own";
import { Picker } from "./parts/Picker";
import { Scaling } from "./parts/Scaling";
import { Study } from "./parts/Study";
import { say, useRead } from "./parts/reading";
import { Top } from "./parts/Top";
import { addressOf, type State, stateOf } from "./state";
import { openStudy } from "./study";

function App({ facts, held }: { facts: Facts; held: Held }) {
  const [state, setState] = useState(() => stateOf(location.hash, facts));
  const [own, setOwn] = useState<OwnCurve[]>([]);
  const change = (part: Partial<State>) => setState((before) => ({ ...before, ...part }));
  useAddress(state, facts, setState);
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
  const { drawn, isReading } = useDrawn(facts, held, state);
  const choices = useMemo(() => choicesOf(state, drawn, own), [state.metric, drawn, own]);
  const curves = useMemo(() => curvesOf(state, drawn, own), [state, drawn, own]);
  const open = openOf(state, curves, drawn);
  return (
    <>
      <Top facts={facts} state={state} change={change} />
      {state.view === "figures" ? (
        <main id="app" tabIndex={-1} class="layout" style={{ display: "block" }}>
          <Figures facts={facts} name={state.figure} choose={(figure) => change({ figure })} />
        </main>
      ) : (
        <div class="layout">
          <div class="side">
            <Picker facts={facts} picked={state.workloads} onPick={(workloads) => change({ workloads, goal: null })} />
            <Own own={own} take={take} remove={(gone) => setOwn(own.filter((each) => each !== gone))} />
          </div>
          <main id="app" tabIndex={-1} class="scaling" aria-busy={isReading}>
            <Controls state={state} choices={choices} change={change} />
            <Scaling facts={facts} state={state} curves={curves} change={change}>
              {open && <Study facts={facts} held={held} study={open} pinned={state.trial} change={change} />}
            </Scaling>
            <About facts={facts} />
          </main>
        </div>
      )}
    </>
  );
}

function About({ facts }: { facts: Facts }) {
  const words = facts.releases.map((each) => `${each.title ?? each.release}${each.licence ? ` (${each.licence})` : ""}`);
  const where = facts.files ? "It reads from the server that it came from alone." : "It holds all that it shows and sends nothing anywhere.";
  return (
    <p class="about">
      {counted(facts.workloads.length, "workload")} of {words.join("; ")}. Made by dbtool {facts.version}. {where}
    </p>
  );
}

/** Keeps the page's address and its state the same. */
function useAddress(state: State, facts: Facts, setState: (state: State) => void): void {
  const known = useRef(location.hash);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => {
    const changed = () => {
      // What still waits to be put into the address is older than what now stands there.
      clearTimeout(timer.current);
      known.current = location.hash;
      setState(stateOf(location.hash, facts));
    };
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  useEffect(() => {
    const address = addressOf(state, facts);
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
    const gone = new AbortController();
    const on = (type: "dragover" | "dragleave" | "drop", act: (event: DragEvent) => void) =>
      document.addEventListener(type, act, { signal: gone.signal });
    const show = (isDropping: boolean) => document.body.classList.toggle("dropping", isDropping);
    on("dragover", (event) => {
      event.preventDefault();
      show(true);
    });
    on("dragleave", () => show(false));
    on("drop", (event) => {
      event.preventDefault();
      show(false);
      take([...(event.dataTransfer?.files ?? [])]);
    });
    return () => gone.abort();
  }, []);
}

/** What was read of the workloads that are picked, in the order in which they were; what was drawn before stays until it is. */
function useDrawn(facts: Facts, held: Held, state: State): { drawn: Drawn[]; isReading: boolean } {
  const picked = state.workloads.flatMap((key) => facts.workloads.filter((each) => keyOf(each) === key));
  const one = async (workload: Workload): Promise<Drawn> => ({
    workload,
    trials: await held.trials(workload),
    passing: await held.passing(workload, metricOf(workload, state.metric)),
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
  const curves = drawn.map((each, index) => curveOfWorkload(each, state, index, labels[index] as string));
  const [first] = curves;
  for (const each of own) {
    const metric = each.metric ?? first?.metric ?? "value";
    curves.push(curveOfOwn(each, metric, state.goal ?? first?.goal ?? null, state, curves.length));
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
  const facts = readFacts();
  render(<App facts={facts} held={new Held(facts)} />, holder);
}
