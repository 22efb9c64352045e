// Comfort only: every page works without it.
// A button with data-copy copies the text of the element of that id, and says so in its own text.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = (source.value ?? source.textContent).trim();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Browsers have no clipboard without https.
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
