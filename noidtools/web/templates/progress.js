// Comfort only: without it, a link shows the progress.
// While an element has data-progress, the page is asked for again, and that element is replaced.
const watched = () => document.querySelector("[data-progress]");
async function look() {
  const before = watched();
  if (!before) return;
  try {
    const answer = await fetch(location.href, {credentials: "same-origin"});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const after = page.getElementById(before.id);
    if (answer.ok && after) before.replaceWith(after);
  } catch {
    // The server may be restarting: it is asked again.
  }
  setTimeout(look, 1000);
}
setTimeout(look, 300);
