// The last seconds of a lock, one lane for each caller that waits or holds. A
// hold is in the lane of its wait; a lane that is free again is used again.

import { duration, el, place, svg, who } from "./text.js";

const rowHeight = 22;
const maxLanes = 40;
const maxSpans = 4000;
const zooms = [1, 2, 5, 10, 20, 60]; // seconds

export class Lanes {
	constructor() {
		this.zoom = 3;
		this.spans = [];     // what is over: {call, kind, mode, from, to, …}, in ns since the watch
		this.current = [];   // what is not
		this.laneOf = new Map(); // call → lane
		this.busyUntil = []; // lane → when it is free
		this.paused = false;
		this.clock = 0;

		this.window = el("output", { id: "window" });
		const button = (text, label, f) => {
			const b = el("button", { type: "button", "aria-label": label }, text);
			b.onclick = f;
			return b;
		};
		this.details = el("p", { id: "details", role: "status" });
		this.drawing = svg("svg", { id: "lanes", tabindex: 0, role: "group", "aria-label": "Lanes: arrow keys step through waits and holds" });
		this.drawing.onpointermove = (e) => this.hover(e.target.dataset?.index);
		this.drawing.onpointerleave = () => this.hover(undefined);
		this.element = el("section", { "aria-label": "Lanes" },
			el("div", { class: "bar" },
				el("h3", null, "Lanes"),
				button("−", "Zoom out: more seconds", () => this.zoomBy(1)),
				this.window,
				button("+", "Zoom in: fewer seconds", () => this.zoomBy(-1)),
				el("ul", { class: "legend" },
					...[["wait", "waits"], ["read", "reads"], ["upgradable", "reads upgradably"], ["write", "writes"], ["gaveup", "gave up"], ["readers", "plain readers inside"]]
						.map(([c, text]) => el("li", null, svg("svg", { viewBox: "0 0 16 12", width: 16, height: 12, "aria-hidden": "true" },
							svg("rect", { class: c, width: 16, height: 12 })), text)))),
			this.drawing, this.details);
		this.zoomBy(0);
		this.still = matchMedia("(prefers-reduced-motion: reduce)");
		const frame = (t) => {
			if (!this.paused && !this.still.matches && t - (this.drawn ?? 0) > 90) {
				this.drawn = t;
				this.draw();
			}
			requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame);
		addEventListener("resize", () => this.draw());
	}

	// forget drops what the next report brings once more. A clock that has gone
	// back is that of another process, of whose lock nothing is known.
	forget(clock) {
		this.spans = [];
		if (clock < this.clock) this.laneOf = new Map();
	}

	// add takes the spans of a report of the lock and returns how many it has
	// left out. What is shown in a pause stays.
	add(l) {
		this.clock = l.clock_ns;
		this.heard = performance.now();
		const span = (s, from, to) => ({ ...s, from, to, who: [s.key ? "key " + s.key : "", who(s.labels)].filter(Boolean).join(", ") });
		const came = (l.spans ?? []).map((s) => span(s, this.clock - s.began_ns, this.clock - s.ended_ns));
		const room = this.paused ? Math.max(0, 2 * maxSpans - this.spans.length) : came.length;
		this.spans.push(...came.slice(0, room));
		const now = (c, kind) => span({ ...c, call: c.id, kind, site: c.stack?.[0] }, this.clock - c.in_mode_ns, Infinity);
		this.current = [...l.holders.map((c) => now(c, "holds")), ...l.waiters.map((c) => now(c, "waits"))];
		if (l.plain_readers.inside) {
			this.current.push(span({ call: "plain", kind: "readers inside", mode: "read" }, this.clock - l.plain_readers.oldest_ns, Infinity));
		}
		const old = (this.frozen ?? this.clock) - zooms.at(-1) * 1e9;
		this.spans = this.spans.filter((s) => s.to > old);
		if (!this.paused) this.spans = this.spans.slice(-maxSpans);
		this.assign();
		if (this.still.matches && !this.paused) this.draw();
		return came.length - Math.min(room, came.length);
	}

	// assign gives each call a lane, the first that is free when it begins.
	assign() {
		const all = [...this.spans, ...this.current].sort((a, b) => a.from - b.from);
		const lanes = new Map();
		const end = [];
		for (const s of all) {
			if (s.kind === "readers inside") { s.lane = -1; continue; }
			let lane = lanes.get(s.call) ?? this.laneOf.get(s.call);
			if (lane === undefined) {
				lane = end.findIndex((t) => t <= s.from);
				if (lane < 0) lane = end.length;
			}
			while (end.length <= lane) end.push(-Infinity);
			end[lane] = Math.max(end[lane], s.to);
			lanes.set(s.call, lane);
			s.lane = lane;
		}
		this.laneOf = lanes;
	}

	pause(on) { this.paused = on; this.draw(); }

	zoomBy(n) {
		this.zoom = Math.min(zooms.length - 1, Math.max(0, this.zoom + n));
		this.window.textContent = "last " + zooms[this.zoom] + " s";
		this.draw();
	}

	key(key) {
		if (key === "+" || key === "=") this.zoomBy(-1);
		else if (key === "-" || key === "−") this.zoomBy(1);
		else if (key === "ArrowLeft" || key === "ArrowRight") this.step(key === "ArrowLeft" ? -1 : 1);
		else return false;
		return true;
	}

	step(n) {
		if (!this.shown?.length) return;
		const at = this.shown.indexOf(this.selected);
		this.selected = this.shown[at < 0 ? this.shown.length - 1 : Math.min(this.shown.length - 1, Math.max(0, at + n))];
		this.tell(this.selected);
		this.draw();
	}

	hover(index) {
		if (index !== undefined) this.tell(this.shown[index]);
		else this.tell(this.selected);
	}

	tell(s) {
		this.details.textContent = s ? [
			s.kind === "readers inside" ? s.kind : s.kind + " to " + (s.upgrade ? "upgrade" : s.mode),
			duration((s.to === Infinity ? this.now() : s.to) - s.from) + (s.to === Infinity ? " so far" : ""),
			s.who, s.site ? place(s.site) + " " + s.site.function : ""].filter(Boolean).join(" · ") : "";
	}

	now() { return this.frozen ?? this.clock + (performance.now() - (this.heard ?? performance.now())) * 1e6; }

	draw() {
		if (this.heard === undefined) return;
		this.frozen = this.paused ? this.frozen ?? this.now() : undefined;
		const now = this.now();
		const width = this.drawing.clientWidth || 320;
		const gutter = width < 500 ? 64 : 150;
		const seconds = zooms[this.zoom];
		const x = (t) => gutter + (width - gutter) * Math.max(0, 1 - (now - t) / (seconds * 1e9));
		const visible = [...this.spans, ...this.current].filter((s) => s.to > now - seconds * 1e9 && s.from <= now);
		// Only lanes with something in them take a row, in the order of lanes.
		const used = [...new Set(visible.map((s) => s.lane))].sort((a, b) => a - b);
		const row = new Map(used.slice(0, maxLanes).map((lane, i) => [lane, i]));
		const height = Math.max(1, row.size) * rowHeight + 20;
		this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
		this.drawing.setAttribute("height", height);
		const parts = [];
		for (let s = 0; s <= seconds; s += seconds / (width < 500 ? 2 : 5)) {
			const at = x(now - s * 1e9);
			parts.push(svg("line", { class: "grid", x1: at, x2: at, y1: 0, y2: height - 16 }),
				svg("text", { class: "axis", x: at, y: height - 4, "text-anchor": s === 0 ? "end" : "middle" }, s === 0 ? "now" : "−" + +s.toFixed(1) + " s"));
		}
		this.shown = visible.filter((s) => row.has(s.lane)).sort((a, b) => a.from - b.from);
		const names = new Map();
		this.shown.forEach((s, i) => {
			const from = x(s.from), to = x(Math.min(s.to, now)), y = row.get(s.lane) * rowHeight + 3;
			names.set(s.lane, s.kind === "readers inside" ? "plain readers" : s.who || place(s.site) || "?");
			parts.push(svg("rect", {
				class: kind(s) + (s === this.selected ? " selected" : ""), "data-index": i,
				x: from, y, width: Math.max(2, to - from), height: rowHeight - 6, rx: 2,
			}));
		});
		for (const [lane, name] of names) {
			const fits = Math.floor(gutter / 6.4);
			parts.push(svg("text", { class: "name", x: 0, y: row.get(lane) * rowHeight + 15 },
				name.length > fits ? name.slice(0, fits - 1) + "…" : name, svg("title", null, name)));
		}
		if (!this.shown.length) parts.push(svg("text", { class: "name", x: gutter + 4, y: 15 }, "nothing in this time"));
		this.drawing.replaceChildren(hatch(), ...parts);
		this.more ??= this.details.after(el("p", { id: "more-lanes" })) ?? document.getElementById("more-lanes");
		const more = used.length - row.size;
		if (this.more) this.more.textContent = more > 0 ? `${more} more lanes are not shown.` : "";
	}
}

function kind(s) {
	switch (s.kind) {
	case "waits": case "waited": return "wait";
	case "gave up": return "gaveup";
	case "readers inside": return "readers";
	}
	return { read: "read", write: "write" }[s.mode] ?? "upgradable";
}

// hatch tells waits from holds also without colour.
const hatch = () => svg("defs", null, svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
	svg("rect", { class: "hatch-ground", width: 6, height: 6 }), svg("rect", { class: "hatch-line", width: 2, height: 6 })));
