// All locks in a table.

import { count, duration, el, plural, svg } from "./text.js";

const quantile = (l, what) => Math.max(0, ...["read", "upgradable", "write"].map((m) => l[m][what]?.p99_ns ?? 0));
const holds = (l) => l.read.holds + l.upgradable.holds + l.write.holds;
const gaveUp = (l) => l.gave_up.canceled + l.gave_up.deadline + l.gave_up.deadlock;
const waits = (l) => l.waits_by_second.reduce((a, b) => a + b, 0);

const columns = [
	{ id: "name", name: "Name", of: (l) => l.name.toLowerCase() },
	{ id: "waiting", name: "State", of: (l) => l.longest_wait_ns },
	{ id: "waits", name: "Waits, last minute", of: waits },
	{ id: "wait", name: "Wait p99", of: (l) => quantile(l, "wait"), number: true },
	{ id: "hold", name: "Hold p99", of: (l) => quantile(l, "hold"), number: true },
	{ id: "holds", name: "Holds", of: holds, number: true },
	{ id: "gaveup", name: "Gave up", of: gaveUp, number: true },
];

export class Table {
	constructor(main) {
		this.sort = { column: null, down: true }; // the order of the process
		this.rows = new Map();
		this.filter = el("input", { type: "search", id: "filter", placeholder: "name or state", "aria-keyshortcuts": "/" });
		this.filter.oninput = () => this.draw();
		this.summary = el("p", { id: "summary" });
		this.all = el("button", { type: "button", id: "all", hidden: true }, "Fetch the rest once");
		this.all.onclick = () => this.fetchAll();
		this.busiest = el("button", { type: "button", id: "busiest" }, "Busiest first");
		this.busiest.onclick = () => this.sortBy(null);
		this.heads = columns.map((c) => {
			const b = el("button", { type: "button" }, c.name);
			b.onclick = () => this.sortBy(c);
			return el("th", { scope: "col", "data-column": c.id, class: c.number ? "number" : "" }, b);
		});
		this.body = el("tbody");
		main.append(
			el("div", { class: "bar" }, el("label", { for: "filter" }, "Filter"), this.filter, this.busiest, this.all),
			this.summary,
			el("table", { id: "locks" },
				el("caption", { class: "hidden" }, "The locks of the process"),
				el("thead", null, el("tr", null, ...this.heads)),
				this.body));
		this.marks();
	}

	show(report) {
		this.report = report;
		this.all.hidden = report.left_out === 0;
		this.draw();
	}

	pause() {}

	key(key) {
		if (key !== "/") return false;
		this.filter.focus();
		return true;
	}

	sortBy(column) {
		const same = this.sort.column === column;
		this.sort = { column, down: column === null || (same ? !this.sort.down : column.id !== "name") };
		this.marks();
		this.draw();
	}

	marks() {
		this.busiest.setAttribute("aria-pressed", String(this.sort.column === null));
		columns.forEach((c, i) => {
			const on = c === this.sort.column;
			if (on) this.heads[i].setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
			else this.heads[i].removeAttribute("aria-sort");
		});
	}

	async fetchAll() {
		const r = await fetch("?format=json&brief=1");
		if (r.ok) {
			document.getElementById("pause").getAttribute("aria-pressed") === "true" || document.getElementById("pause").click();
			this.show(await r.json());
		}
	}

	draw() {
		if (!this.report) return;
		const wanted = this.filter.value.toLowerCase();
		const locks = this.report.locks.filter((l) => (l.name + " " + l.kind + " " + l.words).toLowerCase().includes(wanted));
		const { column, down } = this.sort;
		if (column) {
			locks.sort((a, b) => {
				const [x, y] = [column.of(a), column.of(b)];
				return (x < y ? -1 : x > y ? 1 : a.id - b.id) * (down ? -1 : 1);
			});
		}
		this.body.parentElement.hidden = this.report.watched === 0;
		this.summary.textContent = this.report.watched === 0
			? "No lock is watched. The program makes one known by inspect.Watch; locks of a cluster engine are not among them, “drawbridge locks” lists those."
			: plural(this.report.watched, "lock") + " watched"
			+ (this.report.left_out ? `, the busiest ${count(this.report.locks.length)} shown` : "")
			+ (wanted ? `, ${count(locks.length)} of them match` : "") + ".";
		this.place(locks.slice(0, 2000));
	}

	// place puts the rows in order and leaves those alone that are there.
	place(locks) {
		const focused = document.activeElement;
		const seen = new Set();
		let at = this.body.firstElementChild;
		for (const l of locks) {
			seen.add(l.id);
			let row = this.rows.get(l.id);
			if (!row) {
				row = new Row(l);
				this.rows.set(l.id, row);
			}
			row.show(l);
			if (row.element === at) at = at.nextElementSibling;
			else this.body.insertBefore(row.element, at);
		}
		for (const [id, row] of this.rows) {
			if (!seen.has(id)) {
				row.element.remove();
				this.rows.delete(id);
			}
		}
		if (focused !== document.activeElement && this.body.contains(focused)) focused.focus();
	}
}

class Row {
	constructor(l) {
		this.cells = columns.map((c) => el("td", { "data-label": c.name, class: (c.number ? "number " : "") + c.id }));
		const [name] = this.cells;
		name.append(
			el("a", { href: "?lock=" + l.id }, l.name || "(no name)"),
			el("small", null, l.kind + " " + l.policy + " #" + l.id));
		this.spark = svg("polyline", { points: "" });
		this.sparkTitle = svg("title");
		this.number = el("span", { class: "number" });
		this.cells[2].append(
			svg("svg", { class: "spark", viewBox: "0 0 60 16", role: "img", preserveAspectRatio: "none" }, this.sparkTitle, this.spark),
			this.number);
		this.element = el("tr", null, ...this.cells);
	}

	show(l) {
		const text = (i, s) => { if (this.cells[i].textContent !== s) this.cells[i].textContent = s; };
		text(1, l.words);
		this.element.classList.toggle("waiting", l.longest_wait_ns > 0);
		const bars = l.waits_by_second;
		const top = Math.max(1, ...bars);
		this.spark.setAttribute("points", bars.map((n, i) => `${i},${15.5 - 15 * n / top}`).join(" "));
		this.sparkTitle.textContent = `waits in each of the last 60 seconds, ${top} at most`;
		this.number.textContent = count(waits(l));
		const time = (ns) => ns ? duration(ns) : "–";
		text(3, time(quantile(l, "wait")));
		text(4, time(quantile(l, "hold")));
		text(5, count(holds(l)));
		text(6, count(gaveUp(l)));
	}
}
