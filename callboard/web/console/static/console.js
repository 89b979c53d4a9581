// Keeps the page up to date while somebody looks at it, and says when the console does not answer.
"use strict";

(() => {
  const content = document.getElementById("content");
  const lost = document.getElementById("lost");
  const pause = document.getElementById("pause");
  const RETRY_MS = 5000;
  let source = null;
  let retry = 0;
  let newest = null; // what came while the page was to stay as it is

  function isHeld() {
    const selected = document.getSelection();
    const marks = !selected.isCollapsed && content.contains(selected.anchorNode);
    return marks || (pause && pause.getAttribute("aria-pressed") === "true");
  }

  // What the reader opened, copied or typed stays.
  const callbacks = {
    beforeAttributeUpdated: (name, node) => !(node.nodeName === "DETAILS" || node.classList.contains("copied")),
    beforeNodeMorphed: (node) => node.nodeName !== "FORM",
  };

  function show() {
    content.classList.toggle("held", newest !== null && isHeld());
    if (newest === null || isHeld()) return;
    const page = newest;
    newest = null;
    Idiomorph.morph(content, page, { morphStyle: "innerHTML", ignoreActiveValue: true, callbacks });
    htmx.process(content);
  }

  async function isSignedOut(address) {
    const asking = new AbortController();
    try {
      return (await fetch(address, { signal: asking.signal })).status === 401;
    } catch {
      return false;
    } finally {
      asking.abort();
    }
  }

  function close() {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  }

  function open() {
    const address = content.dataset.live;
    if (!address || source || document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("page", (event) => {
      lost.hidden = true;
      newest = JSON.parse(event.data);
      show();
    });
    source.onopen = () => { lost.hidden = true; };
    source.onerror = () => {
      lost.hidden = false;
      close(); // by ourselves: after some errors a browser does not connect again
      retry = setTimeout(open, RETRY_MS);
      isSignedOut(address).then((yes) => yes && location.reload()); // which leads to the page to sign in
    };
  }

  // A browser allows few connections to one place, so a page that nobody sees lets go of its own.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  document.addEventListener("selectionchange", show);

  if (pause) {
    pause.addEventListener("click", () => {
      const paused = pause.getAttribute("aria-pressed") !== "true";
      pause.setAttribute("aria-pressed", String(paused));
      pause.textContent = paused ? "Paused" : "Pause";
      show();
    });
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, dialog");
    const filter = document.querySelector("[data-filter]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing || !filter) return;
    event.preventDefault();
    filter.focus();
    filter.select();
  });

  document.addEventListener("click", (event) => {
    const code = event.target.closest("code.copy");
    if (!code || !navigator.clipboard) return; // the click has selected it, ready to be copied
    navigator.clipboard.writeText(code.textContent).then(() => {
      document.getSelection().removeAllRanges();
      code.classList.add("copied");
      setTimeout(() => code.classList.remove("copied"), 1500);
    }, () => {}); // not allowed: it stays selected
  });

  open();
})();
