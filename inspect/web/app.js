// The page: the connection to the process, and which of the two views shows.

import { Table } from "./table.js";
import { LockPage } from "./lock.js";

const $ = (id) => document.getElementById(id);
const lock = new URLSearchParams(location.search).get("lock");
const view = lock ? new LockPage($("main")) : new Table($("main"));
let paused = false;
let dropped = 0;
let lastTick = 0;
let lastHeard = 0;

if (lock) {
	// The other formats are of this lock too.
	for (const a of document.querySelectorAll("[data-format]")) {
		const u = new URL(a.getAttribute("href"), location.href);
		u.searchParams.set("lock", lock);
		a.href = u.pathname.split("/").pop() + u.search;
	}
}

function status(state, text) {
	$("status").dataset.state = state;
	if ($("status").textContent !== text) $("status").textContent = text;
}

function notice(text) {
	$("notice").hidden = !text;
	if ($("notice").textContent !== text) $("notice").textContent = text;
}

function live() {
	if (paused) status("paused", "Paused");
	else status("live", dropped ? `Live, ${dropped} events dropped` : "Live");
}

const source = new EventSource("events" + (lock ? "?lock=" + encodeURIComponent(lock) : ""));
source.onmessage = (m) => {
	const report = JSON.parse(m.data);
	lastHeard = Date.now();
	notice("");
	if (report.tick <= lastTick) view.again?.(report); // another stream, after the connection was lost
	dropped += report.dropped ?? 0;
	lastTick = report.tick;
	$("program").textContent = "of " + report.program;
	document.title = lock ? report.locks[0].name + " – lock of " + report.program : "Locks of " + report.program;
	if (!paused) view.show(report);
	else dropped += view.keep?.(report) ?? 0;
	live();
};
source.onerror = () => {
	if (source.readyState === EventSource.CLOSED) {
		status("lost", "Not connected");
		notice(lock ? "This lock is not watched any more, or too many pages are open. What is shown is old."
			: "The process does not send: too many pages are open, or it is gone. What is shown is old.");
		return;
	}
	status("lost", "Connection lost");
	notice("The connection to the process is lost; trying again. What is shown is old.");
};
source.addEventListener("gone", () => {
	source.close();
	status("lost", "Gone");
	notice("The lock is gone: its watch was stopped, or it was collected. What is shown is its end.");
});
// A connection can also fall silent without an error.
setInterval(() => {
	if (lastHeard && Date.now() - lastHeard > 5000 && $("status").dataset.state === "live") {
		status("lost", "Connection lost");
		notice("Nothing was heard from the process for 5 seconds. What is shown is old.");
	}
}, 1000);

function pause(on) {
	paused = on;
	$("pause").setAttribute("aria-pressed", String(on));
	$("pause").textContent = on ? "Go on" : "Pause";
	view.pause(on);
	if ($("status").dataset.state !== "lost") live();
}
$("pause").onclick = () => pause(!paused);

document.addEventListener("keydown", (e) => {
	if (e.ctrlKey || e.metaKey || e.altKey) return;
	const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
	if (e.key === "Escape") {
		if (typing) e.target.blur();
		else if (lock) location.href = "./";
	} else if (typing) {
		return;
	} else if (e.key === "p") {
		pause(!paused);
	} else if (view.key(e.key)) {
		e.preventDefault();
	}
});
