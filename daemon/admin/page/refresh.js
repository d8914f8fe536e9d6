// SPDX-License-Identifier: MIT
// Fetches the middle of the page again every two seconds, while anyone looks. Says when the daemon
// no longer answers; the last picture then stays, marked as old.
"use strict";

const main = document.getElementById("main");
const link = document.getElementById("link");
const periodMs = 2000;

function say(text, lost) {
  link.textContent = text;
  document.body.classList.toggle("lost", lost);
}

async function refresh() {
  if (!document.hidden && !main.contains(document.activeElement) && getSelection().isCollapsed) {
    try {
      const reply = await fetch("/live", {cache: "no-store", signal: AbortSignal.timeout(5000)});
      if (!reply.ok) throw new Error(String(reply.status));
      const html = await reply.text();
      const scrolled = [...main.querySelectorAll(".scroll")].map((e) => e.scrollLeft);
      main.innerHTML = html;
      main.querySelectorAll(".scroll").forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
      say("live", false);
    } catch (error) {
      say("no answer from the daemon", true);
    }
  }
  setTimeout(refresh, periodMs);
}

say("live", false);
setTimeout(refresh, periodMs);
