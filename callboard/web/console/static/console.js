// Keeps the page up to date while it is visible, and says when the console does not answer.
"use strict";

(() => {
  const content = document.getElementById("content");
  const lost = document.getElementById("lost");
  const RETRY_MS = 5000;
  let source = null;
  let retry = 0;

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
      Idiomorph.morph(content, JSON.parse(event.data), { morphStyle: "innerHTML", ignoreActiveValue: true });
      htmx.process(content);
      lost.hidden = true;
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
  open();
})();
