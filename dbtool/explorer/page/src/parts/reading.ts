/** What is read in the background, and the line that says what was done. */

import { useEffect, useState } from "preact/hooks";

let quiet = 0;

interface Read<T> {
  value: T | null;
  /** Whether what is read is still of another key: then the value is the one before. */
  isReading: boolean;
}

/** Reads anew whenever the key changes; of what cannot be read the page says so. */
export function useRead<T>(key: string, what: string, read: () => Promise<T>): Read<T> {
  const [last, setLast] = useState<{ key: string; value: T | null } | null>(null);
  useEffect(() => {
    let wanted = true;
    read().then(
      (value) => wanted && setLast({ key, value }),
      (error: Error) => {
        if (wanted) setLast({ key, value: null });
        say(`${what} cannot be read: ${error.message}`);
      },
    );
    return () => {
      wanted = false;
    };
  }, [key]);
  return { value: last?.value ?? null, isReading: last?.key !== key };
}

/** One line at the foot, also for screen readers; page.html holds its element. */
export function say(text: string): void {
  const element = document.getElementById("status");
  if (!element) return;
  element.textContent = text;
  clearTimeout(quiet);
  quiet = window.setTimeout(() => {
    element.textContent = "";
  }, 6000);
}
