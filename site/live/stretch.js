// Tune your own stretch: sixteen hands of the course's RoPE model, each slowed as you wish.
import { create, mountPanel } from "./panel.js";

const OCTAVES = 4, STEPS = 8; // a hand is slowed up to 2^4 times, an octave in eight steps
const SHARPEST = 2, HUNDREDTHS = 100;

function slider(id, name, spoken, ends, write) {
  const value = create("span", { class: "om-live-value", "aria-hidden": "true" });
  const input = create("input", { type: "range", id, step: 1, "aria-label": spoken, ...ends,
    oninput: () => write(Number(input.value)) });
  const row = create("div", { class: "om-live-slider" },
    create("label", { for: id }, name), value, input);
  const display = (position, text, words) => {
    input.value = position;
    input.setAttribute("aria-valuetext", words);
    value.textContent = text;
  };
  return { row, display };
}

function build({ ways, trained }, changed) {
  const direct = ways.direct.speeds, kept = direct.map(() => 1);
  let factors, sharpness; // exactly; a slider shows the nearest step
  const moved = () => { show(); changed(); };
  const hands = direct.map((speed, pair) => {
    const number = Number((trained * speed / (2 * Math.PI)).toPrecision(2));
    const turns = number === 1 ? "1 turn" : `${number} turns`;
    const spoken = `pair ${pair}, ${turns} in training`;
    return slider(`om-live-hand-${pair}`, `${pair} · ${turns}`, spoken,
      { min: 0, max: OCTAVES * STEPS },
      (step) => { factors[pair] = 2 ** (step / STEPS); moved(); });
  });
  const sharper = slider("om-live-scores", "all scores", "all scores",
    { min: HUNDREDTHS, max: SHARPEST * HUNDREDTHS },
    (step) => { sharpness = step / HUNDREDTHS; moved(); });

  function show() {
    hands.forEach(({ display }, pair) => {
      const text = Number(factors[pair].toFixed(1));
      display(Math.round(Math.log2(factors[pair]) * STEPS), `÷ ${text}`,
        text === 1 ? "as trained" : `slowed ${text} times`);
    });
    const text = Number(sharpness.toFixed(2));
    sharper.display(Math.round(sharpness * HUNDREDTHS), `× ${text}`, `times ${text}`);
  }

  function set(way) {
    factors = ways[way].speeds.map((speed, pair) => direct[pair] / speed);
    sharpness = ways[way].sharpness;
    show();
  }

  set("direct");
  const others = Object.keys(ways).filter((way) => way !== "direct");
  const named = [...others.map((way) => [way, way]), ["Reset", "direct"]];
  return {
    element: create("fieldset", { class: "om-live-hands" },
      create("legend", {}, `Pairs, turns within ${trained} bytes, slowed by`),
      ...hands.map(({ row }) => row), sharper.row),
    ask: "Set as",
    presets: named.map(([name, way]) => ({ name, apply: () => set(way) })),
    rows: () => [
      { name: "yours", byReader: true, turning:
        { speeds: direct.map((speed, pair) => speed / factors[pair]), kept, sharpness } },
      ...Object.entries(ways).map(([name, way]) =>
        ({ name, turning: { ...way, kept }, base: name === "direct" })),
    ],
  };
}

export const mount = (element, start) =>
  mountPanel(element, start, { lengths: [64, 256, 512], build });
