// Keeps the page up to date: each message of the stream holds the sections that
// changed, as HTML that the server has escaped. Rows that were opened stay open.
"use strict";
(() => {
  const link = document.getElementById("link");
  let last = 0;

  function say(text, off) {
    link.textContent = text;
    link.className = off ? "off" : "muted";
  }

  function swap(id, html) {
    const section = document.getElementById(id);
    if (!section) return;
    const chosen = getSelection();
    if (!chosen.isCollapsed && section.contains(chosen.anchorNode)) return; // somebody copies text
    const open = Array.from(section.querySelectorAll("details[open]"), (d) => d.id);
    section.innerHTML = html;
    for (const id of open) {
      const row = document.getElementById(id);
      if (row) row.open = true;
    }
  }

  function listen() {
    const stream = new EventSource("web/stream");
    stream.onopen = () => { last = Date.now(); say("live"); };
    stream.onmessage = (message) => {
      last = Date.now();
      say("live");
      const sections = JSON.parse(message.data);
      for (const id in sections) swap(id, sections[id]);
    };
    stream.onerror = () => {
      if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again
      say("the daemon does not answer", true);
      setTimeout(listen, 5000);
    };
  }

  // A beat comes every ten seconds even if nothing changes.
  setInterval(() => {
    if (last && Date.now() - last > 30000) say("no news for " + Math.round((Date.now() - last) / 1000) + " s", true);
  }, 5000);
  listen();
})();
