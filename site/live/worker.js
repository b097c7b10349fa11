// Reads for the page, out of its way: it loads the model and predicts the passage step by step.
//
// The page sends {load: {bytes, sha256, passage}} once, and after each change {wanted: [{key,
// lengths, turning}]}: what to read, in this order. Only the last list counts; what has been read
// is kept. {own: {bytes, turning, more}} puts a reader's bytes in place of the passage, after the
// same bytes as it; without `bytes` the passage is back.
// Answers: {loaded}, the bytes so far; {ready}, the passage; {read}, the losses and the expected
// bytes so far, after each step; {continued}, the `more` bytes with which the model would go on;
// {failed}, in words.
import { readModel } from "./model.js";

const MODEL = new URL("model.safetensors", import.meta.url);
const SPACE = 32;
const SMALLEST_STEP = 64; // bytes; in windows of n at least n/2, which one window judges

let model, passage, text; // what is read: `count` bytes of the text, after the byte `first`
let shipped; // the same, as it came
let wanted = [], working = false;
const results = new Map(); // key → {length: the loss of each byte so far, and the byte expected}

class Failure extends Error {} // its message is for the reader
const OTHER = "The file is not the one expected.";

async function request(address) {
  const response = await fetch(address).catch(() => {
    throw new Failure("There is no connection.");
  });
  if (!response.ok) throw new Failure(`The server answered: ${response.status}.`);
  return response;
}

// All bytes of a response; the page hears of each piece that arrives.
async function bytesOf(response, expected) {
  const bytes = new Uint8Array(expected), stream = response.body.getReader();
  let loaded = 0;
  for (;;) {
    const { done, value } = await stream.read().catch(() => {
      throw new Failure("The connection broke off.");
    });
    if (done) break;
    if (loaded + value.length > expected) throw new Failure(OTHER);
    bytes.set(value, loaded);
    loaded += value.length;
    postMessage({ loaded });
  }
  if (loaded < expected) throw new Failure(OTHER);
  return bytes.buffer;
}

// Browsers compute digests for pages that came over a secure connection, or from this machine.
async function isIntact(file, sha256) {
  if (!globalThis.crypto?.subtle) return true;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", file));
  return sha256 === Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function load({ bytes, sha256, passage: file }) {
  try {
    passage = await (await request(new URL(file, import.meta.url))).json();
    text = Uint8Array.from(passage.text, (character) => character.charCodeAt(0));
    shipped = { passage, text };
    const weights = await bytesOf(await request(MODEL), bytes);
    if (!await isIntact(weights, sha256)) throw new Failure("The file is damaged.");
    model = readModel(weights);
    postMessage({ ready: passage });
  } catch (error) {
    postMessage({ failed: error instanceof Failure ? error.message : String(error) });
  }
}

// The next step: of the first setting that has not been read to the end, at the length that has
// been read least.
function nextStep() {
  for (const { key, lengths, turning } of wanted) {
    if (!results.has(key)) results.set(key, {});
    const readings = results.get(key);
    for (const n of lengths) readings[n] ??= { losses: [], expected: [] };
    const least = Math.min(...lengths.map((n) => readings[n].losses.length));
    if (least < passage.count) {
      const n = lengths.find((length) => readings[length].losses.length === least);
      return { key, turning, n, ...readings[n] };
    }
  }
  return null;
}

async function work() {
  if (working) return;
  working = true;
  for (let step = nextStep(); step; step = nextStep()) {
    const { key, turning, n, losses, expected } = step, count = Math.max(SMALLEST_STEP, n / 2);
    for (const byte of model.read(text, passage.first + losses.length, count, n, turning)) {
      losses.push(byte.loss);
      expected.push(byte.expected);
    }
    postMessage({ read: { key, n, losses, expected } });
    await new Promise((rest) => setTimeout(rest)); // so that a new list is heard
  }
  working = false;
}

// The passage again, or the bytes of a reader; spaces after them fill windows and are not heard.
function replace({ bytes, turning, more }) {
  results.clear();
  wanted = [];
  ({ passage, text } = shipped);
  if (!bytes) return;
  const start = passage.first + 1;
  text = new Uint8Array(text.length + bytes.length).fill(SPACE);
  text.set(shipped.text.subarray(0, start));
  text.set(bytes, start);
  passage = { ...passage, count: bytes.length };
  postMessage({ continued: continuation(start + bytes.length, turning, more) });
}

// The bytes that the model finds likeliest from a place on, each after those before it.
function continuation(place, turning, more) {
  const read = text.slice(), n = passage.trained;
  for (let next = place; next < place + more; next++) {
    read[next] = model.read(read, next - n / 2, n / 2, n, turning).at(-1).expected;
  }
  return Array.from(read.subarray(place, place + more));
}

addEventListener("unhandledrejection", (event) => { // while it reads: no memory, perhaps
  event.preventDefault();
  postMessage({ failed: String(event.reason) });
});
addEventListener("message", ({ data }) => {
  if (data.load) load(data.load);
  if (data.own) replace(data.own);
  if (!data.wanted) return;
  wanted = data.wanted;
  work();
});
