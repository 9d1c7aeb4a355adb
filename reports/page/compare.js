// Compares two runs of a site in the browser. It loads their data as scripts, which browsers also allow
// from file://. Text of runs becomes text (textContent), never markup.
"use strict";
(() => {
  const place = (id) => document.getElementById(id);
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const { runs, higher, level } = JSON.parse(place("known").textContent);
  const machines = new Map(runs.map((run) => [run.name, run.machine]));
  const selects = [place("a"), place("b")];
  const address = () => new URLSearchParams(location.hash.slice(1));

  const loaded = new Map();
  globalThis.addRun = (run) => loaded.set(run.name, run);
  const load = (name) => new Promise((resolve, reject) => {
    if (loaded.has(name)) return resolve(loaded.get(name));
    const script = make("script", { src: `data/${encodeURIComponent(name)}.js` });
    script.onload = () => resolve(loaded.get(name));
    script.onerror = () => reject(new Error(`the data of ${name} cannot be loaded`));
    document.head.append(script);
  });

  const median = (values) => {
    const sorted = values.toSorted((a, b) => a - b), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const range = (values) => [Math.min(...values), Math.max(...values)];
  // The smallest two-sided p-value of Mann and Whitney's test: 2 / binomial(n + m, n).
  const smallestP = (n, m) => {
    let p = 2;
    for (let k = 1; k <= n; k++) p *= k / (m + k);
    return p;
  };
  const times = (metric, ratio) => ratio >= 0.01 ? ratio.toFixed(3)
    : `${(1 / ratio).toPrecision(3)} \u00d7 ${higher.includes(metric) ? "slower" : "less"}`;
  // Repetitions that no test could tell apart, of so many cells, are too few, as for `lab compare`.
  const verdict = (metric, a, b, tests) => {
    if (smallestP(a.length, b.length) * tests > level) return "too few";
    const [[lowA, highA], [lowB, highB]] = [range(a), range(b)];
    if (lowA <= highB && lowB <= highA) return "no difference shown";
    return (lowB > highA) === higher.includes(metric) ? "better" : "worse";
  };
  // Why two cells have no ratio; empty if they may be compared.
  const unlike = (a, b, same) => {
    if (!same) return "another machine";
    if (a.fingerprint !== b.fingerprint) return "input or settings differ";
    return a.conditions && b.conditions && a.conditions !== b.conditions ? "conditions differ" : "";
  };
  const shown = (cell, metric) => {
    if (!cell) return make("span", { className: "none", textContent: "not run" });
    const text = cell.texts[metric];
    return text ? make("span", { textContent: text[0], title: text[1] })
      : make("span", { className: "none", textContent: cell.failure ?? "\u2013" });
  };
  const row = (name, metric, a, b, same, tests) => {
    const values = [a, b].map((cell) => cell?.values[metric]);
    const line = make("tr", {}, make("th", { scope: "row", textContent: name }));
    line.dataset.cell = name;
    const add = (className, label, ...content) => {
      const cell = make("td", { className }, ...content);
      if (label) cell.dataset.label = label;
      line.append(cell);
    };
    add("told", "", metric);
    add("num value", "A", shown(a, metric));
    add("num value", "B", shown(b, metric));
    const why = a && b && unlike(a, b, same);
    if (!values[0] || !values[1] || why) {
      add("num value", "B / A", "\u2013");
      add("num told", "n", values.map((each) => each?.length ?? 0).join(", "));
      add("whole", "", why || "");
      return line;
    }
    const ratio = median(values[1]) / median(values[0]);
    const word = verdict(metric, ...values, tests);
    const clear = word === "better" || word === "worse";
    add("num value", "B / A", make("span", {
      className: clear ? "" : "unclear", title: `${ratio} times`,
      textContent: (clear ? "" : "~ ") + times(metric, ratio),
    }));
    add("num told", "n", values.map((each) => each.length).join(", "));
    const colours = { better: "status ok", worse: "status bad" };
    add("whole", "", make("span", { className: colours[word] ?? "range", textContent: word }));
    return line;
  };
  const table = (className, caption, headings, rows) => {
    const heads = headings.map(([textContent, numeric]) =>
      make("th", { scope: "col", className: numeric ? "num" : "", textContent }));
    const made = make("table", { className: `wide dense sortable ${className}` },
      make("caption", { className: "hidden", textContent: caption }),
      make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    return make("div", { className: "scroll" }, made);
  };
  const cells = (a, b) => {
    const same = machines.get(a.name) === machines.get(b.name);
    const [inA, inB] = [a, b].map((run) => new Map(run.cells.map((cell) => [cell.cell, cell])));
    const tests = (metric) => a.cells.filter((cell) => {
      const other = inB.get(cell.cell);
      return cell.values[metric] && other?.values[metric] && !unlike(cell, other, same);
    }).length;
    const rows = [];
    for (const name of new Set([...inA.keys(), ...inB.keys()])) {
      const pair = [inA.get(name), inB.get(name)];
      const metrics = new Set(pair.flatMap((cell) => Object.keys(cell?.values ?? {})));
      for (const metric of metrics.size ? metrics : ["throughput"])
        rows.push(row(name, metric, ...pair, same, tests(metric)));
    }
    const headings = [["Cell"], ["Metric"], ["A", true], ["B", true], ["B / A", true], ["n", true], ["Verdict"]];
    place("cells").replaceChildren(make("h2", { textContent: "Cells" }),
      table("cards", "Cells and metrics of both runs", headings, rows));
  };
  const differences = (a, b) => {
    const names = [...new Set([...Object.keys(a.facts), ...Object.keys(b.facts)])];
    const rows = names.filter((name) => a.facts[name] !== b.facts[name]).map((name) =>
      make("tr", {}, make("th", { scope: "row", textContent: name }),
        ...[a, b].map((run) => make("td", { className: "reason", textContent: run.facts[name] ?? "\u2013" }))));
    place("differs").replaceChildren(make("h2", { textContent: "What differs between the runs" }),
      rows.length ? table("facts", "Facts that differ", [["What"], ["A"], ["B"]], rows)
        : make("p", { className: "none", textContent: "No recorded fact differs." }));
  };

  const update = async () => {
    const names = ["a", "b"].map((key) => address().get(key) ?? "");
    const status = (textContent) => {
      place("cells").replaceChildren(make("p", { className: "none", textContent }));
      place("differs").replaceChildren();
    };
    selects.forEach((select, at) => { select.value = machines.has(names[at]) ? names[at] : ""; });
    const unknown = names.find((name) => name && !machines.has(name));
    if (unknown) return status(`The site has no run ${unknown}.`);
    if (!names.every(Boolean)) return status("Choose two runs.");
    place("command").textContent = `lab compare ${names.join(" ")}`;
    try {
      const [a, b] = await Promise.all(names.map(load));
      if (selects.some((select, at) => select.value !== names[at])) return; // changed meanwhile
      cells(a, b);
      differences(a, b);
    } catch (error) {
      return status(`${error.message}.`);
    }
    for (const each of document.querySelectorAll("main table"))
      each.dispatchEvent(new Event("table", { bubbles: true }));
  };
  selects.forEach((select, at) => select.addEventListener("change", () => {
    const params = address();
    params.set("ab"[at], select.value);
    location.hash = params;
  }));
  addEventListener("hashchange", (event) => {
    const runsOf = (url) => ["a", "b"].map((key) => new URLSearchParams(new URL(url).hash.slice(1)).get(key)).join("\n");
    if (runsOf(event.oldURL) !== runsOf(event.newURL)) update();
  });
  update();
})();
