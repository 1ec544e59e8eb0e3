// Records reconciliations between independent implementations, for test_traces.py to reproduce byte for byte.
//
//   npm install nostr-tools@2.25.2 applesauce-relay@6.2.1      (in any empty directory)
//   node record_traces.mjs <that directory> > traces/reference.json
//
// Both roles are played by the JavaScript reference implementation, which applesauce-relay carries. nostr-tools has
// an implementation of the initiator alone; it is run beside the other and must say the same, or nothing is recorded.
// Item sets are derived from the name and numbers of a case by SHA-256, so that only those have to be kept.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const modules = resolve(process.argv[2], "node_modules");
const load = (path) => import(pathToFileURL(resolve(modules, path)));
const reference = await load("applesauce-relay/dist/lib/negentropy.js");
const tools = await load("nostr-tools/lib/esm/nip77.js");
const version = (name) => JSON.parse(readFileSync(resolve(modules, name, "package.json"))).version;
const sha256 = (input) => createHash("sha256").update(input).digest();

// [name, common, only the initiator's, only the responder's, seconds they spread over, zero bytes ids begin with,
//  seconds the responder's own come later, frame size limits of initiator and responder]
const CASES = [
  ["both empty", 0, 0, 0, 1, 0, 0, 0, 0],
  ["empty initiator", 0, 0, 60, 1000, 0, 0, 0, 0],
  ["empty responder", 0, 60, 0, 1000, 0, 0, 0, 0],
  ["equal", 1500, 0, 0, 100000, 0, 0, 0, 0],
  ["a list just short of a split", 31, 0, 0, 1000, 0, 0, 0, 0],
  ["the smallest split", 32, 0, 1, 1000, 0, 0, 0, 0],
  ["uneven buckets", 47, 1, 1, 1000, 0, 0, 0, 0],
  ["one each among many", 12000, 1, 1, 10000000, 0, 0, 0, 0],
  ["spread", 3000, 40, 60, 1000000, 0, 0, 0, 0],
  ["clustered", 3000, 40, 60, 40, 0, 0, 0, 0],
  ["one second", 3000, 40, 60, 1, 0, 0, 0, 0],
  ["one second, like ids", 1000, 20, 20, 1, 29, 0, 0, 0],
  ["disjoint", 0, 700, 900, 100000, 0, 0, 0, 0],
  ["later events", 2000, 0, 1500, 10000, 0, 10001, 0, 0],
  ["spread, small frames", 3000, 100, 150, 1000000, 0, 0, 4096, 4096],
  ["clustered, small frames", 3000, 100, 150, 40, 0, 0, 4096, 4096],
  ["one second, small frames", 3000, 100, 150, 1, 0, 0, 4096, 4096],
  ["one second, like ids, small frames", 1000, 80, 80, 1, 29, 0, 4096, 4096],
  ["disjoint, small frames", 0, 700, 900, 100000, 0, 0, 4096, 4096],
  ["later events, small frames", 2000, 0, 1500, 10000, 0, 10001, 4096, 4096],
  ["empty initiator, small frames", 0, 0, 1000, 1000, 0, 0, 4096, 4096],
  ["empty responder, small frames", 0, 1000, 0, 1000, 0, 0, 4096, 4096],
  ["small frames asked", 3000, 100, 150, 1000000, 0, 0, 4096, 0],
  ["small frames answered", 3000, 100, 150, 1000000, 0, 0, 0, 4096],
  ["frames of the field", 20000, 1500, 1500, 10000000, 0, 0, 60000, 60000],
  ["unlike frames of the field", 20000, 1500, 1500, 10000000, 0, 0, 60000, 500000],
];
const FIELDS = ["name", "common", "ours", "theirs", "span_s", "zero_bytes", "later_s", "our_limit", "their_limit"];

function item(wanted, number) {
  const id = sha256(`${wanted.name}/${number}`).fill(0, 0, wanted.zero_bytes);
  const later = number >= wanted.common + wanted.ours ? wanted.later_s : 0;
  const time = sha256(`${wanted.name}/${number}/time`).readUInt32BE(0) % wanted.span_s;
  return [1700000000 + later + time, id.toString("hex")];
}

function storage(kind, wanted, first, past) {
  const store = new kind();
  for (let i = 0; i < wanted.common; i++) store.insert(...item(wanted, i));
  for (let i = first; i < past; i++) store.insert(...item(wanted, i));
  store.seal();
  return store;
}

const kept = (hex) => (hex.length <= 800 ? hex : `${hex.length / 2} ${sha256(Buffer.from(hex, "hex")).toString("hex")}`);
const digest = (ids) => `${ids.size} ${sha256([...ids].sort().join()).toString("hex")}`;

async function record(wanted) {
  const { common, ours, theirs, our_limit, their_limit } = wanted;
  const middle = common + ours;
  const asking = new reference.Negentropy(storage(reference.NegentropyStorageVector, wanted, common, middle), our_limit);
  const second = new tools.Negentropy(storage(tools.NegentropyStorageVector, wanted, common, middle), our_limit || 2 ** 40);
  const answering = new reference.Negentropy(
    storage(reference.NegentropyStorageVector, wanted, middle, middle + theirs), their_limit);
  const messages = [], have = new Set(), need = new Set();
  let message = await asking.initiate(), again = second.initiate();
  while (message !== null) {
    if (again !== message) throw new Error(`${wanted.name}: the implementations disagree at ${messages.length}`);
    messages.push(message);
    const [answer] = await answering.reconcile(message);
    messages.push(answer);
    const [next, more_have, more_need] = await asking.reconcile(answer);
    again = second.reconcile(answer);
    more_have.forEach((id) => have.add(id));
    more_need.forEach((id) => need.add(id));
    message = next;
  }
  return { ...wanted, have: digest(have), need: digest(need), messages: messages.map(kept) };
}

const cases = [];
for (const row of CASES) cases.push(await record(Object.fromEntries(FIELDS.map((field, i) => [field, row[i]]))));
const recorded_with = Object.fromEntries(["nostr-tools", "applesauce-relay"].map((name) => [name, version(name)]));
console.log(JSON.stringify({ recorded_with, cases }, null, 1));
