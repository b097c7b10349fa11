// Switch pairs off: the course's RoPE model without some of its sixteen pairs.
import { create, mountPanel } from "./panel.js";

const GROUP = 4;

function build({ ways }, changed) {
  const { speeds } = ways.direct, all = speeds.map(() => 1), pairs = speeds.map((_, pair) => pair);
  let on = all; // 1 or 0, by pair
  const boxes = pairs.map((pair) => create("input", { type: "checkbox", onchange: () => {
    on = boxes.map(({ checked }) => Number(checked));
    changed();
  } }));
  const set = (value) => {
    on = value;
    boxes.forEach((box, pair) => { box.checked = on[pair] === 1; });
  };
  set(all);
  const firsts = pairs.filter((pair) => pair % GROUP === 0);
  return {
    element: create("fieldset", { class: "om-live-pairs" },
      create("legend", {}, "Pairs that are on, fast to slow"),
      ...boxes.map((box, pair) => create("label", {}, box, `${pair}`))),
    ask: "Switch off",
    presets: [...firsts.map((first) => ({ name: `${first} to ${first + GROUP - 1}`,
      apply: () => set(pairs.map((pair) => Number(pair < first || pair >= first + GROUP))) })),
    { name: "none", apply: () => set(all) }],
    rows: () => [
      { name: "stopped", byReader: true, turning:
        { speeds: speeds.map((speed, pair) => speed * on[pair]), kept: all, sharpness: 1 } },
      { name: "left out of q·k", byReader: true, turning: { speeds, kept: on, sharpness: 1 } },
      { name: "all on", base: true, turning: { speeds, kept: all, sharpness: 1 } },
    ],
  };
}

export const mount = (element, start) => mountPanel(element, start, { lengths: [64], build });
