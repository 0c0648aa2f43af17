/** One line that says what was done, also to screen readers; page.html holds its element. */

let quiet = 0;

export function say(text: string): void {
  const element = document.getElementById("status");
  if (!element) return;
  element.textContent = text;
  clearTimeout(quiet);
  quiet = window.setTimeout(() => {
    element.textContent = "";
  }, 6000);
}
