// One lock: who is inside, who waits, how long things take, and the lanes.

import { count, duration, el, exactly, place, plural, svg, who } from "./text.js";
import { Lanes } from "./lanes.js";

export class LockPage {
	constructor(main) {
		this.name = el("h2", { id: "lock-name" });
		this.kind = el("p", { class: "kind" });
		this.words = el("p", { id: "words" });
		this.lanes = new Lanes();
		this.holders = section("Inside", "holders");
		this.waiters = section("Waiting", "waiters");
		this.times = section("Times", "times");
		this.keys = section("Busiest keys", "keys");
		main.append(
			el("p", { class: "back" }, el("a", { href: "./" }, "← All locks")),
			this.name, this.kind, this.words,
			this.lanes.element,
			el("div", { class: "columns" }, this.holders.element, this.waiters.element),
			this.times.element, this.keys.element);
	}

	show(report) {
		const l = report.locks[0];
		this.name.textContent = l.name || "(no name)";
		this.kind.textContent = `${l.kind}, policy ${l.policy}, #${l.id}`;
		if (this.words.textContent !== l.words) this.words.textContent = l.words;
		this.lanes.add(l);
		this.inside(l);
		this.waiters.put(l.waiters.length || l.more_waiters
			? calls(l.waiters, l.more_waiters, "waits to ") : el("p", { class: "none" }, "Nobody waits."));
		this.counts(l);
		this.keys.element.hidden = !l.keys;
		if (l.keys) this.keys.put(keyTable(l.keys));
	}

	// keep takes what has happened while the page stands still, and returns how
	// much of it was too much.
	keep(report) { return this.lanes.add(report.locks[0]); }

	// again begins anew: the first report of a stream repeats what is known.
	again(report) { this.lanes.forget(report.locks[0].clock_ns); }

	pause(on) { this.lanes.pause(on); }
	key(key) { return this.lanes.key(key); }

	inside(l) {
		const parts = [];
		if (l.holders.length) parts.push(calls(l.holders, l.more_holders, "holds to "));
		const p = l.plain_readers;
		if (p.inside) {
			parts.push(
				el("p", null, `${plural(p.inside, "plain reader")}, the oldest for at least ${duration(p.oldest_ns)}. `
					+ "Which of them are inside is not known; since the lock was last free of plain readers, these have entered:"),
				table(["Entered", "Who", "From"], (p.sites ?? []).map((s) => [
					[count(s.entered), "number"], [who(s.labels) || "–"], where(s.stack)])));
		}
		const unknown = l.state.readers + l.state.writers + l.state.upgradables - p.inside - l.holders.length - l.more_holders;
		if (unknown > 0) parts.push(el("p", null, `${plural(unknown, "hold")} from before the watch.`));
		this.holders.put(...(parts.length ? parts : [el("p", { class: "none" }, "Nobody is inside.")]));
	}

	counts(l) {
		const g = l.gave_up;
		const facts = [
			`Gave up: ${count(g.canceled)} cancelled, ${count(g.deadline)} at their deadline, ${count(g.deadlock)} in a deadlock.`,
			`${plural(l.upgrades, "upgrade")}, ${plural(l.downgrades, "downgrade")}.`,
		];
		if (l.plain_readers.entered) {
			facts.push(`${plural(l.plain_readers.entered, "plain read")} of ${duration(l.plain_readers.mean_hold_ns)} on average; `
				+ "they are not in the histogram of holds.");
		}
		if (l.snapshot?.error) facts.push("Last failure: " + l.snapshot.error);
		const bars = [];
		for (const [mode, name] of [["read", "Read"], ["upgradable", "Upgradable"], ["write", "Write"]]) {
			if (!l[mode].holds && !l[mode].wait) continue;
			bars.push(histogram(name + ": waits", l[mode].wait), histogram(name + ": holds", l[mode].hold, l[mode].holds));
		}
		this.times.put(el("p", null, facts.join(" ")), el("div", { class: "histograms" }, ...bars.filter(Boolean)));
	}
}

function section(title, id) {
	const body = el("div");
	return {
		element: el("section", { id, "aria-label": title }, el("h3", null, title), body),
		put: (...children) => body.replaceChildren(...children),
	};
}

function table(heads, rows) {
	return el("table", { class: "calls" },
		el("thead", null, el("tr", null, ...heads.map((h) => el("th", { scope: "col" }, h)))),
		el("tbody", null, ...rows.map((cells) => el("tr", null, ...cells.map(([content, cls, title], i) =>
			el("td", { class: cls, title, "data-label": heads[i] }, content))))));
}

const where = (stack) => stack?.length
	? [place(stack[0]), "site", stack.map(exactly).join("\n")] : ["not taken down", "site"];

function calls(list, more, does) {
	const rows = list.map((c) => [
		[duration(c.age_ns), "number"],
		[does + (c.upgrade ? "upgrade" : c.mode)],
		[[c.key ? "key " + c.key : "", who(c.labels)].filter(Boolean).join(", ") || "–"],
		where(c.stack),
	]);
	const t = table(["For", "What", "Who", "From"], rows);
	return more ? el("div", null, t, el("p", null, `And ${count(more)} more.`)) : t;
}

function keyTable(keys) {
	return table(["Key", "Holds", "Waits", "Waited", "Inside", "Waiting"], keys.map((k) => [
		[k.key], [(k.overcount ? "≤ " : "") + count(k.holds), "number"], [count(k.waits), "number"],
		[k.waited_ns ? duration(k.waited_ns) : "–", "number"], [count(k.inside), "number"], [count(k.waiting), "number"]]));
}

// histogram draws the buckets, four to each doubling, on a scale of powers.
function histogram(title, h, holds) {
	if (!h?.count) return null;
	const buckets = h.buckets ?? [];
	const first = buckets.length ? buckets[0][0] : 0;
	const last = buckets.length ? buckets[buckets.length - 1][0] : 0;
	const span = Math.max(12, last - first + 1);
	const top = Math.max(1, ...buckets.map((b) => b[1]));
	const bound = (i) => duration(2 ** (i / 4) * 1e9);
	const bars = buckets.map(([i, n]) => svg("rect", {
		x: (i - first) * 10 + 1, y: 60 - Math.max(1, 58 * n / top), width: 8, height: Math.max(1, 58 * n / top),
	}, svg("title", null, `${count(n)} from ${bound(i - 1)} to ${bound(i)}`)));
	const text = `${plural(h.count, "time")}: half within ${duration(h.p50_ns)}, 99 % within ${duration(h.p99_ns)}, longest ${duration(h.max_ns)}`;
	return el("figure", null,
		el("figcaption", null, el("strong", null, title), el("br"), text),
		svg("svg", { viewBox: `0 0 ${span * 10} 60`, preserveAspectRatio: "none", role: "img", "aria-label": text }, ...bars),
		el("p", { class: "scale" }, el("span", null, bound(first - 1)), el("span", null, bound(first + span - 1))));
}
