// How things are written: durations, counts, who and where; and elements.

export function duration(ns) {
	const units = [[3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
	for (const [of, name] of units) {
		if (ns >= of) {
			const n = ns / of;
			return (n < 10 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : n.toFixed(0)) + " " + name;
		}
	}
	return Math.max(0, Math.round(ns)) + " ns";
}

export const count = (n) => n.toLocaleString("en").replaceAll(",", "\u2009");

export const plural = (n, what) => count(n) + " " + what + (n === 1 ? "" : "s");

export const who = (labels) => (labels ?? []).map((l) => l.key + "=" + l.value).join(" ");

// place shortens a frame to what tells it apart.
export function place(frame) {
	if (!frame) return "";
	const file = frame.file.split("/").slice(-2).join("/");
	return file ? file + ":" + frame.line : frame.function;
}

export const exactly = (frame) => frame ? frame.function + "\n" + frame.file + ":" + frame.line : "";

// el makes an element. What is shown goes through textContent and setAttribute
// alone, so no name or label can be markup.
export function el(tag, attributes, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(e, attributes, children) {
	for (const [k, v] of Object.entries(attributes ?? {})) {
		if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
	}
	e.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
	return e;
}
